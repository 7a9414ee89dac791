// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

import HTTPDNSPrimitives
import HTTPTypes
import ServerRig
import Testing

@testable import HTTPDNSCurl

/// Requests that follow each other on one easy handle, since none begins before the last one has ended.
struct ReusedHandleTests {
    private static let sequences = 8
    private static let requestsPerSequence = 24

    @Test("A reused handle sends the same bytes as a new one", arguments: [false, true])
    func sameBytes(closes: Bool) async throws {
        var generator = SystemRandomNumberGenerator()
        for _ in 0..<ReusedHandleTests.sequences {
            let seed = generator.next()
            var random = SeededGenerator(seed)
            let sequence = (0..<ReusedHandleTests.requestsPerSequence).map { number in
                PlannedRequest(number: number, mayBeLost: closes, using: &random)
            }
            try await compare(sequence, closes: closes, "seed \(seed)")
        }
    }

    /// Sends the requests on one transport, then each on a transport of its own, and compares the bytes that the servers got.
    private func compare(_ sequence: [PlannedRequest], closes: Bool, _ comment: Comment) async throws {
        var groups: [PlannedRequest.Group: [PlannedRequest]] = [:]
        for planned in sequence { groups[planned.group, default: []].append(planned) }
        var servers: [PlannedRequest.Group: PlannedServer] = [:]
        for (group, requests) in groups {
            servers[group] = try PlannedServer(requests, closes: closes || group.versions == .http10Only)
        }
        let fixture = TransportFixture()
        for planned in sequence {
            let server = try #require(servers[planned.group])
            let request = try planned.request(to: server)
            if planned.isLost {
                await #expect(throws: TransferFailure.self, comment) { try await fixture.fetch(request) }
            } else {
                try await fixture.fetch(request)
            }
        }
        await fixture.transport.shutdown()
        for (group, requests) in groups {
            let server = try #require(servers[group])
            var expected: [String] = []
            for planned in requests { expected.append(planned.isLost ? "" : try await planned.textOfNewHandle()) }
            if server.closes {
                let texts = zip(server.texts, requests).map { $1.isLost ? "" : $0 }
                #expect(texts == expected, comment)
            } else {
                #expect(server.texts == [expected.joined()], comment)
            }
        }
    }
}

/// A request with properties that need options of the easy handle.
private struct PlannedRequest {
    enum Path: CaseIterable {
        case direct, racing, proxy, unixSocket
    }

    enum Body: CaseIterable {
        case none, bytes, stream, chunks
    }

    /// The requests of one group share connections.
    struct Group: Hashable {
        var path: Path
        var versions: HTTPDNSTransfer.AllowedVersions
    }

    private static let methods: [HTTPRequest.Method] = [
        .get, .get, .head, .post, .post, .put, .delete, .patch, .options,
    ]

    let number: Int
    let group: Group
    let method: HTTPRequest.Method
    let body: Body
    let length: Int
    let decodes: Bool
    let isHedged: Bool
    /// Whether the server ends the connection without a response.
    let isLost: Bool

    init(number: Int, mayBeLost: Bool, using random: inout SeededGenerator) {
        func pick<Value>(_ values: [Value]) -> Value { values[Int(random.next() % UInt64(values.count))] }
        self.number = number
        let path = pick([.direct, .direct, .direct] + Path.allCases)
        group = Group(path: path, versions: pick([.automatic, .automatic, .http1Only, .http10Only]))
        method = pick(PlannedRequest.methods)
        let takesBody = method != .get && method != .head && method != .options
        let body: Body = takesBody ? pick(Body.allCases) : .none
        // HTTP/1.0 has no chunks.
        self.body = body == .chunks && group.versions == .http10Only ? .stream : body
        length = pick([0, 1, 5, 600, 20_000])
        decodes = pick([true, true, false])
        isHedged = pick([true, false, false])
        isLost = mayBeLost && pick([true, false, false, false, false])
    }

    /// The number of bytes after the head.
    private var bodyBytes: Int {
        switch body {
        case .none: 0
        case .bytes, .stream: length
        case .chunks: length == 0 ? 5 : String(length, radix: 16).utf8.count + 2 + length + 2 + 5
        }
    }

    /// The server's steps.
    func steps(closes: Bool) -> [RawServer.Step] {
        if isLost { return [.readHead, .reset] }
        let fields = closes ? "Connection: close\r\n" : ""
        let text = method == .head ? "" : "ok"
        return [.readHead] + (bodyBytes > 0 ? [.read(bodyBytes)] : [])
            + [.sendText("HTTP/1.1 200 OK\r\n\(fields)Content-Length: 2\r\n\r\n\(text)")]
    }

    func request(to server: PlannedServer) throws -> TransferRequest {
        let loopback = HTTPDNSAddress(v4: 127, 0, 0, 1)
        let endpoint = HTTPDNSEndpoint(address: loopback, port: server.port)
        var request = TransferRequest(
            method: method,
            url: try ParsedURL("http://one.test/\(number)"),
            headerFields: number.isMultiple(of: 3) ? [:] : [.userAgent: "\(number)"],
            endpoints: [endpoint],
            limits: .patient,
            versions: group.versions
        )
        request.decodes = decodes
        if isHedged { request.hedgeAfter = .seconds(60) }
        let bytes = [UInt8](repeating: UInt8(ascii: "b"), count: length)
        switch body {
        case .none: break
        case .bytes: request.body = .bytes(bytes)
        case .stream, .chunks:
            let pieces = bytes.isEmpty ? [] : [bytes]
            let stream = AsyncThrowingStream<[UInt8], any Error> { feed in
                for piece in pieces { feed.yield(piece) }
                feed.finish()
            }
            request.body = .stream(length: body == .chunks ? nil : Int64(length), stream)
        }
        switch group.path {
        case .direct: break
        case .racing:
            // Nothing listens on port 1.
            request.endpoints.insert(HTTPDNSEndpoint(address: loopback, port: 1), at: 0)
        case .proxy:
            request.egressPath = EgressPath(
                proxy: EgressProxy(kind: .http, host: .address(loopback), port: server.port, addresses: [loopback])
            )
        case .unixSocket:
            request.egressPath = EgressPath(unixSocket: server.address)
        }
        return request
    }

    /// Sends the request on a transport of its own, and returns what the server got.
    func textOfNewHandle() async throws -> String {
        let server = try PlannedServer([self], closes: true)
        let fixture = TransportFixture()
        try await fixture.fetch(request(to: server))
        await fixture.transport.shutdown()
        return server.texts.joined()
    }
}

/// The server of the requests of one group.
private final class PlannedServer: Sendable {
    /// Whether each request has a connection of its own.
    let closes: Bool
    private let server: RawServer
    /// The folder of a Unix socket.
    private let folder: TemporaryFolder?

    var address: String { server.address }
    var port: UInt16 { server.port }
    /// What was received on each connection.
    var texts: [String] { server.connections.map(\.text) }

    init(_ requests: [PlannedRequest], closes: Bool) throws {
        self.closes = closes
        let steps = requests.map { $0.steps(closes: closes) }
        let script: @Sendable (Int) -> [RawServer.Step] = { number in
            guard closes else { return steps.flatMap { $0 } + [.hang] }
            return number < steps.count ? steps[number] : []
        }
        if requests.first?.group.path == .unixSocket {
            let folder = try TemporaryFolder()
            self.folder = folder
            server = try RawServer(unixSocket: folder.path("s"), script: script)
        } else {
            folder = nil
            server = try RawServer(script: script)
        }
    }
}

/// SplitMix64: a sequence is known by its seed.
private struct SeededGenerator: RandomNumberGenerator {
    private var state: UInt64

    init(_ seed: UInt64) { state = seed }

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var value = state
        value = (value ^ (value >> 30)) &* 0xBF58_476D_1CE4_E5B9
        value = (value ^ (value >> 27)) &* 0x94D0_49BB_1331_11EB
        return value ^ (value >> 31)
    }
}
