// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

import Foundation
import HTTPDNS
import ServerRig
import Testing

/// Downloads that continue an earlier one.
struct ResumedDownloadTests {
    /// The half of a body over a cut connection, then the rest.
    private static let size = 2 << 20

    private func body(_ seed: UInt8) -> [UInt8] {
        (0..<Self.size).map { UInt8(truncatingIfNeeded: $0 / 251) ^ UInt8(truncatingIfNeeded: $0) &+ seed }
    }

    private func checksum(_ bytes: [UInt8]) -> HTTPDNSClient.Download.Checksum {
        var hash = SHA256Hash()
        hash.update(bytes)
        return .sha256(hash.finish().hexadecimal)
    }

    /// The first half of `hello`.
    private static let half = "200 OK\r\nETag: \"v1\"\r\nContent-Length: 5\r\n\r\nhel"
    private static let partial = "206 Partial Content\r\nETag: \"v1\"\r\nContent-Range: bytes"

    /// A server that sends one response on each connection, from its status on, and ends the connection.
    private static func server(_ responses: String...) throws -> RawServer {
        try RawServer { number in
            number < responses.count ? [.readHead, .sendText("HTTP/1.1 " + responses[number])] : [.reset]
        }
    }

    /// Downloads of one resource to the file `a` of a folder.
    private struct Resource {
        let client: HTTPDNSClient
        let folder: TemporaryFolder
        let url: String

        @discardableResult
        func resume(
            _ fields: HTTPFields = [:],
            upTo limit: HTTPDNSByteCount? = nil,
            _ change: HTTPDNSClient.Request.Options.Change? = nil
        ) async throws -> HTTPDNSClient.Download {
            let path = folder.path("a")
            return try await client.download(
                url,
                to: path,
                headerFields: fields,
                upTo: limit,
                existingFile: .resume,
                change
            )
        }

        @discardableResult
        func failure(
            _ fields: HTTPFields = [:],
            upTo limit: HTTPDNSByteCount? = nil,
            _ change: HTTPDNSClient.Request.Options.Change? = nil
        ) async throws -> HTTPDNSClientError {
            try await refusal { try await resume(fields, upTo: limit, change) }
        }

        func expectHello() throws { #expect(try folder.read("a") == "hello" && folder.names == ["a"]) }
    }

    private func downloads(
        from server: RawServer,
        _ configure: (inout HTTPDNSClient.Configuration) -> Void = { _ in },
        to folder: TemporaryFolder? = nil,
        _ body: (Resource) async throws -> Void
    ) async throws {
        let folder = try folder ?? TemporaryFolder()
        try await withClient(settings(configure)) { client in
            try await body(
                Resource(client: client, folder: folder, url: "http://resume.wild.test:\(server.port)/")
            )
        }
    }

    private func settings(_ configure: (inout HTTPDNSClient.Configuration) -> Void = { _ in }) throws
        -> HTTPDNSClient.Configuration
    {
        var configuration = HTTPDNSClient.Configuration()
        configuration.resolver.mappings[try HTTPDNSMapping.Key("resume.wild.test")] = .addresses(["127.0.0.1"])
        configuration.makePatient()
        configure(&configuration)
        return configuration
    }

    /// Starts the download of a file of nginx through a relay, and resets the connection at half of it.
    private func interrupt(_ url: String, _ relay: TCPRelay, to path: String, with client: HTTPDNSClient) async throws {
        let error = try await refusal {
            _ = try await client.download(HTTPDNSClient.Request(url: url), to: path, existingFile: .resume) { step in
                if step.bytes >= Self.size / 2 { relay.endConnections(resetting: true) }
            }
        }
        #expect(error.code == .connectionLost)
    }

    /// nginx sends 1,200 KiB of a whole body immediately, and the rest at 1 KiB a second.
    @Test(
        "A download cut at its half continues with Range and If-Range in a new client",
        .enabled(if: ServerRig.isAvailable([.nginx])),
        arguments: [false, true]
    )
    func cut(hasChanged: Bool) async throws {
        let rig = try await ServerRig.shared()
        let folder = try TemporaryFolder()
        let name = "resume-\(hasChanged).bin"
        let (old, new) = (body(1), body(2))
        let file = rig.storedFile(name)
        try Data(old).write(to: URL(filePath: file))
        let relay = try TCPRelay(to: "127.0.0.2", port: rig.httpPort)
        let url = "http://resume.wild.test:\(relay.port)/limited/\(name)"
        try await withClient(settings()) { try await interrupt(url, relay, to: folder.path("a"), with: $0) }
        let names = try folder.names
        #expect(names.count == 2 && names.allSatisfy { $0.hasPrefix(".httpdns-") }, "\(names)")
        let kept = try #require(names.first { $0.hasSuffix(".part") })
        let keptBytes = try FileManager.default.attributesOfItem(atPath: folder.path(kept))[.size] as? Int ?? 0
        #expect(keptBytes >= Self.size / 2 && keptBytes < Self.size)

        if hasChanged {
            try Data(new).write(to: URL(filePath: file))
            #expect(utimes(file, [timeval(tv_sec: 1, tv_usec: 0), timeval(tv_sec: 1, tv_usec: 0)]) == 0)
        }
        let mark = rig.accessLogMark()
        let first = Lock<Int64?>(nil)
        let download = try await withClient(settings()) { client in
            try await client.download(
                url,
                to: folder.path("a"),
                existingFile: .resume,
                checksum: checksum(hasChanged ? new : old),
                progress: { step in first.withLock { $0 = $0 ?? step.bytes } }
            )
        }
        // nginx may write the line of the first request after the mark.
        let line = try await rig.awaitAccessLog(since: mark) { $0.target == "/limited/\(name)" && !$0.range.isEmpty }[0]
        #expect(line.range == "bytes=\(keptBytes)-" && line.ifRange.hasPrefix("\""), "\(line)")
        #expect(line.status == (hasChanged ? 200 : 206))
        #expect(line.bodySent == (hasChanged ? Self.size : Self.size - keptBytes))
        #expect(first.withLock { $0 } == (hasChanged ? 0 : Int64(keptBytes)))
        #expect(download.bytes == Self.size && download.response.status.code == line.status)
        #expect(try folder.names == ["a"])
        #expect(FileManager.default.contents(atPath: folder.path("a")) == Data(hasChanged ? new : old))
    }

    /// The first body has no length, so that close_notify alone would tell its end. The server behind TLS has one
    /// connection for all of the client.
    @Test(
        "A TLS download without a length that is cut off continues later",
        .enabled(if: ServerRig.isAvailable([.nginx]))
    )
    func cutOff() async throws {
        let rig = try await ServerRig.shared()
        let folder = try TemporaryFolder()
        let rest = "ETag: \"v1\"\r\nContent-Range: bytes 3-4/5\r\nContent-Length: 2\r\n\r\nlo"
        let server = try RawServer(
            .readHead,
            .sendText("HTTP/1.1 200 OK\r\nETag: \"v1\"\r\n\r\nhel"),
            .readHead,
            .sendText("HTTP/1.1 206 Partial Content\r\n\(rest)"),
            .hang
        )
        let tls = try await TLSRelay(to: server.port, protocols: "http/1.1")
        let relay = try TCPRelay(to: "127.0.0.1", port: tls.port)
        let url = "https://resume.wild.test:\(relay.port)/"
        try await withClient(settings { $0.trustRoots = .file(rig.certificateAuthorityFile) }) { client in
            let error = try await refusal {
                let request = HTTPDNSClient.Request(url: url)
                _ = try await client.download(request, to: folder.path("a"), existingFile: .resume) { step in
                    if step.bytes >= 3 { relay.endConnections(resetting: false) }
                }
            }
            #expect(error.code == .connectionLost && error.phase == .body, "\(error)")
            #expect(try folder.names.contains { $0.hasSuffix(".part") } && folder.read("a") == nil)
            let download = try await client.download(url, to: folder.path("a"), existingFile: .resume)
            #expect(download.bytes == 5)
        }
        #expect(server.text.contains("\r\nRange: bytes=3-\r\n"))
        #expect(try folder.read("a") == "hello" && folder.names == ["a"])
    }

    /// What a server answers to the request for the rest of `hello`, of which the part has `hel`.
    struct Answer: CustomTestStringConvertible, Sendable {
        let testDescription: String
        let head: String
        let body: String
        /// Whether the whole is requested in a second request.
        let isRestarted: Bool
    }

    static let answers = [
        ("the rest", "\(partial) 3-4/5", "lo", false),
        ("the whole of a changed resource", "200 OK\r\nETag: \"v2\"", "hello", false),
        ("another part", "\(partial) 2-4/5", "llo", true),
        ("a part of another length", "\(partial) 3-4/6", "lo", true),
        ("a part of a changed resource", partial.replacing("v1", with: "v2") + " 3-4/5", "lo", true),
        ("a part without a validator", "206 Partial Content\r\nContent-Range: bytes 3-4/5", "lo", true),
        ("a part without a range", "206 Partial Content\r\nETag: \"v1\"", "lo", true),
        ("a part that reaches beyond the whole", "\(partial) 3-5/*", "lo!", true),
        ("the rest of a whole whose length is known from before", "\(partial) 3-4/*", "lo", false),
        ("no such range", "416 Range Not Satisfiable\r\nContent-Range: bytes */2", "", true),
    ].map { Answer(testDescription: $0, head: $1, body: $2, isRestarted: $3) }

    @Test("Only the rest of the same resource is appended to a part", arguments: answers)
    func answer(_ answer: Answer) async throws {
        let rest = "\(answer.head)\r\nContent-Length: \(answer.body.utf8.count)\r\nConnection: close\r\n\r\n"
        let whole = Self.half.replacing("v1", with: "v3") + "lo"
        let server = try Self.server(Self.half, rest + answer.body, whole)
        try await downloads(from: server) { resource in
            #expect(try await resource.failure().code == .connectionLost)
            #expect(try await resource.resume().bytes == 5)
            try resource.expectHello()
        }
        let heads = server.connections.map(\.text)
        try #require(heads.count == (answer.isRestarted ? 3 : 2))
        #expect(heads[1].contains("\r\nRange: bytes=3-\r\n") && heads[1].contains("\r\nIf-Range: \"v1\"\r\n"))
        #expect(answer.isRestarted == false || !heads[2].contains("Range:"))
    }

    @Test(
        "Only a strong validator keeps a part",
        arguments: [
            ("ETag: \"v1\"", "\"v1\""),
            ("ETag: W/\"v1\"", nil),
            ("ETag: v1", nil),
            ("ETag: \"v1\"\r\nAccept-Ranges: none", nil),
            ("ETag: \"v1\"\r\nVary: Accept, *", nil),
            (
                "Last-Modified: Sun, 06 Nov 1994 08:49:37 GMT\r\nDate: Sun, 06 Nov 1994 08:49:38 GMT",
                "Sun, 06 Nov 1994 08:49:37 GMT"
            ),
            ("Last-Modified: Sun, 06 Nov 1994 08:49:37 GMT\r\nDate: Sun, 06 Nov 1994 08:49:37 GMT", nil),
            ("Last-Modified: Sun, 06 Nov 1994 08:49:37 GMT", nil),
            ("X: y", nil),
        ]
    )
    func validators(fields: String, ifRange: String?) async throws {
        let server = try Self.server(
            "200 OK\r\n\(fields)\r\nContent-Length: 5\r\n\r\nhel",
            "200 OK\r\nContent-Length: 5\r\n\r\nhello"
        )
        try await downloads(from: server) { resource in
            try await resource.failure()
            #expect(try resource.folder.names.isEmpty == (ifRange == nil))
            try await resource.resume()
            try resource.expectHello()
        }
        let second = try #require(server.connections.dropFirst().first?.text)
        #expect(second.contains("\r\nRange: bytes=3-\r\n") == (ifRange != nil))
        if let ifRange { #expect(second.contains("\r\nIf-Range: \(ifRange)\r\n")) }
    }

    /// A server may send less than the range that was requested, and then each part is a request.
    @Test("The time limit of a download covers all of its parts")
    func time() async throws {
        let part = "HTTP/1.1 \(Self.partial)"
        let first = "HTTP/1.1 " + Self.half.replacing("Length: 5", with: "Length: 12")
        let server = try RawServer { number in
            let rest = "\(part) \(number + 2)-\(number + 2)/12\r\nContent-Length: 1\r\nConnection: close\r\n\r\nx"
            return number == 0
                ? [.readHead, .sendText(first)] : [.readHead, .pause(.milliseconds(700)), .sendText(rest)]
        }
        try await downloads(from: server) { resource in
            try await resource.failure()
            let start = ContinuousClock.now
            #expect(try await resource.failure { $0.timeouts.total = .seconds(2) }.code == .timedOut)
            let elapsed = ContinuousClock.now - start
            // Each part alone would be within the limit; all of them take much longer.
            #expect(elapsed >= .seconds(1.9), "\(elapsed)")
            // What has arrived stays for a later download.
            #expect(try resource.folder.names.contains { $0.hasSuffix(".part") })
        }
    }

    @Test("A part that is longer than its range is an error, and nothing is kept")
    func overlong() async throws {
        let server = try Self.server(
            Self.half,
            "\(Self.partial) 3-4/5\r\nConnection: close\r\n\r\nlo!",
            "200 OK\r\nContent-Length: 5\r\n\r\nhello"
        )
        try await downloads(from: server) { resource in
            try await resource.failure()
            let error = try await resource.failure()
            #expect(error.code == .protocolViolation && error.message.contains("2 bytes"))
            #expect(try resource.folder.names.isEmpty)
            try await resource.resume()
            try resource.expectHello()
        }
        #expect(server.connections.last?.text.contains("Range:") == false)
    }

    /// Chunked coding ends in order, whatever the range has promised.
    @Test("A part that is shorter than its range is an error, and continues later", arguments: ["", "l"], ["5", "*"])
    func truncated(rest: String, total: String) async throws {
        let chunk = rest.isEmpty ? "" : "1\r\n\(rest)\r\n"
        let next = 3 + rest.utf8.count
        let server = try Self.server(
            Self.half,
            "\(Self.partial) 3-4/\(total)\r\nTransfer-Encoding: chunked\r\n\r\n\(chunk)0\r\n\r\n",
            "\(Self.partial) \(next)-4/5\r\nContent-Length: \(5 - next)\r\n\r\n\("hello".dropFirst(next))"
        )
        try await downloads(from: server) { resource in
            try await resource.failure()
            let error = try await resource.failure()
            #expect(
                error.code == .protocolViolation && error.message.contains("after \(rest.utf8.count) of the 2 bytes")
            )
            #expect(try !resource.folder.names.contains("a"))
            #expect(try await resource.resume().bytes == 5)
            try resource.expectHello()
        }
        #expect(server.connections.last?.text.contains("\r\nRange: bytes=\(next)-\r\n") == true)
    }

    /// Nothing would tell that the last byte has arrived.
    @Test("A part of a whole of unknown length begins again")
    func unknownLength() async throws {
        let chunked = "\r\nTransfer-Encoding: chunked"
        let server = try Self.server(
            "200 OK\r\nETag: \"v1\"\(chunked)\r\n\r\n3\r\nhel\r\n",
            "\(Self.partial) 3-3/*\(chunked)\r\nConnection: close\r\n\r\n1\r\nl\r\n0\r\n\r\n",
            "200 OK\r\nETag: \"v1\"\(chunked)\r\n\r\n5\r\nhello\r\n0\r\n\r\n"
        )
        try await downloads(from: server) { resource in
            try await resource.failure()
            try await resource.resume()
            try resource.expectHello()
        }
        #expect(server.connections.count == 3 && server.connections.last?.text.contains("Range:") == false)
    }

    /// Two downloads of one URL, of which the second one may get another representation.
    struct Selection: CustomTestStringConvertible, Sendable {
        let testDescription: String
        /// The validator and other fields of both responses.
        var fields = "ETag: \"v1\""
        var first: HTTPFields = [:]
        var second: HTTPFields = [:]
        /// Whether the client adds the fields, and not the caller.
        var byClient = false
        let isContinued: Bool
    }

    private static let date = "Last-Modified: Sun, 06 Nov 1994 08:49:37 GMT\r\nDate: Sun, 06 Nov 1994 08:49:38 GMT"

    static let selections = [
        Selection(testDescription: "equal fields", first: [.accept: "a"], second: [.accept: "a"], isContinued: true),
        Selection(testDescription: "another Accept", first: [.accept: "a"], second: [.accept: "b"], isContinued: false),
        Selection(testDescription: "one more field", second: [.acceptLanguage: "de"], isContinued: false),
        Selection(testDescription: "one field less", first: [.acceptLanguage: "de"], isContinued: false),
        Selection(
            testDescription: "another user",
            first: [.authorization: "Bearer a"],
            second: [.authorization: "Bearer b"],
            isContinued: false
        ),
        Selection(
            testDescription: "another field of the client, named in Vary",
            fields: "ETag: \"v1\"\r\nVary: Accept-Encoding, ACCEPT-Language",
            first: [.acceptLanguage: "de"],
            second: [.acceptLanguage: "en"],
            byClient: true,
            isContinued: false
        ),
        Selection(
            testDescription: "another field of the client, not named",
            first: [.acceptLanguage: "de"],
            second: [.acceptLanguage: "en"],
            byClient: true,
            isContinued: true
        ),
        Selection(
            testDescription: "another user of the client, with a date",
            fields: date,
            first: [.authorization: "Bearer a"],
            second: [.authorization: "Bearer b"],
            byClient: true,
            isContinued: false
        ),
        Selection(testDescription: "a date and equal fields", fields: date, isContinued: true),
    ]

    @Test("Only a request for the same representation continues a part", arguments: selections)
    func selected(_ selection: Selection) async throws {
        let folder = try TemporaryFolder()
        let rest = "206 Partial Content\r\n\(selection.fields)\r\nContent-Range: bytes 3-4/5\r\nConnection: close\r\n"
        let whole = "200 OK\r\n\(selection.fields)\r\nContent-Length: 5\r\n\r\n"
        let server = try Self.server(whole + "hel", "\(rest)Content-Length: 2\r\n\r\nLO", whole + "HELLO")
        for (fields, isFirst) in [(selection.first, true), (selection.second, false)] {
            let own = selection.byClient ? [:] : fields
            let configure: (inout HTTPDNSClient.Configuration) -> Void = {
                if selection.byClient { $0.computedHeaders = { _ in fields } }
            }
            try await downloads(from: server, configure, to: folder) { resource in
                if isFirst {
                    try await resource.failure(own)
                } else {
                    try await resource.resume(own)
                    #expect(folder.read("a") == (selection.isContinued ? "helLO" : "HELLO"))
                }
            }
        }
    }

    /// The first process ends after the last byte, before the file gets its name.
    @Test("Of a complete part, only the last byte is requested again")
    func complete() async throws {
        let server = try Self.server(Self.half + "l", "\(Self.partial) 4-4/5\r\nContent-Length: 1\r\n\r\no")
        try await downloads(from: server) { resource in
            try await resource.failure()
            let part = try #require(try resource.folder.names.first { $0.hasSuffix(".part") })
            try resource.folder.write("hello", to: part)
            try await resource.resume()
            try resource.expectHello()
        }
        #expect(server.connections.last?.text.contains("\r\nRange: bytes=4-\r\n") == true)
    }

    @Test("A wrong checksum saves and keeps nothing", arguments: [false, true])
    func wrongChecksum(resumes: Bool) async throws {
        let folder = try TemporaryFolder()
        let server = try RawServer(
            .readHead,
            .sendText("HTTP/1.1 200 OK\r\nETag: \"v1\"\r\nContent-Length: 5\r\n\r\nhello")
        )
        try await withClient(settings()) { client in
            let error = try await refusal {
                _ = try await client.download(
                    "http://resume.wild.test:\(server.port)/",
                    to: folder.path("a"),
                    existingFile: resumes ? .resume : .replace,
                    checksum: checksum(Array("hallo".utf8))
                )
            }
            #expect(
                error.code == .checksumMismatch && error.message.contains("2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c")
            )
        }
        #expect(try folder.names.isEmpty)
    }

    @Test(
        "A text that is no checksum fails before the request is sent",
        arguments: ["", "abc", String(repeating: "g", count: 64)]
    )
    func invalidChecksum(text: String) async throws {
        let folder = try TemporaryFolder()
        try await withClient(settings()) { client in
            let error = try await refusal {
                _ = try await client.download(
                    "http://resume.wild.test:1/",
                    to: folder.path("a"),
                    checksum: .sha256(text)
                )
            }
            #expect(error.code == .invalidRequest)
        }
    }

    @Test("An existing file is replaced, kept or left beside a numbered one")
    func existing() async throws {
        let folder = try TemporaryFolder()
        try folder.replace("a.txt", with: "old")
        let server = try RawServer(.serve("new"))
        let url = "http://resume.wild.test:\(server.port)/"
        try await withClient(settings()) { client in
            let error = try await refusal {
                _ = try await client.download(url, to: folder.path("a.txt"), existingFile: .fail)
            }
            #expect(error.code == .fileFailed && !error.requestMayHaveBeenSent && server.connections.isEmpty)
            let renamed = try await client.download(url, to: folder.path("a.txt"), existingFile: .rename)
            #expect(renamed.path.hasSuffix("/a-1.txt"))
            let again = try await client.download(url, to: folder.path("a.txt"), existingFile: .rename)
            #expect(again.path.hasSuffix("/a-2.txt"))
            #expect(folder.read("a.txt") == "old" && folder.read("a-1.txt") == "new")
            _ = try await client.download(url, to: folder.path("a.txt"))
            #expect(try folder.read("a.txt") == "new" && folder.names.sorted() == ["a-1.txt", "a-2.txt", "a.txt"])
        }
    }

    @Test("A file that appears during the download is not replaced by one that must be new")
    func appeared() async throws {
        let folder = try TemporaryFolder()
        let server = try RawServer(.readHead, .respond("new"))
        try await withClient(settings()) { client in
            let error = try await refusal {
                _ = try await client.download(
                    "http://resume.wild.test:\(server.port)/",
                    to: folder.path("a"),
                    existingFile: .fail,
                    progress: { step in if step.isComplete { try? folder.replace("a", with: "other") } }
                )
            }
            #expect(error.code == .fileFailed)
        }
        #expect(try folder.read("a") == "other" && folder.names == ["a"])
    }

    @Test("The limit of a resumed download counts the bytes of its part")
    func limit() async throws {
        let server = try Self.server(
            "200 OK\r\nETag: \"v1\"\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nhel\r\n",
            "\(Self.partial) 3-4/5\r\nContent-Length: 2\r\n\r\nlo"
        )
        try await downloads(from: server) { resource in
            let codes = [
                try await resource.failure(upTo: .bytes(4)).code, try await resource.failure(upTo: .bytes(4)).code,
            ]
            #expect(codes == [.connectionLost, .responseTooLarge])
            #expect(try !resource.folder.names.contains("a"))
        }
    }

    @Test("The limit of a resumed download applies to a changed resource as a whole", arguments: [false, true])
    func limitOfChanged(isTooLong: Bool) async throws {
        let chunks = "6\r\nHELLO!\r\n0\r\n\r\n"
        let changed = "200 OK\r\nETag: \"v2\"\r\nTransfer-Encoding: chunked\r\n\r\n\(chunks)"
        try await downloads(from: Self.server(Self.half, changed)) { resource in
            let limit = HTTPDNSByteCount.bytes(isTooLong ? 5 : 6)
            try await resource.failure(upTo: limit)
            if isTooLong {
                let error = try await resource.failure(upTo: limit)
                #expect(error.code == .responseTooLarge && error.message.contains("5 bytes"), "\(error.message)")
            } else {
                try await resource.resume(upTo: limit)
                #expect(try resource.folder.read("a") == "HELLO!" && resource.folder.names == ["a"])
            }
        }
    }

    @Test("Two downloads to one path at a time do not mix their parts")
    func concurrent() async throws {
        let folder = try TemporaryFolder()
        let (begun, release) = (Gate(), Gate())
        let server = try RawServer(
            .readHead,
            .sendText("HTTP/1.1 200 OK\r\nETag: \"v1\"\r\nContent-Length: 5\r\n\r\nhel"),
            .wait(release),
            .sendText("lo")
        )
        let url = "http://resume.wild.test:\(server.port)/"
        try await withClient(settings()) { client in
            let request = HTTPDNSClient.Request(url: url)
            async let first = client.download(request, to: folder.path("a"), existingFile: .resume) {
                if $0.bytes == 3 { begun.open() }
            }
            await begun.passage()
            let error = try await refusal {
                _ = try await client.download(url, to: folder.path("a"), existingFile: .resume)
            }
            #expect(error.code == .fileFailed && error.message.contains("another download"))
            release.open()
            let bytes = try await first.bytes
            #expect(bytes == 5)
        }
        #expect(try folder.read("a") == "hello" && folder.names == ["a"])
    }
}
