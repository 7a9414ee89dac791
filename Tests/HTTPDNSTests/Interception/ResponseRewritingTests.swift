// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

import HTTPDNS
import HTTPDNSCurl
import HTTPDNSTesting
import ServerRig
import Testing

struct ResponseRewritingTests {
    /// A text, a search text and its replacement.
    struct Case: Sendable, CustomTestStringConvertible {
        var text: String
        var search: String
        var replacement: String
        var testDescription: String { "\(search) in \(text)" }
    }

    static let cases = [
        Case(text: "one two one", search: "one", replacement: "three"),
        Case(text: "one two one", search: "one", replacement: ""),
        Case(text: "aaaaaaa", search: "aaa", replacement: "b"),
        Case(text: "abababac", search: "ababac", replacement: "-"),
        Case(text: "aabaabaaab", search: "aabaaa", replacement: "-"),
        Case(text: "nothing here", search: "absent", replacement: "x"),
        Case(text: "the end is ab", search: "abc", replacement: "x"),
        Case(text: "", search: "a", replacement: "x"),
        Case(text: "x", search: "x", replacement: "x and x"),
        Case(text: "äöü ä", search: "ä", replacement: "ae"),
    ]

    /// Each cut of the text into chunks must give the same result, also chunks of one byte and empty ones.
    @Test("A text is replaced wherever the chunks are cut", arguments: cases)
    func replacing(_ example: Case) async throws {
        let bytes = Array(example.text.utf8)
        let expected = example.text.replacing(example.search, with: example.replacement)
        for size in 1...max(1, bytes.count) {
            let chunks = stride(from: 0, to: bytes.count, by: size).flatMap { start in
                [Array(bytes[start..<min(start + size, bytes.count)]), []]
            }
            let body = HTTPDNSClient.Response.Body.stream(Chunks(chunks))
                .replacing(example.search, with: example.replacement)
            let result = try await body.collect(upTo: .mebibytes(1))
            #expect(String(decoding: result, as: UTF8.self) == expected, "chunks of \(size)")
        }
    }

    @Test("A chunk of long replacements is passed on in portions")
    func portions() async throws {
        let body = HTTPDNSClient.Response.Body.bytes([UInt8](repeating: 1, count: 1000))
            .replacing([1], with: [UInt8](repeating: 2, count: 10_000))
        var (total, largest) = (0, 0)
        for try await chunk in body {
            total += chunk.count
            largest = max(largest, chunk.count)
        }
        #expect(total == 10_000_000 && largest <= 64 * 1024 + 10_000)
    }

    private func rig(
        fields: HTTPFields,
        chunks: [[UInt8]] = [Array("hello".utf8)],
        replacement: String = "goodbye"
    ) throws -> Rig {
        let wire = ScriptedWire { request, _ in .ok(from: request, fields: fields, chunks: chunks) }
        return try Rig(wire: wire) { configuration in
            configuration.applicationInterceptors = [
                HTTPDNSClient.ResponseRewriting { _, response in
                    response.head.headerFields[.server] = "changed"
                    response.changeBody { $0.replacing("hello", with: replacement) }
                }
            ]
        }
    }

    @Test("Fields that describe the old body are corrected or removed")
    func fields() async throws {
        var given: HTTPFields = [.eTag: "z", .contentLength: "5"]
        for name in ["Content-Digest", "Repr-Digest", "Content-MD5"] { given[try #require(HTTPField.Name(name))] = "x" }
        var response = try await rig(fields: given).client.get("https://one.test/")
        #expect(response.headerFields[.server] == "changed" && response.headerFields[.eTag] == "z")
        #expect(response.headerFields.count == 2, "\(response.headerFields)")
        #expect(response.body.declaredLength == nil)
        #expect(try await response.text() == "goodbye")
        response = try await rig(fields: [.contentLength: "5"], replacement: "HELLO").client.get("https://one.test/")
        #expect(response.headerFields[.contentLength] == "5" && response.body.declaredLength == 5)
        #expect(try await response.text() == "HELLO")
    }

    @Test("A body whose coding is not decoded is left alone")
    func coded() async throws {
        let fields: HTTPFields = [.contentEncoding: "gzip", .contentLength: "5"]
        let response = try await rig(fields: fields).client.get("https://one.test/") { $0.decodesBody = false }
        #expect(response.headerFields[.contentEncoding] == "gzip" && response.headerFields[.contentLength] == "5")
        #expect(try await response.text() == "hello")
    }

    @Test("A decoded body is changed, and its head no longer names a coding")
    func decoded() async throws {
        let coded = try ContentEncoder.encoded(Array("hello hello".utf8), "gzip")
        let fields: HTTPFields = [.contentEncoding: "gzip", .contentLength: "\(coded.count)"]
        let response = try await rig(fields: fields, chunks: [coded]).client.get("https://one.test/")
        #expect(!response.headerFields.contains(.contentEncoding) && !response.headerFields.contains(.contentLength))
        #expect(try await response.text() == "goodbye goodbye")
    }

    @Test("The response to HEAD loses the length of the old body")
    func head() async throws {
        let response = try await rig(fields: [.contentLength: "5"], chunks: []).client.head("https://one.test/")
        #expect(!response.headerFields.contains(.contentLength))
        #expect(try await response.body.collect(upTo: .mebibytes(1)).isEmpty)
    }

    /// 10 MiB in chunks of 16,000 bytes, each of which begins and ends within the text.
    @Test("A chunked body of 10 MB is changed in flat memory, and its trailers survive")
    func large() async throws {
        let word = "needle in a haystack "
        let count = 10 * 1024 * 1024 / word.utf8.count
        let bytes = Array(String(repeating: word, count: count).utf8)
        var wire = Array("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nTrailer: X-End\r\n\r\n".utf8)
        for start in stride(from: 0, to: bytes.count, by: 16_000) {
            let chunk = bytes[start..<min(start + 16_000, bytes.count)]
            wire += Array("\(String(chunk.count, radix: 16))\r\n".utf8) + chunk + [13, 10]
        }
        wire += Array("0\r\nX-End: bye\r\n\r\n".utf8)
        let server = try RawServer(.readHead, .send(wire), .hang)
        let client = try await mappedClient(server.port) { configuration in
            configuration.networkInterceptors = [
                HTTPDNSClient.ResponseRewriting { _, response in
                    response.changeBody { $0.replacing("needle in", with: "pins under") }
                }
            ]
        }
        let response = try await client.get("http://one.test/")
        #expect(!response.headerFields.contains(.contentLength))
        let progress = Journal<HTTPDNSClient.Progress>()
        let body = response.body.reportingProgress { progress.write($0) }
        let before = try ProcessState.now().residentBytes
        var (length, remainder, isEqual, peak) = (0, [UInt8](), true, before)
        let expected = Array("pins under a haystack ".utf8)
        for try await chunk in body {
            remainder += chunk
            while remainder.count >= expected.count * 1000 {
                isEqual = isEqual && remainder.starts(with: expected)
                remainder.removeFirst(expected.count * 1000)
            }
            length += chunk.count
            peak = max(peak, try ProcessState.now().residentBytes)
        }
        #expect(length == count * expected.count && isEqual)
        #expect(remainder.starts(with: expected) && remainder.count % expected.count == 0)
        #expect(progress.all.last?.isComplete == true && progress.all.last?.bytes == Int64(length))
        #expect(body.trailers?[try #require(HTTPField.Name("X-End"))] == "bye")
        #expect(body.summary?.bodyBytes == bytes.count)
        // Other suites run beside this one, except where `make test` runs it alone.
        if ServerRig.hasProcessForItself { #expect(peak - before < 8 * 1024 * 1024) }
        try await client.shutdown()
    }
}
