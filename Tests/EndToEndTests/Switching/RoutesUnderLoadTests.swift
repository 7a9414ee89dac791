// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

import Foundation
import HTTPDNS
import HTTPDNSCurl
import HTTPDNSTesting
import ServerRig
import Testing

/// What decides where a name leads, while requests go on: BIND answers 127.0.0.3 for `two.test`, the system 127.0.0.2, and
/// nginx says on which of them a request arrived. Runs in `make test`.
@Suite(
    "Routes under load",
    .enabled(if: ServerRig.isAvailable([.nginx, .bind]))
)
struct RoutesUnderLoadTests {
    private static let provided = "127.0.0.3\n"
    private static let system = "127.0.0.2\n"

    /// A client on a real transport, whose system resolver knows `two.test` and `fallen.wild.test`.
    private func withLoadedClient(
        _ rig: ServerRig,
        _ configuration: HTTPDNSClient.Configuration,
        _ body: (HTTPDNSClient) async throws -> Void
    ) async throws {
        let local = HTTPDNSAddress(v4: 127, 0, 0, 2)
        let resolver = try HTTPDNSResolver(
            configuration.resolver,
            systemResolver: ScriptedSystemResolver([
                try HTTPDNSName("two.test"): .success([local]), try HTTPDNSName("fallen.wild.test"): .success([local]),
            ])
        )
        var transport = TransportConfiguration()
        transport.trustRoots = .file(rig.certificateAuthorityFile)
        transport.ejection = configuration.connections.ejection
        let client = HTTPDNSClient(configuration: configuration, resolver: resolver, sender: Transport(transport))
        do {
            try await body(client)
            try await client.shutdown()
        } catch {
            try await client.shutdown()
            throw error
        }
    }

    /// Sends `count` requests from 16 tasks.
    /// - Returns: For each key the addresses that answered, in the order of the responses of one task.
    private func load(
        _ client: HTTPDNSClient,
        _ url: String,
        count: Int = 800,
        keys: Int = 100
    ) async throws -> [String: [String]] {
        try await withThrowingTaskGroup(of: [(String, String)].self) { tasks in
            for task in 0..<16 {
                tasks.addTask {
                    var answers: [(String, String)] = []
                    for number in 0..<(count / 16) {
                        let key = "user-\((task * 7 + number) % keys)"
                        answers.append((key, try await client.get(url) { $0.rolloutKey = key }.text()))
                    }
                    return answers
                }
            }
            return try await tasks.reduce(into: [:]) { all, answers in
                for (key, answer) in answers { all[key, default: []].append(answer) }
            }
        }
    }

    @Test("A rollout by key takes its share, and a reload moves it under load")
    func rollout() async throws {
        let rig = try await ServerRig.shared()
        var configuration = try rig.settings(fallback: .off)
        configuration.resolver.routes[0].rollout = HTTPDNSRoute.Rollout(percent: 30, by: .key)
        let first = configuration
        try await withLoadedClient(rig, first) { client in
            let url = "https://two.test:\(rig.tlsPort)/health"
            let answers = try await load(client, url)
            let provided = answers.filter { $0.value.allSatisfy { $0 == Self.provided } }
            let system = answers.filter { $0.value.allSatisfy { $0 == Self.system } }
            // None of the 100 keys saw both.
            #expect(provided.count + system.count == 100)
            #expect((12...50).contains(provided.count), "\(provided.count) of 100 keys")
            var all = first
            all.resolver.routes[0].rollout = HTTPDNSRoute.Rollout(percent: 100, by: .key)
            let settings = all
            async let during = load(client, url)
            try await client.reload(settings)
            let moved = try await during
            #expect(moved.values.joined().allSatisfy { $0 == Self.provided || $0 == Self.system })
            let after = try await load(client, url)
            #expect(after.values.joined().allSatisfy { $0 == Self.provided })
        }
    }

    @Test("A route in shadow sends no request to a provider's address")
    func shadow() async throws {
        let rig = try await ServerRig.shared()
        var configuration = try rig.settings(fallback: .off)
        configuration.resolver.routes[0].mode = .shadow
        try await withLoadedClient(rig, configuration) { client in
            let answers = try await load(client, "https://two.test:\(rig.tlsPort)/health")
            #expect(answers.values.joined().count == 800 && answers.values.joined().allSatisfy { $0 == Self.system })
            let counters = client.resolver.counters
            // One comparison for each request.
            #expect(counters.shadowDiffered == 800 && counters.shadowAgreed == 0 && counters.shadowFailed == 0)
        }
    }

    @Test("Addresses of last resort serve while the provider is down")
    func lastResort() async throws {
        let rig = try await ServerRig.shared()
        var configuration = try rig.settings(mappings: ["two.test": .lastResort(["127.0.0.4"])])
        let url = "https://127.0.0.1:1/dns-query"
        configuration.resolver.providers = [try HTTPDNSDoHProvider(.init(name: "dead", url: url))]
        configuration.resolver.routes = [HTTPDNSRoute(.any, .providers(["dead"], fallback: .off))]
        try await withLoadedClient(rig, configuration) { client in
            let answers = try await load(client, "https://two.test:\(rig.tlsPort)/health")
            #expect(answers.values.joined().count == 800 && answers.values.joined().allSatisfy { $0 == "127.0.0.4\n" })
            #expect(client.resolver.counters.lastResort == 800, "\(client.resolver.counters.lastResort)")
        }
    }

    @Test("A provider's dead address costs the requests of one moment")
    func connectionFallback() async throws {
        let rig = try await ServerRig.shared()
        // Nothing listens there.
        try await rig.setRecords("fallen.wild.test", timeToLive: 60, ["127.0.0.77"])
        try await withLoadedClient(rig, try rig.settings(fallback: .system)) { client in
            let answers = try await load(client, "https://fallen.wild.test:\(rig.tlsPort)/health")
            #expect(answers.values.joined().count == 800 && answers.values.joined().allSatisfy { $0 == Self.system })
            let counters = client.connectionCounters
            // 16 tasks may find out at the same time.
            #expect((1...16).contains(counters.fallbacks), "\(counters.fallbacks)")
            #expect(counters.fallbacksShortCircuited >= 800 - 16 && counters.fallenBackHosts == 1)
        }
    }

    @Test("When every address is ejected for its errors, all of them keep serving")
    func panic() async throws {
        let rig = try await ServerRig.shared()
        var configuration = try rig.settings(mappings: ["two.test": .addresses(["127.0.0.2", "127.0.0.3"])])
        var ejection = HTTPDNSClient.Configuration.OutlierEjection()
        ejection.consecutive = 3
        configuration.connections.ejection = ejection
        configuration.connections.selection = .roundRobin
        try await withLoadedClient(rig, configuration) { client in
            let origin = "https://two.test:\(rig.tlsPort)"
            _ = try await load(client, "\(origin)/status/503", count: 160)
            let ejected = client.endpointRecords.count { $0.state == .ejected }
            #expect(ejected == 2, "\(client.endpointRecords)")
            let answers = try await load(client, "\(origin)/health", count: 160).values.joined()
            #expect(answers.count == 160 && Set(answers) == [Self.system, Self.provided])
        }
    }
}
