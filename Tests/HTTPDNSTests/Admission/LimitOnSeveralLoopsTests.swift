// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

import HTTPDNSCurl
import ServerRig
import Testing

@testable import HTTPDNS

/// Limits of connections while requests use several loops. Each request that may choose goes to the next loop, which is harder
/// than any distribution by load.
// `make test` runs it alone: its thousands of tasks would keep all others waiting for seconds.
@Suite(
    "Limits on several loops",
    .enabled("needs its process for itself: HTTPDNS_TEST_ALONE=1") { ServerRig.hasProcessForItself }
)
struct LimitOnSeveralLoopsTests {
    private func configuration(
        _ loops: Int,
        perHost: Int? = nil,
        total: Int? = nil
    ) throws -> HTTPDNSClient.Configuration {
        var configuration = HTTPDNSClient.Configuration()
        configuration.connections.loops = .inTurn(loops)
        (configuration.connections.maximumPerHost, configuration.connections.maximum) = (perHost, total)
        configuration.connections.maximumQueued = 100_000
        configuration.resolver.mappings = [try HTTPDNSMapping.Key("*.test"): .addresses(["127.0.0.1"])]
        return configuration
    }

    /// Sends requests to the server's ports in turn, 64 at a time.
    private func send(_ count: Int, to server: CountingServer, _ client: HTTPDNSClient) async throws {
        try await withThrowingTaskGroup(of: Void.self) { group in
            for number in 0..<count {
                let port = server.ports[number % server.ports.count]
                group.addTask {
                    let response = try await client.get("http://one.test:\(port)/\(number)")
                    #expect(try await response.body.collect(upTo: .bytes(5)).count == 5)
                }
                if number >= 64 { try await group.next() }
            }
            try await group.waitForAll()
        }
    }

    @Test("10,000 requests never have one connection too many", arguments: [1, 2, 4])
    func connections(loops: Int) async throws {
        let server = try CountingServer(ports: 2)
        let client = try await HTTPDNSClient(configuration: configuration(loops, perHost: 1, total: 2))
        try await send(10_000, to: server, client)
        let counts = server.counts
        #expect(counts.requests == 10_000 && counts.mostOpen <= 2 && counts.mostBusy <= 2, "\(counts)")
        for (port, counts) in server.countsByPort { #expect(counts.mostOpen == 1, "\(port): \(counts)") }
        #expect(counts.connections == 2, "kept connections are used whatever loop they are on: \(counts)")
        #expect(client.connectionPools.map(\.connections).reduce(0, +) == 2 && client.requestsWaiting == 0)
        try await client.shutdown()
    }

    /// Connections that no request uses are not counted, as with one loop.
    @Test("A limit for all hosts holds for the connections in use", arguments: [1, 2, 4])
    func total(loops: Int) async throws {
        let server = try CountingServer(ports: 8)
        let client = try await HTTPDNSClient(configuration: configuration(loops, perHost: 1, total: 2))
        try await send(10_000, to: server, client)
        let counts = server.counts
        #expect(counts.requests == 10_000 && counts.mostBusy <= 2 && counts.mostOpen <= 8, "\(counts)")
        for (port, counts) in server.countsByPort { #expect(counts.mostOpen == 1, "\(port): \(counts)") }
        try await client.shutdown()
    }

    @Test("A limit for a host above one leaves the choice of a loop, and holds", arguments: [1, 2, 4])
    func several(loops: Int) async throws {
        let server = try CountingServer(ports: 1, delay: .microseconds(200))
        let client = try await HTTPDNSClient(configuration: configuration(loops, perHost: 3))
        try await send(3_000, to: server, client)
        #expect(server.counts.mostOpen <= 3 && server.counts.connections <= 3, "\(server.counts)")
        try await client.shutdown()
    }

    @Test("A transport's limit holds for its clients on several loops", arguments: [2, 4])
    func tenants(loops: Int) async throws {
        let server = try CountingServer(ports: 1)
        let settings = try configuration(loops, perHost: 2)
        let transport = HTTPDNSLibcurlTransport(connections: settings.connections)
        var own = settings
        own.connections.maximumPerHost = 1
        let clients = [
            try await HTTPDNSClient(configuration: own, on: transport),
            try await HTTPDNSClient(configuration: own, on: transport),
            try await HTTPDNSClient(configuration: own, on: transport),
        ]
        try await withThrowingTaskGroup(of: Void.self) { group in
            for client in clients { group.addTask { try await send(1_000, to: server, client) } }
            try await group.waitForAll()
        }
        #expect(server.counts.requests == 3_000 && server.counts.mostOpen <= 2, "\(server.counts)")
        for client in clients { try await client.shutdown() }
        #expect(transport.usage.loops == 0)
    }

    @Test("Without limits all loops are used, and a shutdown ends all of them", arguments: [2, 4])
    func unlimited(loops: Int) async throws {
        let server = try CountingServer(ports: 1)
        let client = try await HTTPDNSClient(configuration: configuration(loops))
        for number in 0..<(4 * loops) {
            let response = try await client.get("http://one.test:\(server.ports[0])/\(number)")
            _ = try await response.body.collect(upTo: .bytes(5))
        }
        #expect(server.counts.connections == loops && server.counts.mostBusy == 1, "\(server.counts)")
        #expect(client.connectionPools.map(\.connections) == [loops])
        #expect(client.connectionPools.map(\.requests) == [4 * loops])
        try await client.shutdown()
        #expect(client.sender.transfersInFlight == 0)
        let error = await clientError { try await client.get("http://one.test:\(server.ports[0])/") }
        #expect(error?.code == .shutDown)
    }
}

struct LoopsTests {
    @Test(
        "One to 64 loops are accepted, and no other number",
        arguments: [(0, false), (1, true), (64, true), (65, false)]
    )
    func range(count: Int, isValid: Bool) {
        var configuration = HTTPDNSClient.Configuration()
        configuration.connections.loops = .count(count)
        do {
            try configuration.connections.validate()
            #expect(isValid)
        } catch {
            #expect(!isValid && error.code == .configuration && error.message == "connections.loops is \(count)")
        }
    }

    @Test("By default there is a loop for each usable core, at most four")
    func automatic() {
        let loops = HTTPDNSClient.Configuration.Connections().loops
        #expect(loops == .automatic && loops.description == "automatic")
        #expect(loops.count == min(4, ProcessorCores.usable) && ProcessorCores.usable >= 1)
        let three: HTTPDNSClient.Configuration.Connections.Loops = 3
        #expect(three == .count(3) && three.description == "3" && three != .automatic)
    }
}
