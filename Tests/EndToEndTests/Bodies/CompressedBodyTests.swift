// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

import Foundation
import HTTPDNS
import ServerRig
import Testing

/// Compressed request bodies: what nginx stored is, by gzip's own tool, the source.
@Suite("Compressed bodies, on the rig", .enabled(if: ServerRig.isAvailable([.nginx])))
struct CompressedBodyTests {
    private func settings(_ rig: ServerRig) throws -> HTTPDNSClient.Configuration {
        try rig.settings(mappings: ["one.test": .addresses(["127.0.0.2"])])
    }

    private func run(_ script: String, _ path: String) async throws -> String {
        let result = try await Command("bash", ["-c", "set -o pipefail; \(script)", "bash", path])
            .run(within: .seconds(120))
        #expect(result.status == 0, "\(result)")
        return String(result.output.prefix { $0 != " " })
    }

    /// Beyond zlib's window of 32 KiB it repeats itself: it does not shrink.
    private static let noise = (0..<(64 * 1024)).map { _ in UInt8.random(in: .min ... .max) }

    /// The body comes from memory, a file, a multipart form or a stream.
    @Test(
        "A compressed request body of any kind decompresses to its source",
        arguments: [HTTPDNSClient.AllowedVersions.http1Only, .http2Only]
    )
    func arrives(versions: HTTPDNSClient.AllowedVersions) async throws {
        let rig = try await ServerRig.shared()
        let folder = try TemporaryFolder()
        let bytes = (0..<40).flatMap { _ in Self.noise } + [UInt8](repeating: 0, count: 1_000_003)
        let source = folder.path("source")
        try Data(bytes).write(to: URL(filePath: source))
        let expected = try await run("sha256sum \"$1\"", source)
        let stream = AsyncStream<ArraySlice<UInt8>> { feed in
            for start in stride(from: 0, to: bytes.count, by: 99_999) { feed.yield(bytes[start...].prefix(99_999)) }
            feed.finish()
        }
        try await withClient(settings(rig)) { client in
            for (name, body) in [
                ("memory", .bytes(bytes)), ("file", .file(source)),
                ("stream", .stream(length: Int64(bytes.count), stream)),
            ] as [(String, HTTPDNSClient.Request.Body)] {
                let stored = rig.storedFile("compressed-\(name)-\(versions)")
                defer { try? FileManager.default.removeItem(atPath: stored) }
                var request = HTTPDNSClient.Request(
                    method: .put,
                    url: "https://one.test:\(rig.tlsPort)/stored/compressed-\(name)-\(versions)"
                ) { $0.versions = versions }
                let steps = Lock<[HTTPDNSClient.Progress]>([])
                let complete = Gate()
                request.body = body.compressed().reportingProgress { step in
                    steps.withLock { $0.append(step) }
                    if step.isComplete { complete.open() }
                }
                let response = try await client.execute(request)
                #expect(response.status == .created && response.version == (versions == .http2Only ? .http2 : .http11))
                try await response.text()
                #expect(try await run("gzip -dc <\"$1\" | sha256sum", stored) == expected, "\(name)")

                await complete.passage()
                let size = try #require(try FileManager.default.attributesOfItem(atPath: stored)[.size] as? Int64)
                #expect(size < bytes.count - 900_000)
                let all = steps.withLock { $0 }
                #expect(all.last == HTTPDNSClient.Progress(bytes: size, total: size, isComplete: true))
                #expect(all.first?.bytes == 0 && zip(all, all.dropFirst()).allSatisfy { $0.bytes <= $1.bytes })
                #expect(Set(all.dropLast().map(\.total)) == [name == "memory" ? size : nil])
            }
        }
    }

    /// A kept connection carries the next request.
    @Test("The server gets the coding, and a length only where the length is known")
    func fields() async throws {
        let rig = try await ServerRig.shared()
        try await withClient(settings(rig)) { client in
            let url = "https://one.test:\(rig.http1Port)/echo"
            var connections: Set<Bool> = []
            for (body, length, transfer) in [
                (.text("hello").compressed(.deflate), "13", nil), (.text("hello"), "5", nil),
                (
                    .stream(
                        AsyncStream {
                            $0.yield(Array("hello".utf8)); $0.finish()
                        }
                    ).compressed(.deflate), nil, "chunked"
                ),
            ] as [(HTTPDNSClient.Request.Body, String?, String?)] {
                let response = try await client.post(url, body: body)
                connections.insert(response.exchanges[0].reusedConnection)
                // As they stood on the wire.
                let headers = try await Echo(response).headers
                #expect(headers["Content-Encoding"] == (length == "5" ? nil : .one("deflate")))
                #expect(headers["Content-Length"] == length.map { .one($0) })
                #expect(headers["Transfer-Encoding"] == transfer.map { .one($0) })
            }
            #expect(connections == [false, true])
        }
    }

    @Test(
        "A POST without a body declares a length of zero, over both versions",
        arguments: [HTTPDNSClient.AllowedVersions.http1Only, .http2Only]
    )
    func none(versions: HTTPDNSClient.AllowedVersions) async throws {
        let rig = try await ServerRig.shared()
        try await withClient(settings(rig)) { client in
            for (method, length) in [(.post, "0"), (.get, nil)] as [(HTTPRequest.Method, String?)] {
                var request = HTTPDNSClient.Request(method: method, url: "https://one.test:\(rig.tlsPort)/echo")
                request.changeOptions { $0.versions = versions }
                let headers = try await Echo(client.execute(request)).headers
                let found = headers.first { $0.key.lowercased() == "content-length" }?.value
                #expect(found == length.map { .one($0) })
            }
        }
    }

    /// HTTP/1.0 has no bodies of unknown length.
    @Test("HTTP/1.0 refuses compressed streams and carries compressed bodies from memory")
    func oldVersion() async throws {
        let rig = try await ServerRig.shared()
        try await withClient(settings(rig)) { client in
            var request = HTTPDNSClient.Request(method: .post, url: "https://one.test:\(rig.http1Port)/echo")
            request.changeOptions { $0.versions = .http10Only }
            request.body = .text("hello").compressed()
            #expect(try await Echo(client.execute(request)).headers["Content-Encoding"] == .one("gzip"))
            request.body = .stream(AsyncStream<[UInt8]> { $0.finish() }).compressed()
            let error = try await refusal { [request] in _ = try await client.execute(request) }
            #expect(error.code == .invalidRequest && !error.requestMayHaveBeenSent, "\(error.code): \(error)")
        }
    }

    // Other suites in the process would be counted as well.
    /// 64 MiB that do not shrink; the process grows by less than 16 MiB.
    @Test(
        "Compressing a long stream does not make the process grow",
        .enabled("needs its process for itself: HTTPDNS_TEST_ALONE=1") { ServerRig.hasProcessForItself },
        arguments: [HTTPDNSClient.AllowedVersions.http1Only, .http2Only]
    )
    func memory(versions: HTTPDNSClient.AllowedVersions) async throws {
        let rig = try await ServerRig.shared()
        let name = "compressed-flat-\(versions)"
        let stored = rig.storedFile(name)
        defer { try? FileManager.default.removeItem(atPath: stored) }
        try await withClient(settings(rig)) { client in
            func send(_ count: Int) async throws {
                let left = Lock(count)
                let stream = AsyncStream<[UInt8]>(unfolding: {
                    left.withLock { left in
                        left -= 1
                        return left < 0 ? nil : Self.noise
                    }
                })
                var request = HTTPDNSClient.Request(method: .put, url: "https://one.test:\(rig.tlsPort)/stored/\(name)")
                request.changeOptions { $0.versions = versions }
                request.body = .stream(stream).compressed()
                try await client.execute(request).text()
            }
            // What a first request brings along (TLS, the loop, the compressor) is not what grows with the body.
            try await send(64)
            let before = try PeakMemory.reset()
            try await send(1024)
            let growth = try PeakMemory.now() - before
            print("measured: the process grew by \(growth) KiB")
            #expect(growth < 16 << 10)
        }
        #expect(try await run("gzip -dc <\"$1\" | wc -c", stored).hasPrefix("\(64 << 20)"))
    }
}

/// The most memory that this process has had, in KiB (proc(5)).
enum PeakMemory {
    /// Counts from here on.
    static func reset() throws -> Int {
        // "5" resets the peak to what is resident now.
        let file = try #require(FileHandle(forWritingAtPath: "/proc/self/clear_refs"))
        try file.write(contentsOf: Data("5".utf8))
        try file.close()
        return try now()
    }

    static func now() throws -> Int {
        let status = try String(contentsOfFile: "/proc/self/status", encoding: .utf8)
        let line = try #require(status.split(separator: "\n").first { $0.hasPrefix("VmHWM:") })
        return try #require(line.split(whereSeparator: \.isWhitespace).dropFirst().first.flatMap { Int($0) })
    }
}
