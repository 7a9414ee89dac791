// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

import HTTPDNSTesting
import ServerRig
import Testing

@testable import HTTPDNSCore

struct RestoringTests {
    /// A store in memory, as good or bad as a test wants it.
    private final class MemoryStore: HTTPDNSResolutionStore {
        struct Broken: Error {}

        private struct State {
            var kept: [HTTPDNSStoredResolution] = []
            var saves: [MonotonicTime] = []
            var fails = false
        }

        private let state = Lock(State())
        private let time: @Sendable () -> MonotonicTime
        private let gate: OneShot<Void>?
        private let reading = OneShot<Void>()

        init(gate: OneShot<Void>? = nil, time: @escaping @Sendable () -> MonotonicTime = { .init(nanoseconds: 0) }) {
            self.gate = gate
            self.time = time
        }

        var kept: [HTTPDNSStoredResolution] {
            get { state.withLock { $0.kept } }
            set { state.withLock { $0.kept = newValue } }
        }
        var saves: [MonotonicTime] { state.withLock { $0.saves } }
        func breakDown() { state.withLock { $0.fails = true } }
        func mend() { state.withLock { $0.fails = false } }

        /// Returns once somebody is about to read.
        func isRead() async { await reading.value() }

        func load() async throws -> [HTTPDNSStoredResolution] {
            reading.deliver(())
            await gate?.value()
            return try state.withLock { state in
                if state.fails { throw Broken() }
                return state.kept
            }
        }

        func save(_ resolutions: [HTTPDNSStoredResolution]) async throws {
            let now = time()
            try state.withLock { state in
                state.saves.append(now)
                if state.fails { throw Broken() }
                state.kept = resolutions
            }
        }
    }

    /// A calendar that a test sets.
    private final class Calendar: Sendable {
        private let milliseconds = Lock<Int64>(1_800_000_000_000)

        var clock: WallClock { WallClock { self.milliseconds.withLock { $0 } } }
        func move(by difference: Int64) { milliseconds.withLock { $0 += difference } }
    }

    private let calendar = Calendar()

    private func fixture(
        _ store: any HTTPDNSResolutionStore,
        providers: [String] = ["doh"],
        scope: HTTPDNSAddressPolicy.Scope = .public,
        _ change: (inout HTTPDNSResolver.Configuration) throws -> Void = { _ in }
    ) throws -> ResolverFixture {
        return try ResolverFixture(providers: providers, scope: scope) {
            $0.store = store
            $0.wallClock = calendar.clock
            try change(&$0)
        }
    }

    /// A store with an answer of 60 s that a resolver got just before it was shut down.
    private func filled(
        _ addresses: [String] = ["203.0.113.1", "2001:db8::1"],
        scope: HTTPDNSAddressPolicy.Scope = .public
    ) async throws -> MemoryStore {
        let store = MemoryStore()
        let fixture = try fixture(store, scope: scope)
        try fixture.say(addresses, about: "img.test")
        _ = try await fixture.resolve("img.test")
        await fixture.resolver.shutdown()
        #expect(store.kept.count == 1)
        return store
    }

    @Test("Answers known at the shutdown are known at the next start, without a query")
    func survives() async throws {
        let store = try await filled()
        calendar.move(by: 20_000)
        let fixture = try fixture(store)
        await fixture.resolver.start()
        let first = try #require(try fixture.immediate("img.test"))
        #expect(first.addresses == ["203.0.113.1", "2001:db8::1"] && first.isCached && !first.isStale)
        #expect(first.age == .seconds(20) && first.timeToLive == .seconds(40))
        #expect(first.provider == "doh")
        #expect(fixture.provider.queries.isEmpty)
        #expect(fixture.resolver.counters.restored == 1)
    }

    @Test(
        "A stored answer past its life is stale, and past the stale limit not used",
        arguments: [(Int64(59_999), "fresh"), (60_000, "stale"), (119_999, "stale"), (120_000, "none")]
    )
    func ages(milliseconds: Int64, expected: String) async throws {
        let store = try await filled()
        calendar.move(by: milliseconds)
        let fixture = try fixture(store) { $0.cache.staleLimit = .seconds(60) }
        await fixture.resolver.start()
        try fixture.provider.answer(.failure(.unavailable), for: HTTPDNSName("img.test"))
        let resolution = try? await fixture.resolve("img.test")
        #expect(resolution.map { $0.isStale ? "stale" : "fresh" } ?? "none" == expected)
    }

    @Test(
        "A calendar off by a day at the restart makes no answer too young",
        arguments: [Int64(86_400_000), -86_400_000]
    )
    func dayOff(milliseconds: Int64) async throws {
        let store = try await filled()
        calendar.move(by: milliseconds)
        let fixture = try fixture(store)
        await fixture.resolver.start()
        #expect(try fixture.immediate("img.test") == nil)
        try fixture.provider.answer(.failure(.unavailable), for: HTTPDNSName("img.test"))
        let resolution = try? await fixture.resolve("img.test")
        // A day ahead it is older than the hour of the stale limit; from the future it can only be called stale.
        #expect(resolution?.isStale == (milliseconds > 0 ? nil : true))
    }

    @Test("Stored answers of a removed route or provider are not used")
    func otherSettings() async throws {
        let store = try await filled()
        for change in [
            { $0.routes = [HTTPDNSRoute(.any, .providers(["other"], fallback: .off))] },
            { $0.routes = [HTTPDNSRoute(.any, .system)] },
            { $0.routes[0].clientSubnet = HTTPDNSAddressBlock("198.51.100.0/24") },
            { $0.policy.denied = ["0.0.0.0/0", "::/0"].compactMap { HTTPDNSAddressBlock($0) } },
        ] as [(inout HTTPDNSResolver.Configuration) throws -> Void] {
            let fixture = try fixture(store, providers: ["doh", "other"]) {
                $0.routes = [HTTPDNSRoute(.any, .providers(["doh"], fallback: .off))]
                try change(&$0)
            }
            await fixture.resolver.start()
            #expect(try fixture.immediate("img.test") == nil)
            #expect(fixture.resolver.counters.restored == 0)
        }
    }

    @Test("Stored answers are used as far as the settings of the next start allow them")
    func allowedSettings() async throws {
        let store = try await filled()
        let both = ["203.0.113.1", "2001:db8::1"]
        for (expected, change) in [
            (both, { $0.routes[0].action = .providers(["other", "doh"], fallback: .system) }),
            (both, { $0.routes = [HTTPDNSRoute(.suffix(try HTTPDNSName("test")), $0.routes[0].action)] }),
            (["203.0.113.1"], { $0.families = .v4 }),
            (["2001:db8::1"], { $0.policy.denied = [try #require(HTTPDNSAddressBlock("203.0.113.0/24"))] }),
        ] as [([String], (inout HTTPDNSResolver.Configuration) throws -> Void)] {
            let fixture = try fixture(store, providers: ["doh", "other"]) {
                $0.routes = [HTTPDNSRoute(.any, .providers(["doh"], fallback: .off))]
                try change(&$0)
            }
            await fixture.resolver.start()
            #expect(try fixture.immediate("img.test")?.addresses == expected)
        }
    }

    private func doh(_ url: String) throws -> HTTPDNSDoHProvider {
        try HTTPDNSDoHProvider(HTTPDNSDoHProvider.Configuration(name: "doh", url: url))
    }

    @Test("Stored answers of another service under a provider's name are not used")
    func otherService() async throws {
        let store = try await filled()
        let url = "https://192.0.2.53/dns-query?token=hidden"
        let service = ProviderIdentity(of: try doh(url), number: 1).digest
        #expect(service == ProviderIdentity(of: try doh(url), number: 2).digest, "it is the same in each process")
        #expect(!service.contains("hidden") && service.utf8.count < 48)
        store.kept = store.kept.map {
            var kept = $0
            kept.route = service
            return kept
        }
        for (url, restores) in [(url, true), ("https://192.0.2.54/dns-query?token=hidden", false)] {
            let provider = try doh(url)
            let fixture = try fixture(store) { $0.providers = [provider] }
            await fixture.resolver.start()
            #expect(try (fixture.immediate("img.test")?.isStale == false) == restores)
            #expect(fixture.resolver.counters.restored == (restores ? 1 : 0))
            await fixture.resolver.shutdown()
        }
    }

    /// They name the route's providers, which may query another service by now.
    @Test("Answers that an earlier version stored serve only while the provider fails")
    func formerNames() async throws {
        let store = try await filled()
        for (name, fails, expected) in [
            ("* > doh", true, "stale"), ("* > doh", false, "fresh"), ("* > doh, backup", true, "none"),
        ] {
            store.kept = store.kept.map {
                var kept = $0
                kept.route = name
                return kept
            }
            let fixture = try fixture(store)
            await fixture.resolver.start()
            if fails { try fixture.provider.answer(.failure(.unavailable), for: HTTPDNSName("img.test")) }
            if !fails { try fixture.say(["203.0.113.9"], about: "img.test") }
            let answer = try? await fixture.resolve("img.test")
            #expect(answer.map { $0.isStale ? "stale" : "fresh" } ?? "none" == expected)
            #expect(answer?.addresses.first == (fails ? (expected == "none" ? nil : "203.0.113.1") : "203.0.113.9"))
        }
    }

    @Test("A stored answer passes the current policy, fresh and stale")
    func policy() async throws {
        let store = try await filled(["10.0.0.1", "203.0.113.1"], scope: .private)
        for age in [Int64(0), 60_000] {
            calendar.move(by: age)
            let today = try fixture(store)
            await today.resolver.start()
            try today.provider.answer(.failure(.unavailable), for: HTTPDNSName("img.test"))
            let resolution = try await today.resolve("img.test")
            #expect(resolution.isStale == (age > 0))
            #expect(resolution.addresses == ["203.0.113.1"])
        }
    }

    @Test("An answer learned before the store was read is not overwritten by it")
    func newerWins() async throws {
        let store = try await filled()
        let fixture = try fixture(store)
        try fixture.say(["203.0.113.9"], about: "img.test")
        let kept = store.kept
        store.kept = []
        _ = try await fixture.resolve("img.test")
        store.kept = kept
        await fixture.resolver.restore()
        #expect(try fixture.immediate("img.test")?.addresses == ["203.0.113.9"])
    }

    @Test("A resolver without a client loads its store at the first lookup")
    func loadsByItself() async throws {
        let store = try await filled()
        calendar.move(by: 20_000)
        let fixture = try fixture(store)
        let first = try await fixture.resolve("img.test")
        #expect(first.isCached && first.addresses == ["203.0.113.1", "2001:db8::1"])
        #expect(fixture.provider.queries.isEmpty && fixture.resolver.counters.restored == 1)
    }

    @Test("The first lookup waits for a hanging store no longer than its own limit")
    func hangingStore() async throws {
        let gate = OneShot<Void>()
        let store = MemoryStore(gate: gate)
        let fixture = try fixture(store)
        let pending = Task { try await fixture.resolve("img.test") { $0.timeLimit = .milliseconds(200) } }
        await store.isRead()
        await fixture.time.sleepers(atLeast: 2)
        fixture.time.advance(by: .milliseconds(200))
        let error = await #expect(throws: HTTPDNSResolver.Error.self) { try await pending.value }
        #expect(error?.code == .timedOut)
        gate.deliver(())
        await fixture.resolver.shutdown()
    }

    @Test(
        "A resolver without a client preresolves from the first lookup or start()",
        arguments: [true, false]
    )
    func resolvesAhead(starts: Bool) async throws {
        let fixture = try ResolverFixture { $0.preresolve = [try HTTPDNSName("img.test")] }
        try fixture.say(["203.0.113.1"], about: "img.test")
        if starts { await fixture.resolver.start() } else { _ = try? await fixture.resolve("other.test") }
        await fixture.provider.queries(atLeast: starts ? 1 : 2)
        #expect(fixture.provider.queries.contains { $0.host.description == "img.test" })
    }

    @Test(
        "A snapshot of an absurd age does not crash the process, whatever the limits",
        arguments: [Int64.min, .max, 0],
        [Int64.max, 60]
    )
    func absurdAge(receivedAt: Int64, timeToLive: Int64) async throws {
        let store = try await filled()
        store.kept = store.kept.map {
            var kept = $0
            kept.receivedAt = receivedAt
            kept.timeToLive = .seconds(timeToLive)
            return kept
        }
        let fixture = try fixture(store) {
            $0.cache.staleLimit = .seconds(Int64.max)
            $0.cache.maximumTimeToLive = .seconds(Int64.max)
        }
        try fixture.provider.answer(.failure(.unavailable), for: HTTPDNSName("img.test"))
        for _ in 0..<2 {
            let answer = try? await fixture.resolve("img.test")
            #expect((answer?.age ?? .zero) >= .zero)
            #expect(answer != nil || receivedAt == .min)
        }
    }

    @Test("A change is saved 30 s later, and not once for each answer")
    func savesLater() async throws {
        let time = HTTPDNSManualClock()
        let store = MemoryStore { time.now() }
        let fixture = try fixture(store) { $0.timeSource = time }
        var listener = fixture.resolver.listener
        let started = time.now()
        for number in 0..<5 {
            try fixture.say(["203.0.113.1"], about: "n\(number).test")
            _ = try await fixture.resolve("n\(number).test")
        }
        time.advance(by: .seconds(30) - .nanoseconds(1))
        #expect(store.saves.isEmpty)
        time.advance(by: .nanoseconds(1))
        #expect(await listener.wait(for: .snapshotSaved)?.count == 5)
        #expect(store.saves == [started + .seconds(30)])
        await fixture.resolver.shutdown()
        #expect(store.saves.count == 1)
    }

    @Test("Negative answers, failures and the system's answers are not stored")
    func keepsProvidersAnswers() async throws {
        let store = MemoryStore()
        let fixture = try fixture(store) {
            $0.routes.append(HTTPDNSRoute(.exact(try HTTPDNSName("system.test")), .system))
        }
        try fixture.system.answer(.success([HTTPDNSAddress(v4: 203, 0, 113, 9)]), for: HTTPDNSName("system.test"))
        try fixture.provider.answer(.failure(.unavailable), for: HTTPDNSName("bad.test"))
        try fixture.say(["203.0.113.1"], about: "img.test")
        for name in ["img.test", "system.test", "gone.test", "bad.test"] { _ = try? await fixture.resolve(name) }
        await fixture.resolver.shutdown()
        #expect(store.kept.map(\.host.description) == ["img.test"])
    }

    @Test("A failing store causes an event each time, and has no other effect")
    func broken() async throws {
        let store = MemoryStore()
        store.breakDown()
        let fixture = try fixture(store)
        var listener = fixture.resolver.listener
        await fixture.resolver.start()
        #expect(await listener.wait(for: .storeFailed)?.message?.hasPrefix("loading failed") == true)
        try fixture.say(["203.0.113.1"], about: "img.test")
        #expect(try await fixture.resolve("img.test").addresses == ["203.0.113.1"])
        await fixture.resolver.shutdown()
        #expect(await listener.wait(for: .storeFailed)?.message?.hasPrefix("saving failed") == true)
        #expect(await listener.wait(for: .storeFailed) == nil)
    }

    @Test("A store that does not respond is awaited for at most a second")
    func silent() async throws {
        let gate = OneShot<Void>()
        let fixture = try fixture(MemoryStore(gate: gate))
        async let started: Void = fixture.resolver.start()
        await fixture.time.sleepers(atLeast: 1)
        fixture.time.advance(by: .seconds(1))
        await started
        try fixture.say(["203.0.113.1"], about: "img.test")
        #expect(try await fixture.resolve("img.test").addresses == ["203.0.113.1"])
        gate.deliver(())
    }

    /// A damaged snapshot only causes an event.
    @Test("A snapshot on disk carries the answers of one resolver to the next")
    func disk() async throws {
        let folder = try TemporaryFolder()
        func fixture() throws -> ResolverFixture {
            try ResolverFixture {
                $0.snapshotPath = folder.file
                $0.wallClock = calendar.clock
            }
        }
        let before = try fixture()
        await before.resolver.start()
        for number in 0..<50 {
            try before.say(["203.0.113.\(number)"], about: "n\(number).test")
            _ = try await before.resolve("n\(number).test")
        }
        await before.resolver.shutdown()

        let after = try fixture()
        await after.resolver.start()
        for number in 0..<50 {
            #expect(try after.immediate("n\(number).test")?.addresses == ["203.0.113.\(number)"])
        }
        #expect(after.provider.queries.isEmpty)

        try folder.write(try folder.contents.dropLast(3))
        let damaged = try fixture()
        var listener = damaged.resolver.listener
        await damaged.resolver.start()
        #expect(await listener.wait(for: .storeFailed)?.message?.contains(folder.file) == true)
        #expect(try damaged.immediate("n1.test") == nil)
    }

    @Test("Answers that could not be saved are saved with the next answer")
    func savesAgain() async throws {
        let store = MemoryStore()
        let fixture = try fixture(store)
        await fixture.resolver.start()
        var listener = fixture.resolver.listener
        store.breakDown()
        try fixture.say(["203.0.113.1"], about: "img.test")
        _ = try await fixture.resolve("img.test")
        await fixture.time.sleepers(atLeast: 1)
        fixture.time.advance(by: .seconds(30))
        await listener.wait(for: .storeFailed)
        store.mend()
        try fixture.say(["203.0.113.2"], about: "pay.test")
        _ = try await fixture.resolve("pay.test")
        await fixture.time.sleepers(atLeast: 1)
        fixture.time.advance(by: .seconds(30))
        #expect(await listener.wait(for: .snapshotSaved)?.count == 2)
    }

    @Test("Answers that could not be saved are saved at shutdown, without a new answer")
    func savesAtTheEnd() async throws {
        let store = MemoryStore()
        let fixture = try fixture(store)
        var listener = fixture.resolver.listener
        store.breakDown()
        try fixture.say(["203.0.113.1"], about: "img.test")
        _ = try await fixture.resolve("img.test")
        await fixture.time.sleepers(atLeast: 1)
        fixture.time.advance(by: .seconds(30))
        await listener.wait(for: .storeFailed)
        store.mend()
        await fixture.resolver.shutdown()
        #expect(store.kept.map(\.host.description) == ["img.test"])
    }

    @Test("An answer forgotten while a slow store is read does not come back out of it")
    func forgottenMeanwhile() async throws {
        let filled = try await filled()
        let gate = OneShot<Void>()
        let slow = MemoryStore(gate: gate)
        slow.kept = filled.kept
        let fixture = try fixture(slow)
        async let restored = fixture.resolver.restore()
        await slow.isRead()
        fixture.resolver.removeAllCached()
        gate.deliver(())
        #expect(await restored == 0)
        #expect(try fixture.immediate("img.test") == nil)
    }

    @Test("A stored answer is limited to 16 different addresses, like any other answer")
    func tooManyAddresses() async throws {
        let store = try await filled()
        store.kept[0].addresses = (1...40).flatMap {
            [HTTPDNSAddress(v4: 203, 0, 113, $0), HTTPDNSAddress(v4: 203, 0, 113, $0)]
        }
        let fixture = try fixture(store)
        await fixture.resolver.start()
        let expected = (1...16).map { "203.0.113.\($0)" }
        #expect(try fixture.immediate("img.test")?.addresses == expected)
    }
}
