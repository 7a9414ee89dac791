// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

import Foundation
import HTTPDNSPrimitives
import HTTPTypes
import ServerRig
import Testing

@testable import HTTPDNSCurl

/// Bodies in gzip (RFC 1952) and deflate that are not one stream with one end. One after the other: hundreds of
/// servers at once would take thousands of descriptors.
@Suite("Inflated bodies", .serialized)
struct InflatedBodyTests {
    /// How the server says where the body ends.
    enum Framing: CaseIterable {
        case length, close
        /// Each byte by itself, so that libcurl hands over each by itself.
        case bytewise

        func answer(_ coding: String, _ body: [UInt8]) -> [UInt8] {
            let head = "HTTP/1.1 200 OK\r\nContent-Encoding: \(coding)\r\n"
            return switch self {
            case .length: Array("\(head)Content-Length: \(body.count)\r\n\r\n".utf8) + body
            case .close: Array("\(head)Connection: close\r\n\r\n".utf8) + body
            case .bytewise:
                Array("\(head)Transfer-Encoding: chunked\r\n\r\n".utf8)
                    + body.flatMap { Array("1\r\n".utf8) + [$0] + Array("\r\n".utf8) } + Array("0\r\n\r\n".utf8)
            }
        }
    }

    private static let text = "hello"
    /// `text` by gzip, by zlib and without zlib's head and end.
    private static let gzip = [UInt8](hexadecimal: "1f8b0800000000000003cb48cdc9c9070086a6103605000000")
    private static let zlib = [UInt8](hexadecimal: "789ccb48cdc9c90700062c0215")
    private static let raw = [UInt8](hexadecimal: "cb48cdc9c90700")

    /// Each beginning of a body.
    private static let beginnings: [(String, [UInt8])] = [
        ("gzip", gzip), ("deflate", zlib), ("deflate", raw), ("gzip", gzip + gzip),
    ].flatMap { coding, body in
        (1..<body.count).filter { $0 != gzip.count }.map { (coding, Array(body.prefix($0))) }
    }

    private func answer(_ framing: Framing, _ coding: String, _ body: [UInt8]) throws -> (RawServer, TransferRequest) {
        let server = try RawServer(.readHead, .send(framing.answer(coding, body)))
        return (server, try TransportFixture.request(to: server))
    }

    /// Deflate may lack its head, or that alone.
    @Test(
        "Several gzip members are one body, and zeros behind them are ignored",
        arguments: [
            ("gzip", gzip, text), ("gzip", gzip + gzip, text + text),
            ("x-gzip", gzip + gzip + gzip, text + text + text),
            ("gzip", gzip + [0, 0, 0], text), ("gzip", gzip + [0, 0] + gzip + [0], text + text),
            ("deflate", zlib, text), ("deflate", raw, text), ("deflate", raw + zlib.suffix(4), text), ("gzip", [], ""),
            ("deflate", [], ""),
        ] as [(String, [UInt8], String)],
        Framing.allCases
    )
    func whole(_ it: (coding: String, body: [UInt8], text: String), framing: Framing) async throws {
        let (server, request) = try answer(framing, it.coding, it.body)
        let (response, body) = try await TransportFixture().fetch(request)
        #expect(String(decoding: body, as: UTF8.self) == it.text)
        #expect(response.head.headerFields[.contentEncoding] == it.coding)
        withExtendedLifetime(server) {}
    }

    @Test(
        "A coded body that ends in the middle is not taken for whole",
        arguments: beginnings,
        Framing.allCases
    )
    func cutShort(_ it: (coding: String, body: [UInt8]), framing: Framing) async throws {
        let (server, request) = try answer(framing, it.coding, it.body)
        let failure = try #require(await TransportFixture().failure(of: request))
        #expect(failure.code == .undecodable && failure.phase == .body && failure.requestMayHaveBeenSent, "\(failure)")
        #expect(failure.message.contains("ends in the middle"), "\(failure)")
        withExtendedLifetime(server) {}
    }

    @Test(
        "Bytes after the end and a wrong checksum are decoding errors",
        arguments: [
            ("gzip", gzip + Array("garbage".utf8)), ("gzip", gzip + [0] + Array("garbage".utf8)),
            ("deflate", zlib + [1]), ("deflate", raw + [1, 2, 3, 4, 5]),
            ("gzip", gzip.dropLast(8) + [1, 2, 3, 4, 5, 0, 0, 0]),
            ("deflate", zlib.dropLast() + [0]),
            ("br", [0x0b, 0x02, 0x80] + Array(text.utf8) + [0x03] + Array("xx".utf8)),
        ] as [(String, [UInt8])],
        Framing.allCases
    )
    func broken(_ it: (coding: String, body: [UInt8]), framing: Framing) async throws {
        let (server, request) = try answer(framing, it.coding, it.body)
        let failure = try #require(await TransportFixture().failure(of: request))
        #expect(failure.code == .undecodable && failure.phase == .body, "\(failure.code): \(failure)")
        withExtendedLifetime(server) {}
    }

    private static let middles = ContentDecoderTests.chains.flatMap { chain in
        [1, 2, 10, 100, 400, -9, -5, -4, -2, -1].map { (chain, $0) }
    }

    /// The framing says that the body is whole: only the decoder can notice. Negative numbers count from the end.
    @Test(
        "A body in any coding that ends in the middle is not taken for whole",
        arguments: middles,
        [Framing.length, .bytewise]
    )
    func cutShortInAnyCoding(_ it: (codings: String, count: Int), framing: Framing) async throws {
        let whole = try ContentEncoder.encoded(ContentEncoder.text(4096), it.codings)
        let body = Array(it.count < 0 ? whole.dropLast(-it.count) : whole.prefix(it.count))
        let (server, request) = try answer(framing, it.codings.replacing("raw", with: "deflate"), body)
        let failure = try #require(await TransportFixture().failure(of: request))
        #expect(failure.code == .undecodable && failure.message.contains("ends in the middle"), "\(failure)")
        withExtendedLifetime(server) {}
    }

    /// Comments of gzip mean nothing: nothing would ever be decoded.
    @Test("A body without end whose bytes mean nothing ends at the limit too")
    func endless() async throws {
        let head: [UInt8] = [0x1f, 0x8b, 8, 0x10, 0, 0, 0, 0, 0, 3]
        let comment = Array(repeating: UInt8(ascii: "a"), count: 100_000)
        let server = try RawServer(
            .readHead,
            .sendText("HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nConnection: close\r\n\r\n"),
            .send(head),
            .repeatForever([.send(comment)])
        )
        let request = try TransportFixture.request(to: server) { $0.maximumResponseBytes = 1000 }
        let failure = try #require(await TransportFixture().failure(of: request))
        #expect(failure.code == .responseTooLarge && failure.message.contains("1000 bytes"), "\(failure)")
    }

    @Test("A body that does not shrink may be as long as the limit")
    func stored() async throws {
        // RFC 1951 section 3.2.4: one stored block is five bytes longer than its content.
        let text = (0..<1000).map { UInt8(truncatingIfNeeded: $0 &* 167) }
        let body = [1, 0xe8, 0x03, 0x17, 0xfc] + text
        for limit in [1000, 999] {
            let (server, plain) = try answer(.length, "deflate", body)
            var request = plain
            request.limits.maximumResponseBytes = limit
            if limit == 1000 {
                #expect(try await TransportFixture().fetch(request).body == text)
            } else {
                #expect(await TransportFixture().failure(of: request)?.code == .responseTooLarge)
            }
            withExtendedLifetime(server) {}
        }
    }

    @Test(
        "A response without a body has nothing to decode, whatever coding it names",
        arguments: [
            (HTTPRequest.Method.head, "200 OK", "Content-Length: 25\r\n"), (.get, "204 No Content", ""),
            (.get, "304 Not Modified", "Content-Length: 25\r\n"), (.get, "200 OK", "Content-Length: 0\r\n"),
        ],
        ["gzip", "deflate", "br", "zstd", "gzip, br"]
    )
    func noBody(_ it: (method: HTTPRequest.Method, status: String, length: String), coding: String) async throws {
        let head = "HTTP/1.1 \(it.status)\r\nContent-Encoding: \(coding)\r\n\(it.length)\r\n"
        let server = try RawServer(.repeatForever([.readHead, .sendText(head)]))
        let fixture = TransportFixture()
        var request = try TransportFixture.request(to: server)
        request.method = it.method
        for _ in 0..<2 {
            let (response, body) = try await fixture.fetch(request)
            #expect(body.isEmpty && response.head.headerFields[.contentEncoding] == coding)
        }
        #expect(server.connections.count == 1)
    }

    @Test("A kept connection carries coded, plain and undecoded bodies in turn")
    func alternating() async throws {
        func answer(_ coding: String?, _ body: [UInt8]) -> RawServer.Step {
            let field = coding.map { "Content-Encoding: \($0)\r\n" } ?? ""
            return .send(Array("HTTP/1.1 200 OK\r\nContent-Length: \(body.count)\r\n\(field)\r\n".utf8) + body)
        }
        let brotli = [0x0b, 0x02, 0x80] + Array(Self.text.utf8) + [0x03]
        let answers = [
            answer("gzip", Self.gzip), answer("br", brotli), answer("GZIP", Self.gzip), answer(nil, Self.gzip),
            answer("deflate", Self.zlib), answer("gzip", Self.gzip), answer("br", brotli),
        ]
        let server = try RawServer { _ in answers.flatMap { [.readHead, $0] } + [.hang] }
        let fixture = TransportFixture()
        var request = try TransportFixture.request(to: server)
        for number in answers.indices {
            request.decodes = number != 5
            let isPlain = number == 3 || number == 5
            #expect(try await fixture.fetch(request).body == (isPlain ? Self.gzip : Array(Self.text.utf8)), "\(number)")
        }
        #expect(server.connections.count == 1)
    }

    @Test("A long body reaches a slow reader whole")
    func slowReader() async throws {
        let size = 32 << 20
        let made = try await Command("bash", ["-c", "head -c \(size) /dev/zero | gzip -9 | base64 -w0"])
            .run(within: .seconds(60))
        let coded = try Array(#require(Data(base64Encoded: made.output)))
        let (server, plain) = try answer(.length, "gzip", coded)
        var request = plain
        // Without a limit of its own it would pass for a bomb.
        request.limits.maximumResponseBytes = size
        let response = try await TransportFixture().send(request)
        try await server.awaitConnections { $0[0].sent > coded.count }
        var count = 0
        for try await chunk in try #require(response.decodedBody) {
            #expect(chunk.count <= 64 * 1024 && chunk.allSatisfy { $0 == 0 })
            count += chunk.count
            if count < 1 << 20 { await Task.yield() }
        }
        #expect(count == size && coded.count < 100_000)
    }
}
