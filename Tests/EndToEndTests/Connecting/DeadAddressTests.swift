// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

import Foundation
import HTTPDNS
import ServerRig
import Testing

/// Through the client: addresses that are dead, and what they cost.
struct DeadAddressTests {
    /// The default delay after which the next address is tried, up to the connect limit.
    private static let delay = Duration.milliseconds(250)..<Duration.seconds(60)

    private func settings(_ targets: [String]) throws -> HTTPDNSClient.Configuration {
        var configuration = HTTPDNSClient.Configuration()
        configuration.resolver.mappings[try HTTPDNSMapping.Key("one.test")] = .addresses(targets)
        configuration.timeouts.connect = .seconds(60)
        configuration.timeouts.total = .seconds(120)
        // Else the kernel would find a dead connection too, after half a minute.
        configuration.connections.tcpUserTimeout = nil
        return configuration
    }

    private func server(_ address: String = "127.0.0.2") throws -> RawServer {
        try RawServer(address: address, .repeatForever([.readHead, .read(1), .respond("ok")]))
    }

    /// The answer comes after the stagger, and the next 1,000 requests do not
    /// wait.
    @Test("A cold POST past a black-holed first address is answered and sent once")
    func blackHoleFirst() async throws {
        let hole = try BlackHole()
        let good = try server()
        let configuration = try settings(["\(hole.address):\(hole.port)", "\(good.address):\(good.port)"])
        try await withClient(configuration) { client in
            let first = try await client.post("http://one.test/", body: .text("x"))
            try await first.text()
            #expect(first.exchanges.last?.remote.port == good.port)
            // No time limit has passed, which would be a failed attempt.
            #expect(first.exchanges.last?.timings.race.map { Self.delay ~= $0 } == true)
            #expect(first.exchanges.last?.timings.total.map { $0 < .seconds(60) } == true)
            #expect(first.exchanges.last?.failedAttempts.isEmpty == true)
            #expect(good.count(of: "POST") == 1)
            let began = ContinuousClock.now
            for _ in 0..<1_000 {
                let response = try await client.post("http://one.test/", body: .text("x"))
                try await response.text()
                let exchange = try #require(response.exchanges.last)
                #expect(exchange.remote.port == good.port && exchange.timings.race == nil && exchange.reusedConnection)
            }
            // A delay for each would be 250 s.
            #expect(began.duration(to: .now) < .seconds(250))
        }
        #expect(good.connections.count == 1)
        #expect(good.connections[0].text.ranges(of: "POST").count == 1_001)
        withExtendedLifetime(hole) {}
    }

    /// Reset, reset, good: the good one serves, and the next ten requests skip the
    /// others.
    @Test("Addresses that refuse are in the exchange, and later requests skip them")
    func resets() async throws {
        let bad = try (3...4).map { try RawServer(address: "127.0.0.\($0)", .hang) }
        // Refused: RST is the answer to SYN.
        for server in bad { try await server.refuse() }
        let good = try server()
        let configuration = try settings((bad + [good]).map { "\($0.address):\($0.port)" })
        try await withClient(configuration) { client in
            let first = try await client.post("http://one.test/", body: .text("x"))
            try await first.text()
            let failed = try #require(first.exchanges.last).failedAttempts
            #expect(failed.map(\.endpoint.port) == bad.map(\.port))
            #expect(failed.map(\.phase) == [.connect, .connect])
            // A refusal is not waited for: the connect limit is 60 s.
            #expect(first.exchanges.last?.timings.total.map { $0 < .seconds(60) } == true)
            #expect(failed.map(\.failure) == ["Connection refused", "Connection refused"])
            for _ in 0..<10 {
                let response = try await client.post("http://one.test/", body: .text("x"))
                try await response.text()
                #expect(response.exchanges.last?.failedAttempts.isEmpty == true)
            }
        }
        #expect(good.count(of: "POST") == 11)
    }

    /// What is wrong with the first address.
    enum Trouble: CaseIterable {
        case silent, refusing
    }

    /// A first address in trouble; it stays so for as long as it is held.
    private func badAddress(_ trouble: Trouble) async throws -> (target: String, holder: any Sendable) {
        switch trouble {
        case .silent:
            let hole = try BlackHole()
            return ("\(hole.address):\(hole.port)", hole)
        case .refusing:
            let server = try RawServer(address: "127.0.0.3", .hang)
            try await server.refuse()
            return ("\(server.address):\(server.port)", server)
        }
    }

    /// Sends a POST, which pays for no address but the good one.
    private func expectFree(_ client: HTTPDNSClient, at good: RawServer) async throws {
        let response = try await client.post("http://one.test/", body: .text("x"))
        try await response.text()
        let exchange = try #require(response.exchanges.last)
        #expect(exchange.remote.port == good.port && !exchange.reusedConnection)
        #expect(exchange.timings.race == nil && exchange.failedAttempts.isEmpty, "\(exchange.failedAttempts)")
    }

    /// The next 1,000 requests make a connection each and skip it.
    @Test("A bad address is remembered without a warm connection to a good one", arguments: Trouble.allCases)
    func healthWithoutConnections(trouble: Trouble) async throws {
        let (target, holder) = try await badAddress(trouble)
        let closing = RawServer.Step.respond("ok", fields: "Connection: close\r\n")
        let good = try RawServer(address: "127.0.0.2", .readHead, .read(1), closing)
        let (alone, batches, batch) = (1_000, 5, 64)
        try await withClient(try settings([target, "\(good.address):\(good.port)"])) { client in
            let first = try await client.post("http://one.test/", body: .text("x"))
            try await first.text()
            let exchange = try #require(first.exchanges.last)
            #expect(exchange.failedAttempts.count == (trouble == .refusing ? 1 : 0))
            #expect(exchange.timings.race.map { $0 < Self.delay.upperBound } == true)
            for _ in 0..<alone { try await expectFree(client, at: good) }
            for _ in 0..<batches {
                try await concurrently(batch) { _ in try await expectFree(client, at: good) }
            }
        }
        #expect(good.connections.count == 1 + alone + batches * batch)
        #expect(good.connections.allSatisfy { $0.text.ranges(of: "POST").count == 1 })
        withExtendedLifetime(holder) {}
    }

    /// Ten requests.
    @Test("A bad address is skipped although connections are retired before each request", arguments: Trouble.allCases)
    func healthOfRetiredConnections(trouble: Trouble) async throws {
        let (target, holder) = try await badAddress(trouble)
        let good = try server()
        try await withClient(try settings([target, "\(good.address):\(good.port)"])) { client in
            try await client.post("http://one.test/", body: .text("x")).text()
            for _ in 0..<10 {
                client.retireConnections()
                try await expectFree(client, at: good)
            }
        }
        #expect(good.connections.count == 11)
        withExtendedLifetime(holder) {}
    }

    /// Twenty GETs follow each other.
    @Test("A black hole under a warm connection fails no GET and repeats no POST")
    func warmBlackHole() async throws {
        let old = try RawServer(address: "127.0.0.2", .serve("ok"))
        let good = try RawServer(address: "127.0.0.3", .serve("ok"))
        let configuration = try settings([old, good].map { "\($0.address):\($0.port)" })
        try await withClient(configuration) { client in
            for _ in 0..<50 { try await client.get("http://one.test/").text() }
            try await old.swallow(.all)
            for number in 0..<20 {
                let began = ContinuousClock.now
                let response = try await client.get("http://one.test/")
                try await response.text()
                #expect(began.duration(to: .now) < .seconds(60))
                let exchange = try #require(response.exchanges.last)
                #expect(exchange.remote.port == good.port && exchange.failedAttempts.isEmpty)
                // The first one waits for the stagger, the others for nothing.
                #expect(exchange.reusedConnection == (number > 0), "\(number)")
            }
        }
        #expect(old.connections.count == 1 && good.count(of: "GET") == 20)

        // On a busy machine a short limit may be over before a response comes: then the same with a longer one.
        for seconds in [2, 10, 60] where try await isPostLost(firstByte: .seconds(seconds)) { return }
        Issue.record("no response came within its limit")
    }

    private func isPostLost(firstByte limit: Duration) async throws -> Bool {
        let silent = try RawServer(address: "127.0.0.4", .serve("ok"))
        let good = try RawServer(address: "127.0.0.3", .serve("ok"))
        var impatient = try settings([silent, good].map { "\($0.address):\($0.port)" })
        impatient.timeouts.firstByte = limit
        return try await withClient(impatient) { client in
            do {
                try await client.get("http://one.test/").text()
            } catch let error as HTTPDNSClientError where error.code == .timedOut {
                return false
            }
            try await silent.swallow(.all)
            let error = try await refusal { _ = try await client.post("http://one.test/", body: .text("x")) }
            #expect(error.code == .timedOut && error.requestMayHaveBeenSent)
            do {
                try await client.post("http://one.test/", body: .text("x")).text()
            } catch let error as HTTPDNSClientError where error.code == .timedOut {
                return false
            }
            #expect(good.count(of: "POST") == 1)
            return true
        }
    }

    /// Weighted mappings keep their selection by weight.
    @Test("The client's settings for selection, hedging and ejection reach the wire")
    func settingsReachTheWire() async throws {
        let servers = try (2...4).map {
            try RawServer(address: "127.0.0.\($0)", .serve("ok"))
        }
        let targets = servers.map { "\($0.address):\($0.port)" }
        var configuration = try settings(targets)
        configuration.connections.selection = .roundRobin
        configuration.resolver.mappings[try HTTPDNSMapping.Key("weighted.test")] = .weighted([
            targets[0]: 1_000_000, targets[1]: 1,
        ])
        try await withClient(configuration) { client in
            for _ in 0..<9 { try await client.get("http://one.test/").text() }
            #expect(servers.map { $0.count(of: "GET") } == [3, 3, 3])
            for _ in 0..<9 { try await client.get("http://weighted.test/").text() }
            #expect(servers[0].count(of: "weighted.test") >= 8)
        }
        let silent = try RawServer(address: "127.0.0.5", .readHead, .hang)
        var hedging = try settings(["\(silent.address):\(silent.port)", targets[0]])
        hedging.connections.hedgeAfter = .milliseconds(30)
        try await withClient(hedging) { client in
            let response = try await client.get("http://one.test/")
            #expect(
                response.exchanges.last?.isHedged == true && response.exchanges.last?.remote.port == servers[0].port
            )
        }
        let failing = try RawServer(address: "127.0.0.5", .serve(status: "503 Busy"))
        var ejecting = try settings(["\(failing.address):\(failing.port)", targets[0]])
        ejecting.connections.ejection = HTTPDNSClient.Configuration.OutlierEjection()
        try await withClient(ejecting) { client in
            var statuses: [Int] = []
            for _ in 0..<7 {
                let response = try await client.get("http://one.test/")
                try await response.text()
                statuses.append(response.status.code)
            }
            #expect(statuses == [503, 503, 503, 503, 503, 200, 200])
            #expect(client.endpointRecords.contains { $0.state == .ejected })
        }
    }

    @Test("Impossible connection settings are reported when the client is made")
    func refusedSettings() async throws {
        typealias Change = @Sendable (inout HTTPDNSClient.Configuration) -> Void
        let changes: [(Change, String)] = [
            ({ $0.connections.hedgeAfter = .milliseconds(9) }, "hedgeAfter"),
            ({ $0.connections.hedgeAfter = .seconds(61) }, "hedgeAfter"),
            ({ $0.connections.happyEyeballsDelay = .seconds(Int64.max) }, "happyEyeballsDelay"),
            (
                {
                    $0.connections.probing = HTTPDNSClient.Configuration.ActiveProbing();
                    $0.connections.probing?.interval = .seconds(Int64.max)
                }, "interval"
            ),
            (
                {
                    $0.connections.ejection = HTTPDNSClient.Configuration.OutlierEjection();
                    $0.connections.ejection?.consecutive = 0
                }, "consecutive"
            ),
            (
                {
                    $0.connections.ejection = HTTPDNSClient.Configuration.OutlierEjection();
                    $0.connections.ejection?.statuses = [200]
                }, "statuses"
            ),
            (
                {
                    $0.connections.ejection = HTTPDNSClient.Configuration.OutlierEjection();
                    $0.connections.ejection?.duration = .seconds(900)
                }, "duration"
            ),
            (
                {
                    $0.connections.probing = HTTPDNSClient.Configuration.ActiveProbing();
                    $0.connections.probing?.interval = .zero
                }, "interval"
            ),
            ({ $0.trustByHost[.any] = HTTPDNSTrust() }, "trustByHost"),
        ]
        for (change, word) in changes {
            var configuration = HTTPDNSClient.Configuration()
            change(&configuration)
            let error = try await refusal { [configuration] in _ = try await HTTPDNSClient(configuration: configuration)
            }
            #expect(error.code == .configuration && error.message.contains(word), "\(error)")
        }
    }
}

/// Connections that are made before a request, through the client.
@Suite("Preconnecting", .enabled(if: ServerRig.isAvailable([.nginx])))
struct PreconnectingTests {
    /// The origin has seen one request.
    @Test("The first request after a preconnect uses its connection, TLS included")
    func preconnect() async throws {
        let rig = try await ServerRig.shared()
        let configuration = try rig.settings(mappings: ["ahead.wild.test": .addresses(["127.0.0.2"])])
        try await withClient(configuration) { client in
            let url = "https://ahead.wild.test:\(rig.tlsPort)/a.jpg"
            let mark = rig.accessLogMark()
            let endpoints = try await client.preconnect(to: url)
            #expect(endpoints == [HTTPDNSEndpoint(address: HTTPDNSAddress(v4: 127, 0, 0, 2), port: rig.tlsPort)])
            let response = try await client.get(url)
            _ = try await response.body.collect(upTo: .mebibytes(1))
            #expect(response.exchanges.last?.reusedConnection == true)
            let lines = try await rig.awaitAccessLog(since: mark) { $0.sni == "ahead.wild.test" }
            #expect(lines.count == 1)
        }
    }

    @Test("Several connections for HTTP/1.1 can be made ahead together")
    func several() async throws {
        let server = try RawServer(.serve())
        var configuration = HTTPDNSClient.Configuration()
        configuration.resolver.mappings[try HTTPDNSMapping.Key("one.test")] = .addresses(["127.0.0.1:\(server.port)"])
        try await withClient(configuration) { client in
            let endpoints = try await client.preconnect(to: "http://one.test/", connections: 3)
            #expect(endpoints.count == 3)
            // A connection that stands already serves the next one too.
            let made = client.connectionPools.map(\.connections).reduce(0, +)
            #expect((1...3).contains(made))
            let taken = try await server.awaitConnections { $0.count >= made }
            #expect(taken.allSatisfy { $0.received.isEmpty })
            try await client.get("http://one.test/").text()
            #expect(client.connectionPools.map(\.connections) == [made])
        }
    }

    @Test("A preconnect that cannot connect fails as a request would")
    func refused() async throws {
        let server = try RawServer(.hang)
        try await server.refuse()
        var configuration = HTTPDNSClient.Configuration()
        configuration.resolver.mappings[try HTTPDNSMapping.Key("one.test")] = .addresses(["127.0.0.1:\(server.port)"])
        try await withClient(configuration) { client in
            let error = try await refusal { _ = try await client.preconnect(to: "http://one.test/") }
            #expect(error.code == .connectFailed && !error.requestMayHaveBeenSent)
        }
    }
}
