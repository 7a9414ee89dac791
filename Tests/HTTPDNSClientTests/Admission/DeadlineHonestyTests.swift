import CurlTransport
import HTTPDNS
import HTTPDNSPrimitives
import ServerRig
import Testing

@testable import HTTPDNSClient

/// A call with a total of 300 ms, and a stall in each phase: it ends then, and its error names the phase.
@Suite("Deadline honesty", .timeLimit(.minutes(2)))
struct DeadlineHonestyTests {
    private static let total = Duration.milliseconds(300)

    private func client(
        _ endpoint: String,
        _ change: (inout HTTPDNSClient.Configuration) throws -> Void = { _ in }
    ) async throws -> HTTPDNSClient {
        var configuration = HTTPDNSClient.Configuration()
        configuration.resolver.mappings = [try MappingKey("one.test"): .addresses(["\(endpoint)"])]
        configuration.resolver.timeLimit = .seconds(60)
        configuration.resolver.attemptLimit = .seconds(60)
        configuration.timeouts.connect = .seconds(60)
        configuration.timeouts.tls = .seconds(60)
        configuration.timeouts.firstByte = .seconds(60)
        configuration.timeouts.idle = .seconds(60)
        configuration.timeouts.total = Self.total
        try change(&configuration)
        return try await HTTPDNSClient(configuration: configuration)
    }

    private func expectHonest(
        _ client: HTTPDNSClient,
        _ stage: HTTPDNSClientError.Stage,
        mayHaveBeenSent: Bool = false,
        _ call: () async throws -> some Any
    ) async throws {
        let error = try #require(await clientError(call))
        // All other limits are 60 s: an error that names this one was not theirs, however busy the machine was.
        #expect(error.code == .timedOut && error.stage == stage && error.isCallDeadline, "\(error)")
        #expect(error.limit == Self.total && error.requestMayHaveBeenSent == mayHaveBeenSent, "\(error)")
        #expect(error.elapsed >= Self.total, "\(error)")
        try await client.shutdown()
    }

    @Test("resolve: a provider that says nothing")
    func resolve() async throws {
        let server = try RawServer(.readHead, .hang)
        let client = try await client("192.0.2.1") { configuration in
            let url = "http://127.0.0.1:\(server.port)/dns-query"
            configuration.resolver.providers = [try DoHProvider(.init(name: "silent", url: url))]
            configuration.resolver.routes = [Route(.any, .providers(["silent"], fallback: .none))]
        }
        try await expectHonest(client, .resolve) { try await client.get("http://two.test/") }
    }

    @Test("connect: an address where connecting neither works nor fails")
    func connect() async throws {
        let hole = try BlackHole()
        let client = try await client("\(hole.address):\(hole.port)")
        try await expectHonest(client, .connect) { try await client.get("http://one.test/") }
    }

    @Test("tls: a server that is silent in the handshake")
    func tls() async throws {
        let server = try RawServer(.hang)
        let client = try await client("127.0.0.1:\(server.port)")
        try await expectHonest(client, .tls) { try await client.get("https://one.test/") }
    }

    @Test("send: a server that takes no bytes")
    func send() async throws {
        let server = try RawServer(.hangWithoutReading)
        let client = try await client("127.0.0.1:\(server.port)")
        let body = RequestBody.bytes(Array(repeating: 7, count: 64 << 20))
        try await expectHonest(client, .send, mayHaveBeenSent: true) {
            try await client.post("http://one.test/", body: body)
        }
    }

    @Test("first byte: a server that does not answer")
    func firstByte() async throws {
        let server = try RawServer(.readHead, .hang)
        let client = try await client("127.0.0.1:\(server.port)")
        try await expectHonest(client, .firstByte, mayHaveBeenSent: true) { try await client.get("http://one.test/") }
    }

    @Test("body: a server that stops in the middle")
    func body() async throws {
        let server = try RawServer(.readHead, .sendText("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhello"), .hang)
        let client = try await client("127.0.0.1:\(server.port)")
        try await expectHonest(client, .body, mayHaveBeenSent: true) {
            try await client.get("http://one.test/").body.collect(upTo: .bytes(9))
        }
    }

    @Test("queue: 1,000 requests behind a limit of 4, which a silent server takes up")
    func queue() async throws {
        let server = try RawServer(.readHead, .hang)
        let client = try await client("127.0.0.1:\(server.port)") { $0.connections.perHost = 4 }
        let admission = try #require(client.pipeline.admissions.first)
        let holders = (0..<4).map { _ in Task { try await client.get("http://one.test/", deadline: .seconds(120)) } }
        while admission.connections < 4, !Task.isCancelled { await Task.yield() }
        let errors = await withTaskGroup(of: HTTPDNSClientError?.self) { tasks in
            for _ in 0..<1000 {
                tasks.addTask { await clientError { try await client.get("http://one.test/") } }
            }
            return await tasks.reduce(into: [HTTPDNSClientError?]()) { $0.append($1) }
        }
        let honest = errors.compactMap(\.self).filter {
            $0.code == .timedOut && $0.stage == .queue && $0.isCallDeadline && $0.limit == Self.total
                && !$0.requestMayHaveBeenSent && $0.elapsed >= Self.total
        }
        #expect(errors.count == 1000 && honest.count == 1000)
        // The four in front, who have two minutes, have not moved: no place became free for any of them.
        #expect(client.requestsWaiting == 0 && admission.connections == 4 && server.connections.count == 4)
        for holder in holders { holder.cancel() }
        for holder in holders { await #expect(throws: CancellationError.self) { try await holder.value } }
        while admission.connections > 0, !Task.isCancelled { await Task.yield() }
        #expect(server.connections.count == 4)
        try await client.shutdown()
    }
}
