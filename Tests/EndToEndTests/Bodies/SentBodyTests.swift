// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

import Foundation
import HTTPDNS
import ServerRig
import Testing

/// SHA-256 of what nginx stored is that of the source.
@Suite("Sent bodies, on the rig", .enabled(if: ServerRig.isAvailable([.nginx])))
struct SentBodyTests {
    private static let long = ServerRig.hasTime
    /// 5 GB is for `make endurance`: nginx writes all of it.
    private static let sizes: [Int64] = [0, 1, 64 << 20] + (long ? [5_000_000_000] : [])

    private func digest(_ path: String) async throws -> String {
        let result = try await Command("sha256sum", [path]).run(within: .seconds(300))
        return String(try #require(result.output.split(separator: " ").first))
    }

    /// A sparse file with a mark here and there, so that pieces in another order would show.
    private func sparseFile(_ folder: TemporaryFolder, _ size: Int64) throws -> String {
        let path = folder.path("source")
        try Data().write(to: URL(filePath: path))
        let file = try #require(FileHandle(forWritingAtPath: path))
        try file.truncate(atOffset: UInt64(size))
        var place: Int64 = 0
        while place < size {
            try file.seek(toOffset: UInt64(place))
            try file.write(contentsOf: Data("\(place)".utf8).prefix(Int(min(20, size - place))))
            place += 7_654_321
        }
        try file.close()
        return path
    }

    private func settings(_ rig: ServerRig) throws -> HTTPDNSClient.Configuration {
        var configuration = try rig.settings(mappings: ["one.test": .addresses(["127.0.0.2"])])
        configuration.timeouts.total = nil
        return configuration
    }

    @Test(
        "A file arrives byte by byte, over HTTP/1.1 and HTTP/2",
        arguments: sizes,
        [HTTPDNSClient.AllowedVersions.http1Only, .http2Only]
    )
    func file(size: Int64, versions: HTTPDNSClient.AllowedVersions) async throws {
        let rig = try await ServerRig.shared()
        let folder = try TemporaryFolder()
        let source = try sparseFile(folder, size)
        let name = "file-\(size)-\(versions)"
        defer { try? FileManager.default.removeItem(atPath: rig.storedFile(name)) }
        try await withClient(settings(rig)) { client in
            var request = HTTPDNSClient.Request(method: .put, url: "https://one.test:\(rig.tlsPort)/stored/\(name)")
            request.changeOptions { $0.versions = versions }
            let steps = Lock<[HTTPDNSClient.Progress]>([])
            let complete = Gate()
            request.body = .file(source).reportingProgress { step in
                steps.withLock { $0.append(step) }
                if step.isComplete { complete.open() }
            }
            let response = try await client.execute(request)
            #expect(response.status == .created && response.version == (versions == .http2Only ? .http2 : .http11))
            try await response.text()
            await complete.passage()
            let bytes = steps.withLock { $0.map(\.bytes) }
            #expect(bytes.first == 0 && bytes.last == size && zip(bytes, bytes.dropFirst()).allSatisfy { $0 <= $1 })
            #expect(steps.withLock { $0.allSatisfy { $0.total == size } && $0.filter(\.isComplete).count == 1 })
        }
        let (sent, stored) = (try await digest(source), try await digest(rig.storedFile(name)))
        #expect(sent == stored)
    }

    @Test(
        "Streams of known and unknown length, and bytes arrive as they are",
        arguments: [HTTPDNSClient.AllowedVersions.http1Only, .http2Only]
    )
    func otherBodies(versions: HTTPDNSClient.AllowedVersions) async throws {
        let rig = try await ServerRig.shared()
        let folder = try TemporaryFolder()
        let bytes = (0..<1_000_003).map { UInt8(truncatingIfNeeded: $0 / 251) }
        let source = folder.path("source")
        try Data(bytes).write(to: URL(filePath: source))
        func stream(_ length: Int64?) -> HTTPDNSClient.Request.Body {
            .stream(
                length: length,
                AsyncStream<ArraySlice<UInt8>> { feed in
                    for start in stride(from: 0, to: bytes.count, by: 9_999) {
                        feed.yield(bytes[start...].prefix(9_999))
                    }
                    feed.finish()
                }
            )
        }
        try await withClient(settings(rig)) { client in
            for (name, body) in [
                ("bytes", .bytes(bytes)), ("known", stream(1_000_003)), ("unknown", stream(nil)),
                ("reported", .bytes(bytes)),
            ] as [(String, HTTPDNSClient.Request.Body)] {
                let steps = Lock<[HTTPDNSClient.Progress]>([])
                let complete = Gate()
                var request = HTTPDNSClient.Request(
                    method: .put,
                    url: "https://one.test:\(rig.tlsPort)/stored/other-\(name)-\(versions)"
                ) { $0.versions = versions }
                request.body = body
                if name != "bytes" {
                    request.body = body.reportingProgress { step in
                        steps.withLock { $0.append(step) }
                        if step.isComplete { complete.open() }
                    }
                }
                let response = try await client.execute(request)
                #expect(response.status.kind == .successful)
                try await response.text()
                let stored = try Data(contentsOf: URL(filePath: rig.storedFile("other-\(name)-\(versions)")))
                #expect(Array(stored) == bytes, "\(name)")
                guard name != "bytes" else { continue }
                await complete.passage()
                // An unknown length is marked until the end is there.
                let last = try #require(steps.withLock { $0.last })
                #expect(last == HTTPDNSClient.Progress(bytes: 1_000_003, total: 1_000_003, isComplete: true))
                let totals = Set(steps.withLock { $0.dropLast().map(\.total) })
                #expect(totals == [name == "unknown" ? nil : 1_000_003])
            }
        }
    }

    /// The task that reads the stream waits for its end, and may not have run since the bytes were taken.
    @Test("The progress of a streamed body is complete once its response is there")
    func toldAtHead() async throws {
        let rig = try await ServerRig.shared()
        let answer = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"
        let server = try RawServer(address: "127.0.0.2", .repeatForever([.readHead, .read(5), .sendText(answer)]))
        try await withClient(settings(rig)) { client in
            for _ in 0..<200 {
                let (stream, feed) = AsyncStream.makeStream(of: ArraySlice<UInt8>.self)
                feed.yield(Array("hello".utf8)[...])
                let last = Lock<HTTPDNSClient.Progress?>(nil)
                var request = HTTPDNSClient.Request(method: .put, url: "http://one.test:\(server.port)/")
                request.body = .stream(length: 5, stream).reportingProgress { step in last.withLock { $0 = step } }
                let response = try await client.execute(request)
                #expect(last.withLock { $0 } == HTTPDNSClient.Progress(bytes: 5, total: 5, isComplete: true))
                feed.finish()
                try await response.text()
            }
        }
    }

    private struct Charge: Codable { var amount: Int }

    @Test(
        "Forms, JSON and multipart forms with a file arrive as their formats have them",
        arguments: [HTTPDNSClient.AllowedVersions.http1Only, .http2Only]
    )
    func formats(versions: HTTPDNSClient.AllowedVersions) async throws {
        let rig = try await ServerRig.shared()
        let folder = try TemporaryFolder()
        let source = try sparseFile(folder, 3_000_001)
        let values = (0..<20_000).map { "value \($0)" }
        let bodies: [(String, HTTPDNSClient.Request.Body)] = [
            ("form", .form(["q": "a b&c=d", "ü": values.joined(separator: "/")])), ("json", try .json(values)),
            ("multipart", .multipart([.field("name", "väl\r\nue"), .file("f", path: source, fileName: "big.bin")])),
        ]
        try await withClient(settings(rig)) { client in
            for (name, body) in bodies {
                let stored = "formats-\(name)-\(versions)"
                defer { try? FileManager.default.removeItem(atPath: rig.storedFile(stored)) }
                let request = HTTPDNSClient.Request(
                    method: .put,
                    url: "https://one.test:\(rig.tlsPort)/stored/\(stored)",
                    body: body
                ) { $0.versions = versions }
                let response = try await client.execute(request)
                #expect(response.status == .created)
                try await response.text()
                try expected(name, values, in: rig.storedFile(stored), file: source)
                    .write(to: URL(filePath: folder.path("expected")))
                let (wanted, arrived) = (
                    try await digest(folder.path("expected")), try await digest(rig.storedFile(stored))
                )
                #expect(wanted == arrived, "\(name)")
            }
        }
    }

    /// The body by hand. The boundary of a multipart form is nobody's choice: what arrived begins with it.
    private func expected(_ name: String, _ values: [String], in stored: String, file: String) throws -> Data {
        switch name {
        case "form":
            let joined = values.map { $0.replacing(" ", with: "+") }.joined(separator: "%2F")
            return Data("q=a+b%26c%3Dd&%C3%BC=\(joined)".utf8)
        case "json": return Data("[\(values.map { "\"\($0)\"" }.joined(separator: ","))]".utf8)
        default:
            let line = try Data(contentsOf: URL(filePath: stored)).prefix { $0 != 13 }
            let boundary = String(decoding: line, as: UTF8.self)
            #expect(boundary.hasPrefix("--httpdns-") && boundary.utf8.count == 42)
            let head = "Content-Disposition: form-data; name="
            let before =
                "\(boundary)\r\n\(head)\"name\"\r\n\r\nväl\r\nue\r\n\(boundary)\r\n\(head)\"f\"; filename=\"big.bin\""
            return try Data("\(before)\r\nContent-Type: application/octet-stream\r\n\r\n".utf8)
                + Data(contentsOf: URL(filePath: file)) + Data("\r\n\(boundary)--\r\n".utf8)
        }
    }
}
