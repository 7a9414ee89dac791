// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

import Foundation
import HTTPDNS
import ServerRig
import Testing

@testable import HTTPDNSTesting

struct MocktailTests {
    private func response(
        to url: String,
        _ method: HTTPRequest.Method = .get,
        of text: String
    ) async throws -> (head: HTTPResponse, body: [UInt8])? {
        let mocktail = try HTTPDNSStubs.Mocktail(Array(text.utf8), file: "a.tail")
        var request = HTTPDNSClient.Request(method: method, url: url)
        guard try await mocktail.predicate.matches(&request) else { return nil }
        return try await withAnswer(mocktail.answer) { [request] client in
            let response = try await client.execute(request)
            return (response.head, try await response.body.collect(upTo: .mebibytes(1)))
        }
    }

    @Test("A file without further fields gives its status, type and body")
    func typed() async throws {
        let text = "GET\nhttps://shop\\.test/items/[0-9]+$\n201\napplication/json\n\n{\"a\":\n\n1}\n"
        let response = try #require(try await response(to: "https://shop.test/items/7", of: text))
        #expect(response.head.status == .created && response.head.headerFields[.contentType] == "application/json")
        #expect(response.body == Array("{\"a\":\n\n1}\n".utf8))
    }

    @Test("The type may be a header field, and others follow, with either end of line")
    func fields() async throws {
        for end in ["\n", "\r\n"] {
            let text = ["get", ".*", "200", "Content-Type: text/x", "ETag: \"z\"", "", "hello"].joined(separator: end)
            let response = try #require(try await response(to: "https://shop.test/", of: text))
            #expect(
                response.head.headerFields[.contentType] == "text/x" && response.head.headerFields[.eTag] == "\"z\""
            )
            #expect(response.body == Array("hello".utf8))
        }
    }

    @Test("A body in Base64 is decoded, and the mark is removed from the type")
    func encoded() async throws {
        let text = "GET\n.*\n200\nimage/png;base64\n\niVBO\nRw==\n"
        let response = try #require(try await response(to: "https://shop.test/", of: text))
        #expect(response.head.headerFields[.contentType] == "image/png")
        #expect(response.body == [0x89, 0x50, 0x4e, 0x47])
    }

    @Test("The expressions are found in the method and the URL, in any case")
    func matching() async throws {
        let text = "^(get|head)$\nSHOP\\.test/a\n200\ntext/plain\n\nx"
        #expect(try await response(to: "https://shop.test/abc?x", of: text) != nil)
        #expect(try await response(to: "https://shop.test/abc", .head, of: text) != nil)
        #expect(try await response(to: "https://shop.test/abc", .post, of: text) == nil)
        #expect(try await response(to: "https://shopping.test/abc", of: text) == nil)
    }

    /// A broken file, and the line of its fault.
    static let malformed: [(String, Int)] = [
        ("", 1), ("GET\n", 1), ("GET\n.*\n", 2), ("GET\n.*\n200\n", 3), ("GET\n\n200\ntext/plain\n\nx", 2),
        ("(\n.*\n200\ntext/plain\n\n", 1), ("GET\n[\n200\ntext/plain\n\n", 2), ("GET\n.*\nOK\ntext/plain\n\n", 3),
        ("GET\n.*\n100\ntext/plain\n\n", 3), ("GET\n.*\n200\ntext/plain\nno field\n\nx", 5),
        ("GET\n.*\n200\ntext/plain;base64\n\nA\n", 5),
    ]

    @Test("A broken file is refused with its path and the line", arguments: malformed)
    func refused(text: String, line: Int) throws {
        let path = try TemporaryFolder().path("a.tail")
        let error = try #require(throws: HTTPDNSStubs.AnswerError.self) {
            try HTTPDNSStubs.Mocktail(Array(text.utf8), file: path)
        }
        #expect(error.code == .malformedMocktail && error.line == line && error.file == path, "\(error)")
    }

    @Test("A folder gives its files with the extension tail, in the order of their names")
    func folder() throws {
        let folder = try TemporaryFolder()
        try folder.makeFolder("inner")
        for name in ["b.tail", "a.tail", "inner/c.tail"] {
            try folder.write("GET\n/\(name)\n200\ntext/plain\n\n", to: name)
        }
        try folder.write("no mocktail", to: "readme.txt")
        let all = try HTTPDNSStubs.Mocktail.folder(folder.path)
        #expect(all.map(\.predicate.description) == ["a", "b"].map { "Mocktail \(folder.path("\($0).tail"))" })
    }

    @Test("A folder with a broken file, a file as the folder, and no folder are refused")
    func refusedFolder() throws {
        let folder = try TemporaryFolder()
        func error(_ path: String) throws -> HTTPDNSStubs.AnswerError {
            try #require(throws: HTTPDNSStubs.AnswerError.self) { try HTTPDNSStubs.Mocktail.folder(path) }
        }
        try folder.write("GET\n", to: "a.tail")
        #expect(try error(folder.path).code == .malformedMocktail)
        #expect(try error(folder.path("a.tail")).code == .notFolder)
        #expect(try error(folder.path("absent")).code == .unreadable)
        let missing = try #require(throws: HTTPDNSStubs.AnswerError.self) {
            try HTTPDNSStubs.Mocktail(file: folder.path("absent.tail"))
        }
        #expect(missing.code == .unreadable && missing.file == folder.path("absent.tail"))
    }
}
