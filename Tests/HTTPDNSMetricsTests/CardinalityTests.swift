// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

#if Metrics
import HTTPDNSCore
import HTTPDNSMetrics
import HTTPDNSTesting
import MetricsTestKit
import Testing

struct CardinalityTests {
    /// Nor an address.
    @Test("Series do not grow with the number of hosts, and none has a host in it")
    func hosts() async throws {
        let few = try await Self.series(hosts: 10)
        let many = try await Self.series(hosts: 10_000)
        #expect(many == few)
        #expect(many.count < 200)
        #expect(!many.contains { $0.contains("host-") || $0.contains("203.0.113") })
        #expect(many.contains("httpdns.route.answers httpdns.route=*.shop.test httpdns.freshness=fresh"))
        #expect(many.contains("httpdns.route.failures httpdns.route=*.shop.test error.type=name-not-found"))
        #expect(many.contains("httpdns.route.answers httpdns.route=none httpdns.freshness=system"))
    }

    /// Every series after questions about so many names: those with an address by a route, those without, and those of the
    /// system resolver.
    private static func series(hosts: Int) async throws -> Set<String> {
        let provider = HTTPDNSScriptedProvider()
        var system: [HTTPDNSName: Result<[HTTPDNSAddress], SystemResolverError>] = [:]
        var names: [HTTPDNSName] = []
        for number in 0..<hosts {
            let address = HTTPDNSAddress(v4: 203, 0, 113, UInt8(number % 250))
            let zone = ["a.shop.test", "b.shop.test", "other.test"][number % 3]
            let name = try HTTPDNSName("host-\(number).\(zone)")
            names.append(name)
            if zone == "a.shop.test" {
                provider.answer(.answer(.addresses([address], timeToLive: .seconds(60))), for: name)
            } else if zone == "other.test" {
                system[name] = .success([address])
            }
        }
        var settings = HTTPDNSResolver.Configuration()
        settings.providers = [provider]
        settings.routes = [HTTPDNSRoute(try .init("*.shop.test"), .providers(["scripted"], fallback: .off))]
        settings.families = .v4
        let resolver = try HTTPDNSResolver(settings, systemResolver: ScriptedSystemResolver(system))
        let backend = TestMetrics()
        let metrics = HTTPDNSResolverMetrics(resolver, factory: backend, interval: .seconds(3600))
        let work = Task { await metrics.run() }
        while resolver.listenerCount == 0, !Task.isCancelled { await Task.yield() }
        for name in names { _ = try? await resolver.resolve(HTTPDNSResolver.Query(.name(name), port: 443)) }
        await resolver.shutdown()
        await work.value
        func text(_ label: String, _ dimensions: [(String, String)]) -> String {
            ([label] + dimensions.map { "\($0.0)=\($0.1)" }).joined(separator: " ")
        }
        var series: Set<String> = []
        for counter in backend.counters { series.insert(text(counter.label, counter.dimensions)) }
        for meter in backend.meters { series.insert(text(meter.label, meter.dimensions)) }
        for timer in backend.timers { series.insert(text(timer.label, timer.dimensions)) }
        // Whether an exporter is behind depends on the machine, not on the number of series that there may be.
        series.remove("httpdns.events.missed")
        return series
    }
}
#endif
