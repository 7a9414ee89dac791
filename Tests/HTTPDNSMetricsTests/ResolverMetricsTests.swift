// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

#if Metrics
import HTTPDNSMetrics
import HTTPDNSTesting
import Metrics
import MetricsTestKit
import Testing

@testable import HTTPDNSCore

struct ResolverMetricsTests {
    private let time = HTTPDNSManualClock()
    private let backend = TestMetrics()
    private let resolver: HTTPDNSResolver
    private let metrics: HTTPDNSResolverMetrics

    init() throws {
        resolver = try HTTPDNSResolver(try Self.settings(["doh"]))
        metrics = HTTPDNSResolverMetrics(resolver, factory: backend, interval: .seconds(10), timeSource: time)
    }

    /// The settings of a resolver whose providers cannot be reached.
    private static func settings(_ names: [String]) throws -> HTTPDNSResolver.Configuration {
        var settings = HTTPDNSResolver.Configuration()
        let failure = HTTPDNSProviderError(code: .unreachable, message: "connection refused")
        settings.providers = try names.map { name in
            let provider = HTTPDNSScriptedProvider(name: name)
            provider.answer(.failure(failure), for: try HTTPDNSName("one.shop.test"))
            return provider
        }
        settings.routes = [HTTPDNSRoute(try .init("*.shop.test"), .providers(names, fallback: .off))]
        settings.families = .v4
        return settings
    }

    private func countEverything() {
        resolver.killSwitch.turnOff()
        resolver.observation.counting.unrouted.countFailure(.timedOut)
        let counting = resolver.observation.counting
        for count in AnswerCount.allCases { counting.count(count) }
        for count in OccurrenceCount.allCases { counting.count(count) }
        for count in ProviderCount.allCases { counting.count(count, provider: 0, elapsed: .seconds(3)) }
        for code in HTTPDNSProviderError.Code.all {
            counting.countFailure(HTTPDNSProviderError(code: code, message: ""), provider: 0)
        }
    }

    @Test("Each export adds the counts since the last one, and the end adds the rest")
    func differences() async throws {
        countEverything()
        let work = Task { await metrics.run() }
        await time.sleepers(atLeast: 1)
        let hits = try backend.expectCounter("httpdns.cache.lookups", [("httpdns.result", "hit")])
        #expect(hits.values == [2])
        countEverything()
        countEverything()
        time.advance(by: .seconds(10))
        await time.sleepers(atLeast: 1)
        #expect(hits.values == [2, 4])
        countEverything()
        resolver.observation.end()
        await work.value
        #expect(hits.values == [2, 4, 2])
        #expect(try backend.expectMeter("httpdns.switch.off", [("httpdns.scope", "everything")]).lastValue == 1)
        let refused = [("httpdns.provider", "doh"), ("httpdns.outcome", "refused")]
        #expect(try backend.expectCounter("httpdns.provider.queries", refused).totalValue == 4)
        #expect(try backend.expectMeter("httpdns.cache.bytes").lastValue == 0)
        #expect(try backend.expectCounter("httpdns.stale.served", [("httpdns.waited", "yes")]).totalValue == 8)
        // answer, negative and four other kinds are counted with 3 s each.
        let seconds = try backend.expectCounter("httpdns.provider.answer.time", [("httpdns.provider", "doh")])
        #expect(seconds.totalValue == Int64(4 * 3 * ProviderCount.allCases.count))
    }

    @Test("The meter of a provider that a reload removed becomes 0")
    func removedProvider() async throws {
        let resolver = try HTTPDNSResolver(try Self.settings(["old", "kept"]))
        let metrics = HTTPDNSResolverMetrics(resolver, factory: backend, interval: .seconds(10), timeSource: time)
        let query = HTTPDNSResolver.Query(.name(try HTTPDNSName("one.shop.test")), port: 443)
        await #expect(throws: HTTPDNSResolver.Error.self) { try await resolver.resolve(query) }
        let work = Task { await metrics.run() }
        await time.sleepers(atLeast: 1)
        let old = try backend.expectMeter("httpdns.provider.quarantined", [("httpdns.provider", "old")])
        let kept = try backend.expectMeter("httpdns.provider.quarantined", [("httpdns.provider", "kept")])
        #expect(old.lastValue == 1 && kept.lastValue == 1)
        try resolver.reload(try Self.settings(["kept"]))
        time.advance(by: .seconds(10))
        await time.sleepers(atLeast: 1)
        #expect(old.lastValue == 0)
        await resolver.shutdown()
        await work.value
    }

    /// Never with the host.
    @Test("A lookup's duration is recorded with route, source, provider and failure")
    func durations() async throws {
        let work = Task { await metrics.run() }
        await time.sleepers(atLeast: 1)
        let host = try HTTPDNSName("secret.shop.test")
        resolver.observation.tell(.answered) { event in
            event.host = host
            event.route = "*.shop.test"
            event.provider = "doh"
            event.source = .provider
            event.elapsed = .milliseconds(8)
        }
        resolver.observation.tell(.refreshFailed) { event in
            event.code = "timed-out"
            event.elapsed = .seconds(3)
        }
        resolver.observation.tell(.providerQuarantined) { $0.provider = "doh" }
        resolver.observation.end()
        await work.value
        let answered = try #require(backend.timers.first { $0.dimensions.count == 4 })
        #expect(answered.label == "dns.lookup.duration")
        #expect(answered.valueInPreferredUnit(atIndex: 0) == 0.008)
        #expect(answered.dimensions.map(\.1) == ["query", "*.shop.test", "provider", "doh"])
        let failed = try #require(backend.timers.first { $0.dimensions.count == 5 })
        #expect(failed.dimensions.map(\.1) == ["refresh", "none", "none", "none", "timed-out"])
        #expect(backend.counterTotal(label: "httpdns.provider.quarantines") == 1)
        #expect(!"\(backend)".contains("secret"))
    }

    @Test("The exported names and dimensions are exactly those of the list")
    func names() async throws {
        let work = Task { await metrics.run() }
        await time.sleepers(atLeast: 1)
        countEverything()
        for kind in HTTPDNSResolver.Event.Kind.all {
            resolver.observation.tell(kind) { event in
                event.elapsed = .seconds(1)
                event.code = "overloaded"
            }
        }
        resolver.observation.end()
        await work.value
        var seen: [String: Set<String>] = [:]
        for counter in backend.counters { seen[counter.label, default: []].formUnion(counter.dimensions.map(\.0)) }
        for meter in backend.meters { seen[meter.label, default: []].formUnion(meter.dimensions.map(\.0)) }
        for timer in backend.timers { seen[timer.label, default: []].formUnion(timer.dimensions.map(\.0)) }
        var expected: [String: Set<String>] = [:]
        for name in MetricName.allCases where name != .eventsMissed && !MetricName.ofClients.contains(name) {
            expected[name.rawValue] = Set(name.dimensions)
        }
        seen["httpdns.events.missed"] = nil
        #expect(seen == expected)
    }

    @Test("Canceling ends a run after a last export, and a second run continues")
    func canceled() async throws {
        let work = Task { await metrics.run() }
        await time.sleepers(atLeast: 1)
        // A run beside the first returns at once.
        await metrics.run()
        resolver.observation.counting.count(.hitFromProvider)
        work.cancel()
        await work.value
        let hits = try backend.expectCounter("httpdns.cache.lookups", [("httpdns.result", "hit")])
        #expect(hits.totalValue == 1)
        resolver.observation.counting.count(.hitFromProvider)
        resolver.observation.end()
        await metrics.run()
        #expect(hits.totalValue == 2)
    }
}
#endif
