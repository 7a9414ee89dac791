// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

import Testing

@testable import HTTPDNS

struct ResponseValidationTests {
    private func response(_ status: Int, _ type: String?, _ body: [UInt8] = Array("{}".utf8)) -> HTTPDNSClient.Response
    {
        var fields: HTTPFields = [:]
        fields[.contentType] = type
        return HTTPDNSClient.Response(
            head: HTTPResponse(status: .init(code: status), headerFields: fields),
            body: .bytes(body)
        )
    }

    typealias Line = (status: Int, type: String?, body: String, types: [String], code: HTTPDNSClientError.Code?)

    @Test(
        "A response is refused for a status or a type that is not expected",
        arguments: [
            (200, "application/json", "{}", [], nil), (200, "application/json", "{}", ["application/json"], nil),
            (200, "Application/JSON; charset=utf-8", "{}", ["application/json"], nil),
            (200, "application/json", "", ["application/json"], nil), (200, nil, "", ["application/json"], nil),
            (200, nil, "{}", ["application/json"], .unexpectedType), (200, nil, "{}", [], nil),
            (200, "text/html", "{}", ["application/json"], .unexpectedType),
            (200, "text/html", "{}", ["application/json", "text/*"], nil), (200, "text/html", "{}", ["*/*"], nil),
            (200, "application/problem+json", "{}", ["application/*+json"], nil),
            (200, "application/json", "{}", ["application/*+json"], .unexpectedType),
            (200, "application/jsonx", "{}", ["application/json"], .unexpectedType),
            (200, "json", "{}", ["application/json"], .unexpectedType), (200, "", "{}", ["*/*"], .unexpectedType),
            (204, nil, "", ["application/json"], nil), (204, "text/html", "", ["application/json"], nil),
            (205, nil, "", ["application/json"], nil), (299, "text/html", "", [], nil),
            (199, nil, "", [], .unexpectedStatus), (300, nil, "", [], .unexpectedStatus),
            (304, nil, "", [], .unexpectedStatus),
            (404, "application/json", "{}", ["application/json"], .unexpectedStatus),
            (500, nil, "", [], .unexpectedStatus),
        ] as [Line]
    )
    func table(line: Line) async throws {
        let response = response(line.status, line.type, Array(line.body.utf8))
        let collected = try await HTTPDNSClient.Response.Collected(response, upTo: .mebibytes(1))
        let again = self.response(line.status, line.type, Array(line.body.utf8))
        guard let code = line.code else {
            #expect(try again.validated(types: line.types).status.code == line.status)
            #expect(try collected.validated(types: line.types).status.code == line.status)
            return
        }
        let error = #expect(throws: HTTPDNSClientError.self) { _ = try again.validated(types: line.types) }
        #expect(error?.code == code)
        #expect(
            #expect(throws: HTTPDNSClientError.self) { _ = try collected.validated(types: line.types) }?.code == code
        )
    }

    @Test("The caller names the expected statuses")
    func statuses() throws {
        #expect(throws: HTTPDNSClientError.self) { _ = try response(200, nil).validated(statuses: [404, 410]) }
        #expect(try response(404, nil).validated(statuses: [404, 410]).status == .notFound)
        #expect(try response(304, nil).validated(statuses: 200..<400, types: ["text/plain"]).status == .notModified)
    }

    @Test(
        "A text is decoded by its byte order mark, its charset, or as UTF-8",
        arguments: [
            (nil, Array("é😀".utf8), "é😀"), ("text/plain", Array("é".utf8), "é"),
            ("text/plain; charset=UTF-8", Array("é".utf8), "é"), ("text/plain;charset=\"utf-8\"", Array("é".utf8), "é"),
            ("text/plain; charset=utf-8", [0x61, 0xff, 0x62], "a\u{fffd}b"),
            ("text/plain; charset=us-ascii", [0x61], "a"), ("text/plain; charset=ISO-8859-1", [0xe9, 0x80], "é\u{80}"),
            ("text/plain; x=\"charset=utf-16;\"; Charset = latin1", [0xe9], "é"),
            ("text/plain; charset=windows-1252", [0x80, 0xe9, 0x9f, 0x93], "€éŸ“"),
            ("text/plain; charset=utf-16", [0x61, 0, 0x3d, 0xd8, 0, 0xde], "a😀"),
            ("text/plain; charset=utf-16le", [0x61, 0], "a"), ("text/plain; charset=utf-16be", [0, 0x61], "a"),
            ("text/plain; charset=utf-16", [0xfe, 0xff, 0, 0x61], "a"),
            ("text/plain; charset=latin1", [0xef, 0xbb, 0xbf, 0xc3, 0xa9], "é"),
            ("text/plain; charset=utf-8", [0xff, 0xfe, 0x61, 0], "a"),
            ("text/plain; charset=utf-16be", [0, 0x61, 0xd8], "a\u{fffd}"),
            ("text/plain; charset=utf-16be", [0xd8, 0x3d, 0, 0x61], "\u{fffd}a"),
            ("text/plain; charset=", Array("é".utf8), "é"), ("text/plain; charset=utf-8", [], ""),
        ] as [(String?, [UInt8], String)]
    )
    func text(type: String?, bytes: [UInt8], text: String) async throws {
        #expect(try await response(200, type, bytes).text(upTo: .kibibytes(1)) == text)
        #expect(
            try await HTTPDNSClient.Response.Collected(response(200, type, bytes), upTo: .mebibytes(1)).text() == text
        )
    }

    @Test(
        "A text in an unknown charset fails, and its body can be read",
        arguments: ["utf-7", "shift_jis", "x'y", "é"]
    )
    func unknown(charset: String) async throws {
        let response = response(200, "text/plain; charset=\"\(charset)\"", [0x61])
        let error = await #expect(throws: HTTPDNSClientError.self) { _ = try await response.text(upTo: .kibibytes(1)) }
        #expect(error?.code == .decodingFailed)
        #expect(try await response.body.collect(upTo: .mebibytes(1)) == [0x61])
    }

    @Test("A text over its limit fails")
    func limit() async throws {
        let error = await #expect(throws: HTTPDNSClientError.self) {
            _ = try await response(200, nil, [0x61, 0x62]).text(upTo: .bytes(1))
        }
        #expect(error?.code == .responseTooLarge)
    }
}
