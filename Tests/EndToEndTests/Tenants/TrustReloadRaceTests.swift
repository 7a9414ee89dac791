// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

import HTTPDNS
import ServerRig
import Testing

/// Reloads of trust settings beside all that may happen at the same time, and beside other clients of the transport.
@Suite(
    "Concurrent reloads of trust settings",
    .enabled(if: ServerRig.isAvailable([.nginx, .bind, .openssl]))
)
struct TrustReloadRaceTests {
    /// Set once.
    @Test("A trust reload beside requests loses none and never mixes two identities")
    func besideRequests() async throws {
        let rig = try await ServerRig.shared()
        let mark = rig.accessLogMark()
        let settings = [try rig.tenant("tenant-a"), try rig.tenant("tenant-b")]
        let transport = HTTPDNSLibcurlTransport()
        let client = try await HTTPDNSClient(configuration: settings[0], on: transport)
        let end = Gate()
        let sent = try await withThrowingTaskGroup(of: Int.self) { tasks in
            for worker in 0..<6 {
                tasks.addTask {
                    var count = 0
                    while !end.isOpen {
                        let response = try await client.get(rig.tenantURL("/health?beside=reloads")) {
                            $0.versions = worker.isMultiple(of: 2) ? .http1Only : .automatic
                        }
                        #expect(response.status == .ok)
                        try await response.text()
                        count += 1
                    }
                    return count
                }
            }
            for number in 1...41 {
                try await client.reload(settings[number % 2])
                // One at least by these settings.
                try await client.get(rig.tenantURL("/health?after=\(number)")).text()
            }
            end.open()
            return try await tasks.reduce(0, +)
        }
        await transport.awaitUsage(HTTPDNSLibcurlTransport.Usage(clients: 1, trustSettings: 1, loops: 1))
        try await client.shutdown()
        let lines = try await rig.awaitAccessLog(since: mark, count: sent + 41) {
            $0.target == "/health?beside=reloads" || $0.target.hasPrefix("/health?after=")
        }
        #expect(lines.count == sent + 41 && lines.allSatisfy { $0.status == 200 })
        for (_, onOne) in Dictionary(grouping: lines, by: \.connection) {
            #expect(Set(onOne.map(\.clientSubject)).count == 1)
        }
        for line in lines {
            guard let number = line.target.split(separator: "=").last.flatMap({ Int($0) }) else { continue }
            #expect(line.clientSubject == (number % 2 == 0 ? "CN=tenant-a" : "CN=tenant-b"), "\(line.target)")
        }
    }

    @Test("Two concurrent reloads end with the settings of one of them")
    func twoAtOnce() async throws {
        let rig = try await ServerRig.shared()
        let mark = rig.accessLogMark()
        func settings(_ name: String, _ address: String) throws -> HTTPDNSClient.Configuration {
            var settings = try rig.tenant(name)
            settings.resolver.mappings[try HTTPDNSMapping.Key("marker.test")] = .addresses([address])
            return settings
        }
        let one = try settings("tenant-a", "192.0.2.1")
        let two = try settings("tenant-b", "192.0.2.2")
        var markers: [String] = []
        try await withClient(one) { client in
            for round in 0..<30 {
                async let first = client.reload(round.isMultiple(of: 2) ? one : two)
                async let second = client.reload(round.isMultiple(of: 2) ? two : one)
                _ = try await (first, second)
                markers.append("\(try await client.resolve("marker.test").endpoints[0].address)")
                try await client.get(rig.tenantURL("/health?both=\(round)")).text()
            }
        }
        let lines = try await rig.awaitAccessLog(since: mark, count: 30) { $0.target.hasPrefix("/health?both=") }
        for line in lines {
            let round = try #require(line.target.split(separator: "=").last.flatMap { Int($0) })
            #expect(markers[round] == (line.clientSubject == "CN=tenant-a" ? "192.0.2.1" : "192.0.2.2"), "\(round)")
        }
    }

    @Test("A reload beside a shutdown ends as done or as too late, and leaves nothing")
    func besideShutdown() async throws {
        let rig = try await ServerRig.shared()
        let one = try rig.tenant("tenant-a")
        let two = try rig.tenant("tenant-b")
        for round in 0..<30 {
            let transport = HTTPDNSLibcurlTransport()
            let client = try await HTTPDNSClient(configuration: one, on: transport)
            let inFlight = try await client.get(rig.tenantURL("/bytes?count=33554432&shutdown"))
            async let outcome: HTTPDNSClientError.Code? = {
                // The shutdown comes before, within and after it.
                for _ in 0..<(round * 20) { await Task.yield() }
                do {
                    try await client.reload(two)
                    return nil
                } catch let error as HTTPDNSClientError {
                    return error.code
                }
            }()
            try await client.shutdown()
            let code = try await outcome
            #expect(code == nil || code == .shutDown, "\(String(describing: code))")
            #expect(transport.usage == HTTPDNSLibcurlTransport.Usage(clients: 0, trustSettings: 0, loops: 0))
            #expect(try await refusal { _ = try await inFlight.text() }.code == .shutDown)
        }
    }

    /// The other keeps its connection, and its shutdown cuts nothing of the first one's.
    @Test("A reload of one client leaves another with the same settings alone")
    func twoClients() async throws {
        let rig = try await ServerRig.shared()
        let mark = rig.accessLogMark()
        let settings = try rig.tenant("tenant-a")
        let transport = HTTPDNSLibcurlTransport()
        let first = try await HTTPDNSClient(configuration: settings, on: transport)
        let second = try await HTTPDNSClient(configuration: settings, on: transport)
        try await first.get(rig.tenantURL("/health?tenant=1")).text()
        let inFlight = try await first.get(rig.tenantURL("/bytes?count=50331648&tenant=inflight"))
        var other = settings
        other.trust.clientCertificate = try rig.tenant("tenant-b").trust.clientCertificate
        try await first.reload(other)
        #expect(transport.usage == HTTPDNSLibcurlTransport.Usage(clients: 2, trustSettings: 2, loops: 2))
        let left = try await second.get(rig.tenantURL("/health?tenant=2"))
        #expect(left.exchanges[0].reusedConnection)
        try await left.text()
        let moved = try await first.get(rig.tenantURL("/health?tenant=3"))
        #expect(!moved.exchanges[0].reusedConnection)
        try await moved.text()
        // The last one with these settings goes; what the first has in flight there is its own.
        try await second.shutdown()
        #expect(transport.usage == HTTPDNSLibcurlTransport.Usage(clients: 1, trustSettings: 2, loops: 2))
        var received = 0
        for try await chunk in inFlight.body { received += chunk.count }
        #expect(received == 50_331_648)
        await transport.awaitUsage(HTTPDNSLibcurlTransport.Usage(clients: 1, trustSettings: 1, loops: 1))
        try await first.shutdown()
        #expect(transport.usage == HTTPDNSLibcurlTransport.Usage(clients: 0, trustSettings: 0, loops: 0))
        let lines = try await rig.awaitAccessLog(since: mark, count: 4) { $0.target.contains("tenant=") }
        for line in lines {
            #expect(line.clientSubject == (line.target.hasSuffix("=3") ? "CN=tenant-b" : "CN=tenant-a"))
        }
    }

    /// Settings of two hosts: the one that loses them dials again.
    @Test("A reload ends the connections of a host that loses its settings, and no others")
    func twoHosts() async throws {
        let rig = try await ServerRig.shared()
        var settings = try rig.settings(mappings: ["*.test": .addresses(["127.0.0.2"])])
        var own = settings.trust
        own.minimumVersion = .tls13
        settings.trustByHost = [try HTTPDNSRoute.Pattern("one.test"): own, try HTTPDNSRoute.Pattern("two.test"): own]
        let transport = HTTPDNSLibcurlTransport()
        let client = try await HTTPDNSClient(configuration: settings, on: transport)
        func isReused(_ host: String) async throws -> Bool {
            let response = try await client.get("https://\(host):\(rig.tlsPort)/health")
            try await response.text()
            return response.exchanges[0].reusedConnection
        }
        for host in ["one.test", "two.test", "img.shop.test"] { #expect(try await !isReused(host)) }
        settings.trustByHost[try HTTPDNSRoute.Pattern("one.test")] = nil
        try await client.reload(settings)
        #expect(
            try await [isReused("two.test"), isReused("img.shop.test"), isReused("one.test")] == [true, true, false]
        )
        await transport.awaitUsage(HTTPDNSLibcurlTransport.Usage(clients: 1, trustSettings: 2, loops: 2))
        settings.trustByHost = [:]
        try await client.reload(settings)
        #expect(
            try await [isReused("two.test"), isReused("img.shop.test"), isReused("one.test")] == [false, true, true]
        )
        await transport.awaitUsage(HTTPDNSLibcurlTransport.Usage(clients: 1, trustSettings: 1, loops: 1))
        try await client.shutdown()
    }

    @Test("At the limit a client may replace only trust settings that no other client has")
    func limit() async throws {
        let rig = try await ServerRig.shared()
        var limits = HTTPDNSLibcurlTransport.Limits()
        limits.trustSettings = 1
        let transport = HTTPDNSLibcurlTransport(limits: limits)
        let settings = try rig.settings(mappings: ["one.test": .addresses(["127.0.0.2"])])
        var strict = settings
        strict.trust.minimumVersion = .tls13
        let other = strict
        let first = try await HTTPDNSClient(configuration: settings, on: transport)
        try await first.reload(other)
        try await first.reload(settings)
        let second = try await HTTPDNSClient(configuration: settings, on: transport)
        let error = try await refusal { try await first.reload(other) }
        #expect(error.code == .limitReached)
        try await first.get("https://one.test:\(rig.tlsPort)/health").text()
        let usage = HTTPDNSLibcurlTransport.Usage(clients: 2, trustSettings: 1, loops: 1)
        await transport.awaitUsage(usage)
        try await second.shutdown()
        try await first.reload(other)
        try await first.shutdown()
        #expect(transport.usage.clients == 0)
    }
}
