// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

import Dispatch
import HTTPDNSCore
import HTTPDNSPrimitives
import HTTPDNSTesting
import Testing

struct ServiceRoutingTests {
    private func fixture(
        ticket: UInt64 = 0,
        _ change: (inout HTTPDNSResolver.Configuration) throws -> Void = { _ in }
    ) throws -> ResolverFixture {
        try ResolverFixture(ticket: ticket) {
            $0.routes[0].usesHTTPSRecords = true
            $0.families = .v4
            try change(&$0)
        }
    }

    private func say(
        _ httpsRecords: HTTPDNSProviderAnswer.HTTPSRecords?,
        _ last: UInt8? = 1,
        about host: String,
        in fixture: ResolverFixture
    ) throws {
        let v4: HTTPDNSProviderAnswer.Family =
            last.map {
                .addresses([HTTPDNSAddress(v4: 203, 0, 113, $0)], timeToLive: .seconds(60), canonicalName: nil)
            } ?? .noData(timeToLive: .seconds(60))
        var answer = HTTPDNSProviderAnswer(v4: v4)
        answer.httpsRecords = httpsRecords
        try fixture.provider.answer(.answer(answer), for: HTTPDNSName(host))
    }

    private func texts(_ resolution: HTTPDNSResolver.Resolution?) -> [String] {
        resolution?.endpoints.map(\.description) ?? []
    }

    /// Other ports use the name's plain addresses.
    @Test("An HTTPS record's port and protocols apply to port 443 only")
    func port() async throws {
        let fixture = try fixture()
        let binding = HTTPDNSProviderAnswer.HTTPSRecord(
            priority: 1,
            applicationProtocols: ["h2", "http/1.1"],
            port: 8443
        )
        try say(.bindings([binding], timeToLive: .seconds(20)), about: "one.test", in: fixture)
        let resolution = try await fixture.resolve("one.test")
        #expect(texts(resolution) == ["203.0.113.1:8443", "203.0.113.1:443"])
        #expect(resolution.applicationProtocols == ["h2", "http/1.1"])
        #expect(resolution.timeToLive == .seconds(20))
        let plain = try #require(try fixture.immediate("one.test", port: 8080))
        #expect(texts(plain) == ["203.0.113.1:8080"])
        #expect(plain.applicationProtocols.isEmpty)
        #expect(fixture.provider.queries.count == 1)
        #expect(fixture.provider.queries[0].wantsHTTPSRecords)
    }

    /// The policy removes one of the addresses in the second case.
    @Test("An HTTPS record's versions are known for its endpoint at port 443", arguments: [nil, "203.0.113.0/24"])
    func versions(only: String?) async throws {
        let fixture = try fixture { $0.routes[0].only = only.map { [HTTPDNSAddressBlock($0)!] } ?? [] }
        var binding = HTTPDNSProviderAnswer.HTTPSRecord(
            priority: 1,
            target: try HTTPDNSName("edge.test"),
            port: 8443,
            v4Hints: [HTTPDNSAddress(v4: 198, 51, 100, 8), HTTPDNSAddress(v4: 203, 0, 113, 8)]
        )
        binding.namesProtocols = true
        try say(.bindings([binding], timeToLive: .seconds(20)), about: "one.test", in: fixture)
        try fixture.provider.answer(.failure(.unavailable), for: HTTPDNSName("edge.test"))
        for resolution in [try await fixture.resolve("one.test"), try #require(try fixture.immediate("one.test"))] {
            #expect(texts(resolution).count == (only == nil ? 3 : 2))
            let limited = HTTPDNSEndpoint(address: HTTPDNSAddress(v4: 203, 0, 113, 8), port: 8443)
            let own = HTTPDNSEndpoint(address: HTTPDNSAddress(v4: 203, 0, 113, 1), port: 443)
            #expect(resolution.offers?[limited] == OfferedVersions(applicationProtocols: ["http/1.1"]))
            #expect(resolution.offers?[own] == nil)
            var changed = resolution
            changed.endpoints = [limited]
            #expect(changed.offers == resolution.offers)
        }
        #expect(try fixture.immediate("one.test", port: 8080)?.offers == nil)
    }

    @Test("An alias or a target leads to another name's addresses and keeps the identity", arguments: [true, false])
    func elsewhere(isAlias: Bool) async throws {
        let fixture = try fixture()
        let edge = try HTTPDNSName("edge.test")
        let httpsRecords: HTTPDNSProviderAnswer.HTTPSRecords =
            isAlias
            ? .alias(edge, timeToLive: .seconds(30))
            : .bindings([HTTPDNSProviderAnswer.HTTPSRecord(priority: 1, target: edge)], timeToLive: .seconds(30))
        try say(httpsRecords, about: "one.test", in: fixture)
        try say(HTTPDNSProviderAnswer.HTTPSRecords.none(timeToLive: nil), 2, about: "edge.test", in: fixture)
        let resolution = try await fixture.resolve("one.test")
        #expect(texts(resolution) == ["203.0.113.2:443", "203.0.113.1:443"])
        #expect(resolution.identity == nil)
        #expect(fixture.provider.queries.map(\.host.description) == ["one.test", "edge.test"])
        #expect(texts(try fixture.immediate("one.test", port: 80)) == ["203.0.113.1:80"])
    }

    /// One slot shows the order, which that of the tasks must not decide.
    @Test("The targets of HTTPS records are queried in the order of their records")
    func targets() async throws {
        // With zeros alone the shuffling of three records would draw for ever.
        let fixture = try fixture(ticket: 1) {
            $0.providerLimits["doh"] = HTTPDNSResolver.Configuration.ProviderLimits(maximumInFlight: 1)
        }
        let targets = (1...4).map { "t\($0).test" }
        for target in targets { try say(nil, 2, about: target, in: fixture) }
        let records = try targets.enumerated().map { position, target in
            HTTPDNSProviderAnswer.HTTPSRecord(priority: UInt16(position + 1), target: try HTTPDNSName(target))
        }
        try say(.bindings(records.reversed(), timeToLive: .seconds(30)), about: "one.test", in: fixture)
        _ = try await CallWork.$executor.withValue(NewestFirst()) { try await fixture.resolve("one.test") }
        #expect(fixture.provider.queries.map(\.host.description) == ["one.test"] + targets)
    }

    @Test("Aliases in a circle leave the name its own addresses")
    func circle() async throws {
        let fixture = try fixture()
        try say(.alias(try HTTPDNSName("two.test"), timeToLive: .seconds(30)), about: "one.test", in: fixture)
        try say(.alias(try HTTPDNSName("one.test"), timeToLive: .seconds(30)), 2, about: "two.test", in: fixture)
        #expect(try await texts(fixture.resolve("one.test")) == ["203.0.113.1:443"])
    }

    @Test("A service marked unavailable is an error at port 443, and at no other port")
    func unavailable() async throws {
        let fixture = try fixture()
        try say(.unavailable(timeToLive: .seconds(30)), about: "one.test", in: fixture)
        let error = await #expect(throws: HTTPDNSResolver.Error.self) { try await fixture.resolve("one.test") }
        #expect(error?.code == .noAddresses)
        #expect(error?.message.contains("not available") == true)
        #expect(try await texts(fixture.resolve("one.test", port: 8080)) == ["203.0.113.1:8080"])
        #expect(fixture.provider.queries.count == 1)
    }

    @Test(
        "Hints pass the address policy and the route's blocks like any address",
        arguments: [
            ("10.0.0.1", [], []), ("169.254.169.254", [], []), ("127.0.0.1", [], []),
            ("198.51.100.8", ["203.0.113.0/24"], []), ("10.0.0.1", [], ["10.0.0.0/8"]),
        ] as [(String, [String], [String])]
    )
    func hints(hint: String, only: [String], allowed: [String]) async throws {
        let fixture = try fixture {
            $0.routes[0].only = only.compactMap { HTTPDNSAddressBlock($0) }
            $0.routes[0].allowed = allowed.compactMap { HTTPDNSAddressBlock($0) }
        }
        var binding = HTTPDNSProviderAnswer.HTTPSRecord(priority: 1, target: try HTTPDNSName("edge.test"))
        binding.v4Hints = [try #require(HTTPDNSAddress(hint)), HTTPDNSAddress(v4: 203, 0, 113, 8)]
        try say(.bindings([binding], timeToLive: .seconds(30)), about: "one.test", in: fixture)
        try fixture.provider.answer(.failure(.unavailable), for: HTTPDNSName("edge.test"))
        let expected = (allowed.isEmpty ? [] : [hint]) + ["203.0.113.8", "203.0.113.1"]
        #expect(try await fixture.resolve("one.test").addresses == expected)
        #expect(try fixture.immediate("one.test")?.addresses == expected)
    }

    /// They are repeated after 10 s.
    @Test("Failed queries for HTTPS records leave the addresses usable for now")
    func failed() async throws {
        let fixture = try fixture()
        var listener = fixture.resolver.listener
        try say(.failed(.unavailable), about: "one.test", in: fixture)
        #expect(try await texts(fixture.resolve("one.test")) == ["203.0.113.1:443"])
        try say(
            .bindings([HTTPDNSProviderAnswer.HTTPSRecord(priority: 1, port: 8443)], timeToLive: .seconds(60)),
            about: "one.test",
            in: fixture
        )
        fixture.time.advance(by: .seconds(10))
        #expect(try texts(fixture.immediate("one.test")) == ["203.0.113.1:443"])
        await listener.wait(for: .refreshed)
        #expect(try texts(fixture.immediate("one.test")) == ["203.0.113.1:8443", "203.0.113.1:443"])
    }

    @Test("HTTPS records stay in force for their whole life when their refresh fails")
    func failedLater() async throws {
        let fixture = try fixture()
        var listener = fixture.resolver.listener
        let binding = HTTPDNSProviderAnswer.HTTPSRecord(priority: 1, port: 8443)
        try say(.bindings([binding], timeToLive: .seconds(60)), about: "one.test", in: fixture)
        _ = try await fixture.resolve("one.test")
        try say(.failed(.unavailable), 2, about: "one.test", in: fixture)
        fixture.time.advance(by: .seconds(59))
        _ = try fixture.immediate("one.test")
        await listener.wait(for: .refreshed)
        #expect(try texts(fixture.immediate("one.test")).first == "203.0.113.1:8443")
        fixture.time.advance(by: .seconds(1))
        #expect(try await texts(fixture.resolve("one.test")) == ["203.0.113.2:443"])
    }

    /// It is not a name without addresses.
    @Test("A name without addresses whose HTTPS query fails is a failure of providers")
    func failedWithoutAddresses() async throws {
        let fixture = try fixture()
        try say(.failed(.unavailable), nil, about: "one.test", in: fixture)
        let error = await #expect(throws: HTTPDNSResolver.Error.self) { try await fixture.resolve("one.test") }
        #expect(error?.code == .providersFailed)
        #expect(error?.attempts.last?.failure == "HTTPS records: 503")
    }

    @Test("HTTPS records have the whole limit when the system resolver has no answer")
    func afterSystem() async throws {
        let fixture = try fixture { $0.routes[0].action = .providers(["doh"], fallback: .system) }
        try fixture.system.answer(.success([HTTPDNSAddress(v4: 203, 0, 113, 9)]), for: HTTPDNSName("first.test"))
        try fixture.provider.answer(.failure(.unavailable), for: HTTPDNSName("first.test"))
        #expect(try await fixture.resolve("first.test").source == .system)
        try say(.alias(try HTTPDNSName("edge.test"), timeToLive: .seconds(30)), about: "one.test", in: fixture)
        try say(HTTPDNSProviderAnswer.HTTPSRecords.none(timeToLive: nil), 2, about: "edge.test", in: fixture)
        fixture.provider.hold(try HTTPDNSName("one.test"))
        async let waiting = fixture.resolve("one.test")
        await fixture.provider.queries(atLeast: 2)
        fixture.time.advance(by: .seconds(2))
        fixture.provider.release()
        #expect(try await texts(waiting) == ["203.0.113.2:443", "203.0.113.1:443"])
    }

    @Test("Without the route's setting HTTPS records are not queried")
    func switchedOff() async throws {
        let fixture = try fixture { $0.routes[0].usesHTTPSRecords = false }
        try say(
            .bindings([HTTPDNSProviderAnswer.HTTPSRecord(priority: 1, port: 8443)], timeToLive: .seconds(60)),
            about: "one.test",
            in: fixture
        )
        #expect(try await texts(fixture.resolve("one.test")) == ["203.0.113.1:443"])
        #expect(fixture.provider.queries.allSatisfy { !$0.wantsHTTPSRecords })
    }
}

/// An executor that runs one task at a time, the newest first.
private final class NewestFirst: CallExecutor {
    private let queue = DispatchQueue(label: "newest-first")
    private let jobs = Lock<[UnownedJob]>([])

    func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        jobs.withLock { $0.append(job) }
        queue.async {
            self.jobs.withLock { $0.popLast() }?.runSynchronously(on: self.asUnownedTaskExecutor())
        }
    }

    func sleep(until deadline: MonotonicTime) async throws {
        try await Task.sleep(for: deadline - SystemTimeSource().now())
    }
}
