// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

import HTTPDNS
import ServerRig
import Testing

@testable import HTTPDNSTesting

struct AnswerKindTests {
    /// An answer, and the response that it gives.
    struct Case: Sendable, CustomTestStringConvertible {
        var name: String
        var answer: HTTPDNSStubs.Answer
        var status = HTTPResponse.Status.ok
        var type: String?
        var bytes: [UInt8]
        var length: String?
        var testDescription: String { name }

        init(
            _ name: String,
            _ answer: HTTPDNSStubs.Answer,
            status: HTTPResponse.Status = .ok,
            type: String?,
            _ text: String
        ) {
            self.name = name
            self.answer = answer
            self.status = status
            self.type = type
            bytes = Array(text.utf8)
            length = "\(bytes.count)"
        }

        /// A stream whose length is not known.
        static var endless: Case {
            var answer = Case("stream", .stream { Chunks([[1], [], [2, 3]]) }, type: nil, "\u{1}\u{2}\u{3}")
            answer.length = nil
            return answer
        }
    }

    struct Item: Encodable, Sendable {
        var name = "lamp"
        var price = 3
        var link = "a/b"
    }

    static let cases: [Case] = [
        Case("status", .status(.notFound), status: .notFound, type: nil, ""),
        Case("status, body", .status(.badGateway, body: Array("x".utf8)), status: .badGateway, type: nil, "x"),
        Case("bytes", .bytes(Array("abc".utf8)), type: "application/octet-stream", "abc"),
        Case("no bytes", .bytes([]), type: "application/octet-stream", ""),
        Case("text", .text("äö"), type: "text/plain; charset=utf-8", "äö"),
        Case("HTML", .html("<p>", status: .created), status: .created, type: "text/html; charset=utf-8", "<p>"),
        Case("JSON text", .json(text: "[1"), type: "application/json", "[1"),
        Case("own type", .text("a", headers: [.contentType: "text/x"]), type: "text/x", "a"),
        Case("image", .image(Array("GIF89a...".utf8)), type: "image/gif", "GIF89a..."),
        Case("redirect", .redirect(to: "/b", status: .seeOther), status: .seeOther, type: nil, ""),
        Case("stream of a length", .stream(length: 2) { Chunks([[65], [66]]) }, type: nil, "AB"),
        .endless,
    ]

    @Test("Each kind gives its status, type, length and bytes, also when used again", arguments: cases)
    func kinds(_ example: Case) async throws {
        try await withAnswer(example.answer) { client in
            for _ in 1...2 {
                let response = try await client.get("https://shop.test/a") { $0.redirects = .off }
                #expect(response.status == example.status)
                #expect(response.headerFields[.contentType] == example.type)
                #expect(response.headerFields[.contentLength] == example.length)
                #expect(response.body.declaredLength.map { "\($0)" } == example.length)
                #expect(try await response.body.collect(upTo: .mebibytes(1)) == example.bytes)
            }
        }
    }

    @Test("A value is answered as JSON with sorted keys")
    func encoded() async throws {
        try await withAnswer(.json(Item())) { client in
            let response = try await client.get("https://shop.test/")
            #expect(response.headerFields[.contentType] == "application/json")
            #expect(try await response.wholeText() == #"{"link":"a/b","name":"lamp","price":3}"#)
        }
    }

    @Test("A value that cannot be encoded is refused when the answer is made")
    func unencodable() throws {
        let error = try #require(throws: HTTPDNSStubs.AnswerError.self) { try HTTPDNSStubs.Answer.json([Double.nan]) }
        #expect(error.code == .invalidJSON && error.description.contains("Array<Double>"))
    }

    @Test("A request with HEAD gets the head with the length, and no body")
    func head() async throws {
        try await withAnswer(.text("hello")) { client in
            let response = try await client.head("https://shop.test/")
            #expect(response.headerFields[.contentLength] == "5" && response.body.declaredLength == 0)
            #expect(try await response.body.collect(upTo: .mebibytes(1)).isEmpty)
        }
    }

    @Test("A status without content has neither a body nor fields about one", arguments: [204, 304])
    func withoutContent(code: Int) async throws {
        try await withAnswer(.text("hello", status: .init(code: code))) { client in
            let response = try await client.get("https://shop.test/")
            #expect(response.status.code == code && response.headerFields.isEmpty)
            #expect(try await response.body.collect(upTo: .mebibytes(1)).isEmpty)
        }
    }

    static let images: [(String, [UInt8], String, String)] = [
        ("PNG", [0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a, 0], "", "image/png"),
        ("JPEG", [0xff, 0xd8, 0xff, 0xe0], "", "image/jpeg"),
        ("GIF", Array("GIF87a".utf8), "a.png", "image/gif"),
        ("WebP", Array("RIFF\u{1}\u{1}\u{1}\u{1}WEBPVP8 ".utf8), "", "image/webp"),
        ("AVIF", Array("\u{1}\u{1}\u{1}\u{1}ftypavif".utf8), "", "image/avif"),
        ("BMP", Array("BM....".utf8), "", "image/bmp"),
        ("TIFF", [0x49, 0x49, 0x2a, 0], "", "image/tiff"),
        ("ICO", [0, 0, 1, 0, 1], "", "image/x-icon"),
        ("SVG", Array("<?xml version=\"1.0\"?>\n<svg/>".utf8), "", "image/svg+xml"),
        ("by name", [1, 2, 3], "photos/A.JPG", "image/jpeg"),
        ("a page", Array("<html></html>".utf8), "", "application/octet-stream"),
        ("unknown", [], "a.unknown", "application/octet-stream"),
    ]

    @Test("The type of an image follows from its first bytes, and else from its name", arguments: images)
    func imageTypes(name: String, bytes: [UInt8], file: String, type: String) async throws {
        try await withAnswer(.image(bytes, name: file)) { client in
            let response = try await client.get("https://shop.test/")
            #expect(response.headerFields[.contentType] == type)
            #expect(try await response.body.collect(upTo: .mebibytes(1)) == bytes)
        }
    }

    @Test("An error of the client reaches the caller unchanged")
    func clientError() async throws {
        var planned = HTTPDNSClientError(code: .connectFailed, phase: .connect, message: "planned", host: "shop.test")
        planned.hint = "a hint"
        try await withAnswer(.error(planned)) { client in
            let error = try await #require(throws: HTTPDNSClientError.self) {
                try await client.get("https://shop.test/")
            }
            #expect(error.code == .connectFailed && error.phase == .connect && error.description == "planned (a hint)")
        }
    }

    @Test("Another error is underneath the error of the call")
    func otherError() async throws {
        try await withAnswer(.error(Planned(number: 7))) { client in
            let error = try await #require(throws: HTTPDNSClientError.self) {
                try await client.get("https://shop.test/")
            }
            #expect(error.code == .interceptorFailed && error.underlying as? Planned == Planned(number: 7))
        }
    }

    @Test("An error in a stream ends the body after the bytes before it")
    func streamError() async throws {
        let answer = HTTPDNSStubs.Answer.stream { Chunks([[1, 2]], endingWith: Planned()) }
        try await withAnswer(answer) { client in
            var chunks = try await client.get("https://shop.test/").body.makeAsyncIterator()
            #expect(try await chunks.next() == [1, 2])
            let error = try await #require(throws: HTTPDNSClientError.self) { try await chunks.next() }
            #expect(error.underlying as? Planned == Planned())
        }
    }

    @Test("A redirect is followed to the answer of its target, and a closure answers")
    func redirected() async throws {
        let answering = Answering { request in
            request.url.hasSuffix("/old")
                ? .redirect(to: "/new", status: .temporaryRedirect)
                : .custom { request in
                    let body = try await request.body.collect(upTo: .kibibytes(1))
                    let text = "\(request.method.rawValue) \(request.url) "
                    return HTTPDNSClient.Response(
                        head: HTTPResponse(status: .accepted),
                        body: .bytes(Array(text.utf8) + body)
                    )
                }
        }
        let client = try await answeringClient(answering)
        let response = try await client.post("https://shop.test/old", body: .text("hello"))
        #expect(response.status == .accepted)
        #expect(try await response.wholeText() == "POST https://shop.test/new hello")
        #expect(answering.requests.all.count == 2)
        try await client.shutdown()
    }

    @Test("Descriptions name the kind and the changes of an answer")
    func descriptions() {
        let answer = HTTPDNSStubs.Answer.text("x", status: .notFound).delayed(by: .seconds(2)).bandwidth(.gprs)
        #expect(answer.description == "404 text, delayed by 2 s, at 7000 B/s")
        #expect(HTTPDNSStubs.Answer.error(Planned()).description == "error Planned")
    }
}
