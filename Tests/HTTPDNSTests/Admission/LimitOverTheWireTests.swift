// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

import HTTPDNSCurl
import ServerRig
import Testing

@testable import HTTPDNS

// `make test` runs it alone: its thousands of tasks would keep all others waiting for seconds.
@Suite(
    "Limits, over the wire",
    .enabled("needs its process for itself: HTTPDNS_TEST_ALONE=1") { ServerRig.hasProcessForItself }
)
struct LimitOverTheWireTests {
    private func configuration(_ port: UInt16, _ limit: Int) throws -> HTTPDNSClient.Configuration {
        var configuration = HTTPDNSClient.Configuration()
        configuration.connections.maximumPerHost = limit
        configuration.connections.maximumQueued = 100_000
        configuration.resolver.mappings = [try HTTPDNSMapping.Key("*.test"): .addresses(["127.0.0.1:\(port)"])]
        return configuration
    }

    @Test("A connection permit is held until the last byte of the body")
    func untilTheBody() async throws {
        let gate = Gate()
        let server = try RawServer { number in
            number == 0
                ? [
                    .readHead, .sendText("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhe"), .wait(gate),
                    .sendText("llo"), .serve("hello"),
                ] : [.serve("hello")]
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

    @Test("A response that is dropped unread returns its connection permit")
    func dropped() async throws {
        let server = try RawServer { number in
            number == 0
                ? [.readHead, .sendText("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhe"), .hang]
                : [.readHead, .respond("hello")]
        }
        let client = try await HTTPDNSClient(configuration: configuration(server.port, 1))
        _ = try await client.get("http://one.test/1")
        #expect(try await client.get("http://one.test/2").body.collect(upTo: .bytes(5)).count == 5)
        try await client.shutdown()
    }

    /// A client that is shut down leaves its queue only.
    @Test("The clients of a transport share one limit of connections")
    func tenants() async throws {
        let gate = Gate()
        let server = try RawServer(.repeatForever([.readHead, .wait(gate), .respond("hello")]))
        var shared = HTTPDNSClient.Configuration.Connections()
        shared.maximum = 2
        let transport = HTTPDNSLibcurlTransport(connections: shared)
        var own = try configuration(server.port, 1)
        own.connections.maximumPerHost = nil
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

    /// How calls of a storm ended.
    private struct Endings {
        var whole = 0
        var canceled = 0
        var other: [String] = []
        var all: Int { whole + canceled + other.count }
    }

    /// Calls, each of which is canceled: before it begins, in the queue, while it connects, waits or reads, or when it is
    /// over.
    private func cancelAll(_ total: Int, of client: HTTPDNSClient) async -> Endings {
        await withTaskGroup(of: Result<Int, any Error>.self, returning: Endings.self) { group in
            var endings = Endings()
            func note(_ result: Result<Int, any Error>?) {
                switch result {
                case .success(5)?: endings.whole += 1
                case .failure(is CancellationError)?: endings.canceled += 1
                case .some(let result): endings.other.append("\(result)")
                case nil: break
                }
            }
            for number in 0..<total {
                group.addTask {
                    let call = Task {
                        try await client.get("http://one.test/\(number)").body.collect(upTo: .bytes(5)).count
                    }
                    return await cancelAtRandom(call, number: number)
                }
                if number >= 64 { note(await group.next()) }
            }
            for await result in group { note(result) }
            return endings
        }
    }

    /// No connection too many is open.
    @Test("10,000 tasks canceled at random moments end and return their permits", arguments: [1, 2, 4])
    func storm(loops: Int) async throws {
        // Every third connection is slow in the middle of a body.
        let server = try RawServer { number in
            let slow: [RawServer.Step] = [
                .readHead, .sendText("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhe"), .pause(.milliseconds(2)),
                .sendText("llo"),
            ]
            return [.repeatForever(number % 3 == 2 ? slow : [.readHead, .respond("hello")])]
        }
        var settings = try configuration(server.port, 8)
        settings.connections.loops = .inTurn(loops)
        let client = try await HTTPDNSClient(configuration: settings)
        let endings = await cancelAll(10_000, of: client)
        print("measured: \(endings.whole) calls were over, \(endings.canceled) ended as canceled")
        #expect(endings.all == 10_000 && endings.other.isEmpty, "\(endings.other.prefix(3))")
        #expect(endings.whole > 0 && endings.canceled > 0, "the moments were not spread: \(endings)")
        let admission = try #require(client.pipeline.admissions.queues.first)
        // A transfer whose response was dropped ends on the loop.
        while admission.connections > 0, !Task.isCancelled { await Task.yield() }
        #expect(client.requestsWaiting == 0)
        for _ in 0..<20 { #expect(try await client.get("http://one.test/").body.collect(upTo: .bytes(5)).count == 5) }
        #expect(client.connectionPools.map(\.connections).reduce(0, +) <= 8 && client.sender.transfersInFlight == 0)
        try await client.shutdown()
        server.stop()
    }

    // Other suites in the process would be counted as well.
    @Test(
        "10,000 canceled tasks leave neither threads, descriptors nor memory behind",
        .enabled("needs its process for itself: HTTPDNS_TEST_ALONE=1") { ServerRig.hasProcessForItself }
    )
    func leaks() async throws {
        let sockets = try ProcessState.now().sockets
        // What a first storm brings along, such as the runtime's threads and the allocator's room, is there for the second.
        try await storm(loops: 2)
        let before = try await settled { $0.sockets == sockets }
        try await storm(loops: 2)
        let after = try await settled { $0.sockets == sockets && $0.descriptors == before.descriptors }
        let grown = after.residentBytes - before.residentBytes
        print("measured: \(grown) bytes, descriptors \(before.descriptors) and \(after.descriptors), \(after.threads)")
        #expect(before.sockets == sockets && after.sockets == sockets && after.descriptors == before.descriptors)
        // How many threads the runtime's pool has, and for how long, is the runtime's affair.
        #expect(after.ownThreads == before.ownThreads, "\(before.threads), then \(after.threads)")
        #expect(!after.threads.contains { $0.hasPrefix("httpdns") }, "\(after.threads)")
        #expect(grown < 16 << 20)
    }

    /// The process once the client's and the server's threads have ended and closed what they had, and ten looks have found
    /// the same; or as it is when that does not come.
    private func settled(_ isSettled: (ProcessState) -> Bool) async throws -> ProcessState {
        var alike = 0
        var descriptors = 0
        for _ in 0..<6000 where !Task.isCancelled {
            let state = try ProcessState.now()
            let isBusy = state.threads.contains { $0.hasPrefix("httpdns") || $0 == RawServer.threadName }
            // What is being closed may leave a mixture that has the right number for a moment.
            alike = !isBusy && isSettled(state) && (alike == 0 || state.descriptors == descriptors) ? alike + 1 : 0
            if alike == 10 { return state }
            descriptors = state.descriptors
            try await Task.sleep(for: .milliseconds(10))
        }
        return try ProcessState.now()
    }
}
