// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

import HTTPDNS
import ServerRig
import Testing

@testable import HTTPDNSTesting

struct CapturedMessageTests {
    /// A captured message, its status and its body.
    static let messages: [(String, Int, String)] = [
        ("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello", 200, "hello"),
        ("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello\n", 200, "hello"),
        ("HTTP/1.1 200 OK\nX: y\n\nhello\r\n", 200, "hello\r\n"),
        ("HTTP/1.0 404\n\n", 404, ""),
        ("HTTP/2 503 \r\n\r\nx", 503, "x"),
        (
            "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: a\r\n\r\nHTTP/1.1 201 Created\r\n\r\nx",
            201, "x"
        ),
        ("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n1;x=y\r\n!\r\n0\r\n\r\n", 200, "hello!"),
        ("HTTP/1.1 200 OK\nTransfer-Encoding: gzip , Chunked\n\nA\n0123456789\n0\nX-End: bye\n\n", 200, "0123456789"),
        // As curl prints it: the fields name the coding, and the body is decoded.
        ("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n{\"a\": 1}\n", 200, "{\"a\": 1}\n"),
        ("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nContent-Length: 2\r\n\r\n3\r\nabc\r\n0\r\n\r\n", 200, "abc"),
        ("HTTP/1.1 304 Not Modified\r\nContent-Length: 100\r\n\r\n", 304, ""),
        ("HTTP/1.1 204 No Content\r\n\r\n", 204, ""),
    ]

    @Test("A message gives its status, fields and body, in all framings", arguments: messages)
    func read(text: String, code: Int, body: String) throws {
        let message = try CapturedMessage(Array(text.utf8))
        #expect(message.status.code == code)
        #expect(message.body == Array(body.utf8))
    }

    @Test("The fields of a message are kept, repeated ones and their order included")
    func fields() async throws {
        let text =
            "HTTP/1.1 299 Odd One\r\nSet-Cookie: a=1\r\nX-Latin: \u{e9}\t z \r\nset-cookie:b=2\r\nEmpty:\r\n\r\nx"
        try await withAnswer(.message(bytes: Array(text.utf8))) { client in
            let response = try await client.get("https://shop.test/")
            #expect(response.status.code == 299 && response.status.reasonPhrase == "Odd One")
            #expect(response.headerFields[values: .setCookie] == ["a=1", "b=2"])
            let fields = response.headerFields.map { "\($0.name.rawName)=\($0.value)" }
            #expect(fields == ["Set-Cookie=a=1", "X-Latin=\u{e9}\t z", "set-cookie=b=2", "Empty=", "Content-Length=1"])
            #expect(try await response.wholeText() == "x")
        }
    }

    /// A broken message, the line of its fault, and a part of the error.
    static let malformed: [(String, Int, String)] = [
        ("", 1, "status line"),
        ("hello", 1, "status line"),
        ("GET / HTTP/1.1\r\n\r\n", 1, "status line"),
        ("HTTP/1.1 20 OK\r\n\r\n", 1, "status"),
        ("HTTP/1.1 +20 OK\r\n\r\n", 1, "status"),
        ("HTTP/1.1 600 OK\r\n\r\n", 1, "status"),
        ("HTTP/1.1 200 OK\r\nA: b\r\n", 2, "empty line"),
        ("HTTP/1.1 200 OK\r\nA: b\r\nhello\r\n\r\n", 3, "header field"),
        ("HTTP/1.1 200 OK\r\nA b: c\r\n\r\n", 2, "name"),
        ("HTTP/1.1 200 OK\r\nA: b\u{0}\r\n\r\n", 2, "control character"),
        ("HTTP/1.1 200 OK\r\n folded: x\r\n\r\n", 2, "name"),
        ("HTTP/1.1 200 OK\nContent-Length: 5\nContent-Length: 6\n\nhello", 4, "one number"),
        ("HTTP/1.1 200 OK\nContent-Length: -5\n\nhello", 3, "one number"),
        ("HTTP/1.1 200 OK\nContent-Length: 99999999999999999999\n\nhello", 3, "one number"),
        ("HTTP/1.1 200 OK\nContent-Length: 6\n\nhello", 3, "only 5 bytes"),
        ("HTTP/1.1 200 OK\nTransfer-Encoding: gzip\n\nhello", 3, "gzip"),
        ("HTTP/1.1 200 OK\nTransfer-Encoding: chunked\n\n5\nhel", 4, "only 3"),
        ("HTTP/1.1 200 OK\nTransfer-Encoding: chunked\n\n5\nhello", 4, "end of the line"),
        ("HTTP/1.1 200 OK\nTransfer-Encoding: chunked\n\n5\nhello\n", 5, "last chunk"),
        ("HTTP/1.1 200 OK\nTransfer-Encoding: chunked\n\n2\na\nxx\n", 6, "end of the line"),
        ("HTTP/1.1 200 OK\nTransfer-Encoding: chunked\n\n0\nno field\n\n", 5, "header field"),
    ]

    @Test("A broken message is refused with the file and the line", arguments: malformed)
    func refused(text: String, line: Int, part: String) throws {
        let path = try TemporaryFolder().path("message.http")
        let error = try #require(throws: HTTPDNSStubs.AnswerError.self) {
            try CapturedMessage(Array(text.utf8), file: path)
        }
        #expect(error.code == .malformedMessage && error.line == line)
        #expect(error.description.hasPrefix("\(path):\(line): ") && error.message.contains(part), "\(error)")
    }

    @Test("A file without a message is refused when the answer is made")
    func unreadable() throws {
        let folder = try TemporaryFolder()
        var error = try #require(throws: HTTPDNSStubs.AnswerError.self) {
            try HTTPDNSStubs.Answer.message(file: folder.path("absent"))
        }
        #expect(error.code == .unreadable)
        let path = try folder.write("no message", to: "text")
        error = try #require(throws: HTTPDNSStubs.AnswerError.self) { try HTTPDNSStubs.Answer.message(file: path) }
        #expect(error.code == .malformedMessage && error.file == path && error.line == 1)
    }

    /// The fuzzer's corpus, see `Fuzz/README.md`.
    @Test("Every input of the fuzzer is a message or an error with a line of it")
    func corpus() throws {
        var (read, refused) = (0, 0)
        for (name, bytes) in try Repository.corpus("captured-message") {
            do {
                let message = try CapturedMessage(bytes, file: name)
                #expect((200...599).contains(message.status.code) && message.body.count <= bytes.count)
                read += 1
            } catch {
                #expect((error.line ?? 0) >= 1 && (error.line ?? 0) <= bytes.count { $0 == 10 } + 1, "\(name)")
                refused += 1
            }
            _ = try? HTTPDNSStubs.Mocktail(bytes, file: name)
        }
        #expect(read >= 5 && refused >= 5)
    }
}
