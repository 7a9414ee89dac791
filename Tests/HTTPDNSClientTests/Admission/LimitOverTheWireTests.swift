import CurlTransport
import HTTPDNS
import HTTPDNSPrimitives
import ServerRig
import Testing

@testable import HTTPDNSClient

@Suite("Limits, over the wire", .timeLimit(.minutes(3)))
struct LimitOverTheWireTests {
    private static let ok = "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello"

    private func configuration(_ port: UInt16, _ limit: Int) throws -> HTTPDNSClient.Configuration {
        var configuration = HTTPDNSClient.Configuration()
        configuration.connections.perHost = limit
        configuration.connections.maximumQueued = 100_000
        configuration.resolver.mappings = [try MappingKey("*.test"): .addresses(["127.0.0.1:\(port)"])]
        return configuration
    }

    @Test("a place is taken until the last byte of the body, not until the head")
    func untilTheBody() async throws {
        let gate = Gate()
        let server = try RawServer { number in
            number == 0
                ? [
                    .readHead, .sendText("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhe"), .wait(gate),
                    .sendText("llo"), .repeatForever([.readHead, .sendText(Self.ok)]),
                ] : [.repeatForever([.readHead, .sendText(Self.ok)])]
        }
        let client = try await HTTPDNSClient(configuration: configuration(server.port, 1))
        let first = try await client.get("http://one.test/1")
        let second = Task { try await client.get("http://one.test/2").body.collect(upTo: .bytes(5)) }
        while client.requestsWaiting == 0, !Task.isCancelled { await Task.yield() }
        gate.open()
        #expect(try await first.body.collect(upTo: .bytes(5)).count == 5)
        #expect(try await second.value.count == 5)
        #expect(server.connections.count == 1, "the second went over the first one's connection")
        try await client.shutdown()
    }

    @Test("a response that is dropped unread gives its place back")
    func dropped() async throws {
        let server = try RawServer { number in
            number == 0
                ? [.readHead, .sendText("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhe"), .hang]
                : [.readHead, .sendText(Self.ok)]
        }
        let client = try await HTTPDNSClient(configuration: configuration(server.port, 1))
        _ = try await client.get("http://one.test/1")
        #expect(try await client.get("http://one.test/2").body.collect(upTo: .bytes(5)).count == 5)
        try await client.shutdown()
    }

    @Test("the clients of a transport have one budget together, and one that is shut down leaves its queue only")
    func tenants() async throws {
        let gate = Gate()
        let server = try RawServer(.repeatForever([.readHead, .wait(gate), .sendText(Self.ok)]))
        var shared = HTTPDNSClient.Configuration.Connections()
        shared.total = 2
        let transport = HTTPDNSTransport(connections: shared)
        var own = try configuration(server.port, 1)
        own.connections.perHost = nil
        let one = try await HTTPDNSClient(configuration: own, on: transport)
        let two = try await HTTPDNSClient(configuration: own, on: transport)
        let first = (0..<2).map { number in Task { try await one.get("http://a\(number).test/") } }
        while transport.admission?.connections != 2, !Task.isCancelled { await Task.yield() }
        let ended = Task { await clientError { try await one.get("http://b.test/") } }
        while one.requestsWaiting != 1, !Task.isCancelled { await Task.yield() }
        let waiting = Task { try await two.get("http://c.test/").body.collect(upTo: .bytes(5)) }
        while two.requestsWaiting != 2, !Task.isCancelled { await Task.yield() }
        try await one.shutdown()
        #expect(await ended.value?.code == .shutDown)
        for call in first { #expect(await clientError { try await call.value }?.code == .shutDown) }
        gate.open()
        #expect(try await waiting.value.count == 5)
        try await two.shutdown()
        #expect(transport.admission?.connections == 0 && transport.admission?.waiting == 0)
    }

    @Test(
        "10,000 tasks cancelled at random moments: each ends, every place is there again, no connection too many is open"
    )
    func storm() async throws {
        let server = try RawServer(.repeatForever([.readHead, .sendText(Self.ok)]))
        let client = try await HTTPDNSClient(configuration: configuration(server.port, 8))
        let total = 10_000
        var ended = 0
        await withTaskGroup(of: Void.self) { group in
            for number in 0..<total {
                group.addTask {
                    let call = Task {
                        try? await client.get("http://one.test/\(number)").body.collect(upTo: .bytes(5))
                    }
                    for _ in 0..<Int.random(in: 0..<12) { await Task.yield() }
                    if number % 4 != 0 { call.cancel() }
                    _ = await call.value
                }
                if number >= 64, await group.next() != nil { ended += 1 }
            }
            for await _ in group { ended += 1 }
        }
        #expect(ended == total)
        let admission = try #require(client.pipeline.admissions.first)
        // A transfer whose response was dropped ends on the loop.
        while admission.connections > 0, !Task.isCancelled { await Task.yield() }
        #expect(client.requestsWaiting == 0)
        for _ in 0..<20 { #expect(try await client.get("http://one.test/").body.collect(upTo: .bytes(5)).count == 5) }
        #expect(client.connectionPools.map(\.connections).reduce(0, +) <= 8 && client.sender.transfersInFlight == 0)
        try await client.shutdown()
    }

    // Other suites in the process would be counted as well.
    @Test(
        "10,000 cancelled tasks leave neither threads nor descriptors behind, nor memory",
        .enabled("needs the machine for itself: HTTPDNS_TEST_ALONE=1") { ServerRig.hasMachineForItself }
    )
    func leaks() async throws {
        let before = try ProcessState.now()
        try await storm()
        let after = try ProcessState.now()
        print(
            "measured: \(after.residentBytes - before.residentBytes) bytes, \(after.descriptors - before.descriptors) descriptors"
        )
        #expect(after.threads.filter { $0.hasPrefix("httpdns") }.isEmpty)
        #expect(
            after.descriptors <= before.descriptors + 16,
            "the server's side of the connections closes in its own time"
        )
        #expect(after.residentBytes - before.residentBytes < 10 * 16 << 20)
    }
}
