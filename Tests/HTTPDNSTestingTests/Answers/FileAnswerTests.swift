// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

import Foundation
import HTTPDNS
import ServerRig
import Testing

@testable import HTTPDNSTesting

struct FileAnswerTests {
    @Test("A file is answered in pieces, with its length and the type of its extension")
    func file() async throws {
        let folder = try TemporaryFolder()
        let bytes = (0..<1_000_003).map { UInt8(truncatingIfNeeded: $0 &* 31 >> 3) }
        try Data(bytes).write(to: URL(filePath: folder.path("a.JSON")))
        try await withAnswer(.file(folder.path("a.JSON"), status: .accepted)) { client in
            let response = try await client.get("https://shop.test/")
            #expect(response.status == .accepted)
            #expect(response.headerFields[.contentType] == "application/json")
            #expect(response.headerFields[.contentLength] == "1000003")
            var (received, largest) = ([UInt8](), 0)
            for try await chunk in response.body {
                received += chunk
                largest = max(largest, chunk.count)
            }
            #expect(received == bytes && largest <= 256 * 1024)
        }
    }

    @Test("The image in a file has the type of its bytes")
    func image() async throws {
        let folder = try TemporaryFolder()
        let path = try folder.write("GIF89a", to: "a.png")
        try await withAnswer(.image(file: path)) { client in
            let response = try await client.get("https://shop.test/")
            #expect(response.headerFields[.contentType] == "image/gif")
            #expect(try await response.wholeText() == "GIF89a")
        }
    }

    @Test("An empty file gives an empty body")
    func empty() async throws {
        let folder = try TemporaryFolder()
        try await withAnswer(.file(try folder.write("", to: "empty"))) { client in
            let response = try await client.get("https://shop.test/")
            #expect(response.headerFields[.contentLength] == "0")
            #expect(try await response.wholeText() == "")
        }
    }

    @Test("A path that leads to no regular file is refused when the answer is made", arguments: ["", "absent", "."])
    func refused(name: String) throws {
        let folder = try TemporaryFolder()
        let path = folder.path(name)
        let error = try #require(throws: HTTPDNSStubs.AnswerError.self) { try HTTPDNSStubs.Answer.file(path) }
        #expect(error.code == .unreadable && error.file == path && error.description.hasPrefix("\(path): "))
    }

    @Test("A file that is removed later fails the request, with its path")
    func removed() async throws {
        let folder = try TemporaryFolder()
        let path = try folder.write("x", to: "a")
        try await withAnswer(.file(path)) { client in
            try FileManager.default.removeItem(atPath: path)
            let error = try await #require(throws: HTTPDNSClientError.self) {
                try await client.get("https://shop.test/")
            }
            let cause = try #require(error.underlying as? HTTPDNSStubs.AnswerError)
            #expect(cause.code == .unreadable && cause.file == path)
        }
    }

    /// The URLs of requests, and the text of the file that answers them; nil for the status 404.
    static let served: [(url: String, text: String?)] = [
        ("https://shop.test/static/a.txt", "a"),
        ("https://shop.test/static/a.txt?x=/../b#y", "a"),
        ("https://shop.test/static//a%2Etxt", "a"),
        ("https://shop.test/static/inner/b.html", "b"),
        ("https://shop.test/static/inner", "index"),
        ("https://shop.test/static/inner/", "index"),
        ("https://shop.test/static/link-inside", "a"),
        ("https://shop.test/static", nil),
        ("https://shop.test/static/absent", nil),
        ("https://shop.test/a.txt", nil),
        ("https://shop.test/staticity/a.txt", nil),
        ("https://shop.test/static/../secret", nil),
        ("https://shop.test/static/inner/../../secret", nil),
        ("https://shop.test/static/%2e%2e/secret", nil),
        ("https://shop.test/static/..%2fsecret", nil),
        ("https://shop.test/static/%2e%2e%2fsecret", nil),
        ("https://shop.test/static/inner/..%2f..%2Fsecret", nil),
        ("https://shop.test/static/%2fetc%2fpasswd", nil),
        ("https://shop.test/static//etc/passwd", nil),
        ("https://shop.test/static/a.txt%00.html", nil),
        ("https://shop.test/static/link-outside", nil),
        ("https://shop.test/static/folder-outside/secret", nil),
        ("https://shop.test/static/./a.txt", nil),
        ("https://shop.test/static/pipe", nil),
    ]

    /// A folder `root` with files, beside it a file `secret`.
    private func tree() throws -> TemporaryFolder {
        let folder = try TemporaryFolder()
        try folder.makeFolder("root/inner")
        try folder.write("secret", to: "secret")
        try folder.write("a", to: "root/a.txt")
        try folder.write("b", to: "root/inner/b.html")
        try folder.write("index", to: "root/inner/index.html")
        try folder.link("root/link-inside", to: "inner/../a.txt")
        try folder.link("root/link-outside", to: "../secret")
        try folder.link("root/folder-outside", to: "..")
        #expect(mkfifo(folder.path("root/pipe"), 0o600) == 0)
        return folder
    }

    @Test("A folder answers with its own files, and with 404 for everything else", arguments: served)
    func folder(url: String, text: String?) async throws {
        let folder = try tree()
        // A name with the same start is another folder.
        try folder.makeFolder("root-other")
        let answer = try HTTPDNSStubs.Answer.folder(folder.path("root"), removing: "/static")
        // The answer itself: the client's own URL parser would remove some of these segments.
        let answering = Answering(answer)
        let client = try await answeringClient(answering)
        let response = try await client.get(url)
        #expect(response.status == (text == nil ? .notFound : .ok))
        let body = try await response.wholeText()
        #expect(body == text ?? "not found\n" && !body.contains("secret"))
        #expect(answering.requests.all.map(\.url) == [url])
        try await client.shutdown()
    }

    @Test("A folder without an index answers requests for folders with 404")
    func withoutIndex() async throws {
        let folder = try tree()
        try await withAnswer(.folder(folder.path("root"), index: nil)) { client in
            #expect(try await client.get("https://shop.test/inner/").status == .notFound)
            let page = try await client.get("https://shop.test/inner/b.html")
            #expect(page.headerFields[.contentType] == "text/html; charset=utf-8")
            #expect(try await page.wholeText() == "b")
        }
    }

    @Test("A folder that is missing or a file is refused when the answer is made")
    func refusedFolder() throws {
        let folder = try tree()
        var error = try #require(throws: HTTPDNSStubs.AnswerError.self) {
            try HTTPDNSStubs.Answer.folder(folder.path("absent"))
        }
        #expect(error.code == .unreadable && error.file == folder.path("absent"))
        error = try #require(throws: HTTPDNSStubs.AnswerError.self) {
            try HTTPDNSStubs.Answer.folder(folder.path("secret"))
        }
        #expect(error.code == .notFolder)
    }
}
