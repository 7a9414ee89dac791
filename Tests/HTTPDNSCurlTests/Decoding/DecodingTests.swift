// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

import Foundation
import HTTPDNSPrimitives
import HTTPTypes
import ServerRig
import Testing

@testable import HTTPDNSCurl

/// Content codings (RFC 9110 section 8.4) of bodies from a server.
struct DecodingTests {
    private static let text = "hello"
    /// `text` by the tools of the same names.
    private static let gzip = [UInt8](hexadecimal: "1f8b0800000000000003cb48cdc9c9070086a6103605000000")
    private static let zlib = [UInt8](hexadecimal: "789ccb48cdc9c90700062c0215")
    private static let rawDeflate = [UInt8](hexadecimal: "cb48cdc9c90700")

    /// Bytes in one uncompressed meta-block and an empty last one (RFC 7932 section 9.2).
    private static func brotli(_ bytes: [UInt8]) -> [UInt8] {
        let head = 0xb | (bytes.count - 1) << 7 | 1 << 23
        return [UInt8(head & 0xff), UInt8(head >> 8 & 0xff), UInt8(head >> 16)] + bytes + [0x03]
    }

    /// Bytes in one raw block (RFC 8878 section 3.1).
    private static func zstd(_ bytes: [UInt8]) -> [UInt8] {
        let head = bytes.count << 3 | 1
        return [0x28, 0xb5, 0x2f, 0xfd, 0, 0x38] + [UInt8(head & 0xff), UInt8(head >> 8 & 0xff), 0] + bytes
    }

    /// Zeros in blocks of 128 KiB that take 4 bytes each (RFC 8878 section 3.1.1.2.2).
    private static func zstdZeros(_ mebibytes: Int) -> [UInt8] {
        var coded: [UInt8] = [0x28, 0xb5, 0x2f, 0xfd, 0, 0x38]
        for block in 1...(mebibytes * 8) {
            let head = (128 * 1024) << 3 | 1 << 1 | (block == mebibytes * 8 ? 1 : 0)
            coded += [UInt8(head & 0xff), UInt8(head >> 8 & 0xff), UInt8(head >> 16), 0]
        }
        return coded
    }

    private func server(_ coding: String, _ body: [UInt8]) throws -> RawServer {
        try RawServer(
            .readHead,
            .sendText("HTTP/1.1 200 OK\r\nContent-Length: \(body.count)\r\nContent-Encoding: \(coding)\r\n\r\n"),
            .send(body),
            .readToEnd
        )
    }

    private func request(_ server: RawServer, limit: Int? = nil) throws -> TransferRequest {
        try TransportFixture.request(to: server) { $0.maximumResponseBytes = limit }
    }

    @Test(
        "The codings of this machine are requested and decoded, also when chained",
        arguments: [
            ("gzip", gzip), ("x-gzip", gzip), ("deflate", zlib), ("deflate", rawDeflate),
            ("br", brotli(Array(text.utf8))),
            ("zstd", zstd(Array(text.utf8))), ("identity", Array(text.utf8)), ("GZip", gzip),
            ("gzip, br", brotli(gzip)), ("br, gzip, zstd", zstd([UInt8](hexadecimal: gzipOfBrotli))),
            ("deflate, zstd, br", brotli(zstd(zlib))),
        ] as [(String, [UInt8])]
    )
    func decoded(coding: String, body: [UInt8]) async throws {
        let server = try server(coding, body)
        let response = try await TransportFixture().send(try request(server))
        let decoded = try #require(response.decodedBody)
        var bytes: [UInt8] = []
        for try await chunk in decoded { bytes += chunk }
        #expect(String(decoding: bytes, as: UTF8.self) == Self.text)
        #expect(response.head.headerFields[.contentEncoding] == coding)
        #expect(decoded.summary?.wireBytes == body.count && decoded.summary?.bodyBytes == 5)
        await #expect(throws: TransferFailure.self) { for try await _ in decoded {} }
        let head = try #require(server.connections.first?.text)
        #expect(head.contains("Accept-Encoding: deflate, gzip, br, zstd\r\n"))
    }

    /// `brotli(text)` by gzip.
    private static let gzipOfBrotli = "1f8b0800000000000203e3666ac848cdc9c9670600db4e4b5009000000"

    @Test(
        "An unknown coding, broken bytes and an endless chain fail by name",
        arguments: [
            ("zip", Array(text.utf8)), ("gzip", Array("this is no gzip at all".utf8)),
            ("zstd", [1, 2, 3, 4, 5, 6, 7, 8, 9]),
            ("br", [0xff, 0xff, 0xff, 0xff]), (repeatElement("gzip", count: 6).joined(separator: ", "), gzip),
        ] as [(String, [UInt8])]
    )
    func undecodable(coding: String, body: [UInt8]) async throws {
        let server = try server(coding, body)
        let failure = try #require(await TransportFixture().failure(of: try request(server)))
        #expect(failure.code == .undecodable && failure.phase == .body, "\(failure.code): \(failure)")
        let endpoint = try request(server).endpoints[0]
        #expect(failure.requestMayHaveBeenSent && failure.endpoint == endpoint && failure.elapsed > .zero)
    }

    /// The next one is decoded again.
    @Test("A request for an undecoded body asks for no coding and gets the bytes")
    func notDecoded() async throws {
        let body = Self.gzip
        let server = try RawServer(
            .repeatForever([
                .readHead,
                .sendText("HTTP/1.1 200 OK\r\nContent-Length: \(body.count)\r\nContent-Encoding: gzip\r\n\r\n"),
                .send(body),
            ])
        )
        let fixture = TransportFixture()
        var request = try request(server)
        request.decodes = false
        #expect(try await fixture.fetch(request).body == body)
        request.decodes = true
        #expect(try await fixture.fetch(request).body == Array(Self.text.utf8))
        let heads = try #require(server.connections.first?.text).split(separator: "\r\n\r\n")
        #expect(heads.count == 2 && !heads[0].contains("Accept-Encoding") && heads[1].contains("Accept-Encoding"))
    }

    @Test("The request's own Accept-Encoding replaces the client's, and the body is decoded")
    func ownField() async throws {
        let server = try server("gzip", Self.gzip)
        var request = try request(server)
        request.headerFields[.acceptEncoding] = "gzip;q=0.5"
        #expect(try await TransportFixture().fetch(request).body == Array(Self.text.utf8))
        let head = try #require(server.connections.first?.text)
        #expect(head.split(separator: "Accept-Encoding: ").count == 2 && head.contains(": gzip;q=0.5\r\n"), "\(head)")
    }

    @Test("A coding whose library is absent is not requested, and fails by name", arguments: ["br", "zstd"])
    func absentLibrary(coding: String) async throws {
        let name = "libhttpdns-no-such-library.so.1"
        var configuration = TransportConfiguration()
        configuration.codingLibraries =
            coding == "br" ? CodingLibraries(brotli: name) : CodingLibraries(zstandard: name)
        let bytes = Array(Self.text.utf8)
        let server = try server(coding, coding == "br" ? Self.brotli(bytes) : Self.zstd(bytes))
        let fixture = TransportFixture(Transport(configuration))
        let failure = try #require(await fixture.failure(of: try request(server)))
        #expect(failure.code == .undecodable && failure.message.contains("coding \(coding)"), "\(failure)")
        let head = try #require(server.connections.first?.text)
        #expect(head.contains("Accept-Encoding: deflate, gzip, \(coding == "br" ? "zstd" : "br")\r\n"), "\(head)")
    }

    /// All of them are within it, one more is not.
    @Test("The limit counts decoded bytes")
    func limitOfDecodedBytes() async throws {
        let servers = try (0..<2).map { _ in try server("zstd", Self.zstdZeros(1)) }
        let fixture = TransportFixture()
        #expect(try await fixture.fetch(request(servers[0], limit: 1 << 20)).body.count == 1 << 20)
        let failure = try #require(await fixture.failure(of: request(servers[1], limit: (1 << 20) - 1)))
        #expect(failure.code == .responseTooLarge)
    }

    @Test(
        "A bomb of 1 GiB ends at the limit, with no byte beyond it",
        arguments: [("zstd", 33_000), ("br", 900), ("gzip", 1_100_000)] as [(String, Int)]
    )
    func bomb(_ bomb: (coding: String, largest: Int)) async throws {
        let body =
            switch bomb.coding {
            case "zstd": Self.zstdZeros(1024)
            case "br": BrotliZeros.bytes(blocks: 64)
            default: try await Self.gzipZeros.value
            }
        #expect(body.count < bomb.largest, "\(body.count)")
        let server = try server(bomb.coding, body)
        let response = try await TransportFixture().send(try request(server, limit: 1 << 20))
        var count = 0
        var failure: TransferFailure?
        do {
            for try await chunk in try #require(response.decodedBody) {
                count += chunk.count
                #expect(chunk.allSatisfy { $0 == 0 })
            }
        } catch {
            failure = error as? TransferFailure
        }
        #expect(failure?.code == .responseTooLarge && count <= 1 << 20, "\(failure as Any) after \(count)")
    }

    /// Made once: it takes gzip some seconds.
    private static let gzipZeros = Task {
        let path = NSTemporaryDirectory() + "httpdns-zeros-\(UUID().uuidString).gz"
        defer { unlink(path) }
        let made = try await Command("bash", ["-c", "head -c 1G /dev/zero | gzip -9 >\"$1\"", "bash", path])
            .run(within: .seconds(120))
        #expect(made.status == 0, "\(made)")
        return try Array(Data(contentsOf: URL(filePath: path)))
    }

    /// A request with a limit of its own, to which no ratio counts.
    private func trusting(_ server: RawServer) throws -> TransferRequest {
        var request = try request(server)
        request.limits.maximumResponseBytes = 1 << 40
        return request
    }

    /// The bombs are what they are said to be.
    @Test("One block of the brotli bomb is 16 MiB of zeros")
    func brotliBlock() async throws {
        let server = try server("br", BrotliZeros.bytes(blocks: 1))
        let body = try await TransportFixture().fetch(try trusting(server)).body
        #expect(body.count == BrotliZeros.blockLength && body.allSatisfy { $0 == 0 })
    }

    @Test("The reader of a bomb can stop it at any chunk, and cancel its task")
    func stoppedBomb() async throws {
        let body = Self.zstdZeros(1024)
        let server = try RawServer(
            .readHead,
            .sendText("HTTP/1.1 200 OK\r\nContent-Length: \(body.count + 1)\r\nContent-Encoding: zstd\r\n\r\n"),
            .send(body),
            .readToEnd
        )
        let response = try await TransportFixture().send(try trusting(server))
        let reader = Task {
            var count = 0
            for try await chunk in try #require(response.decodedBody) {
                count += chunk.count
                // All input is here, so that nothing but the decoder notices the cancellation.
                if count > 1 << 20 { withUnsafeCurrentTask { $0?.cancel() } }
                #expect(count <= 2 << 20)
            }
        }
        await #expect(throws: CancellationError.self) { try await reader.value }
        try await server.awaitConnections { $0[0].isClosedByClient }
    }

    /// All input is here, and gzip ignores the zeros: without interruptions the first chunk comes after all of them.
    @Test("A reader is canceled while bytes between two codings decode to nothing")
    func stoppedIntermediateBomb() async throws {
        let member = try ContentEncoder.encoded(Array(Self.text.utf8), "gzip")
        let body = try ContentEncoder.encoded(member + Array(repeating: 0, count: 64 << 20), "zstd,zstd")
        let server = try server("gzip, zstd, zstd", body)
        let response = try await TransportFixture().send(try trusting(server))
        let reader = Task {
            for try await chunk in try #require(response.decodedBody) {
                #expect(chunk == Array(Self.text.utf8))
                withUnsafeCurrentTask { $0?.cancel() }
            }
        }
        await #expect(throws: CancellationError.self) { try await reader.value }
    }

    @Test("A body of over 200 times what was sent fails without a limit, in each coding", arguments: ["br", "zstd"])
    func ratio(coding: String) async throws {
        let server = try server(coding, coding == "br" ? BrotliZeros.bytes(blocks: 1) : Self.zstdZeros(16))
        let response = try await TransportFixture().send(try request(server))
        await #expect { for try await _ in try #require(response.decodedBody) {} } throws: { error in
            (error as? TransferFailure)?.code == .responseTooLarge
        }
    }

    @Test("Without a limit 1 MiB arrives, and a longer body of 130 times what was sent")
    func withinRatio() async throws {
        let fixture = TransportFixture()
        let short = try server("zstd", Self.zstdZeros(1))
        #expect(try await fixture.fetch(try request(short)).body.count == 1 << 20)
        // 64 KiB in a raw block that is not the last, then 8 MiB of zeros.
        let raw = Array(repeating: UInt8(1), count: 64 << 10)
        let zeros = Self.zstdZeros(8)
        let long = try server("zstd", zeros.prefix(6) + [0, 0, 8] + raw + zeros.dropFirst(6))
        #expect(try await fixture.fetch(try request(long)).body.count == raw.count + 8 << 20)
    }

    @Test("A body that shrinks well reaches a slow reader whole")
    func slowReader() async throws {
        let size = 32 << 20
        let body = Self.zstdZeros(32)
        let server = try server("zstd", body)
        let response = try await TransportFixture().send(try trusting(server))
        // All has arrived, and waits to be decoded.
        try await server.awaitConnections { $0[0].sent > body.count }
        var count = 0
        for try await chunk in try #require(response.decodedBody) {
            #expect(chunk.count <= 64 * 1024 && chunk.allSatisfy { $0 == 0 })
            count += chunk.count
            if count < 1 << 20 { await Task.yield() }
        }
        #expect(count == size)
    }
}
