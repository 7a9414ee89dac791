// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

import HTTPDNSCore
import HTTPDNSTesting
import Testing

struct PreresolvingTests {
    private func names(_ count: Int) throws -> [HTTPDNSName] { try (0..<count).map { try HTTPDNSName("n\($0).test") } }

    /// First requests add none.
    @Test("Twenty names at a provider that takes batches of five are four queries")
    func batches() async throws {
        let fixture = try ResolverFixture(batchLimit: 5)
        let names = try names(20)
        for name in names { try fixture.say(["203.0.113.1"], about: name.description) }
        #expect(await fixture.resolver.preresolve(names + names).isEmpty)
        #expect(fixture.provider.batches.map(\.count) == [5, 5, 5, 5])
        #expect(Set(fixture.provider.batches.flatMap { $0 }) == Set(names))
        #expect(fixture.provider.queries.count == 4)
        for name in names { #expect(try fixture.immediate(name.description)?.addresses == ["203.0.113.1"]) }
        // What is known is not asked for again.
        #expect(await fixture.resolver.preresolve(names).isEmpty)
        #expect(fixture.provider.queries.count == 4)
    }

    @Test("Names that fail are returned with their reasons, and the others are known")
    func failures() async throws {
        let fixture = try ResolverFixture(batchLimit: 5)
        let names = try names(5)
        for name in names.dropFirst(2) { try fixture.say(["203.0.113.1"], about: name.description) }
        fixture.provider.answer(.failure(.unavailable), for: names[0])
        let failures = await fixture.resolver.preresolve(names)
        #expect(failures.mapValues(\.code) == [names[0]: .providersFailed, names[1]: .nameNotFound])
        for name in names.dropFirst(2) { #expect(try fixture.immediate(name.description) != nil) }
    }

    @Test("Names without a route are asked of the system, and of no provider")
    func leftToSystem() async throws {
        let fixture = try ResolverFixture(batchLimit: 5) {
            $0.routes = [HTTPDNSRoute(.suffix(try HTTPDNSName("shop.test")), .providers(["doh"], fallback: .off))]
        }
        let names = try ["a.shop.test", "b.shop.test", "c.test", "db"].map { try HTTPDNSName($0) }
        for name in names.prefix(2) { try fixture.say(["203.0.113.1"], about: name.description) }
        for name in names.dropFirst(2) {
            fixture.system.answer(.success([HTTPDNSAddress(v4: 203, 0, 113, 9)]), for: name)
        }
        #expect(await fixture.resolver.preresolve(names).isEmpty)
        #expect(fixture.provider.batches.count == 1)
        #expect(Set(fixture.system.questions) == Set(names.dropFirst(2)))
        #expect(try fixture.immediate("db")?.source == .system)
    }

    @Test("A lookup of a name in a batch in flight shares its answer")
    func shared() async throws {
        let fixture = try ResolverFixture(batchLimit: 5)
        let names = try names(5)
        for name in names { try fixture.say(["203.0.113.1"], about: name.description) }
        fixture.provider.hold()
        async let failures = fixture.resolver.preresolve(names)
        await fixture.provider.queries(atLeast: 1)
        async let one = fixture.resolve("n3.test")
        while fixture.resolver.counters.joined < 1, !Task.isCancelled { await Task.yield() }
        fixture.provider.release()
        #expect(try await one.addresses == ["203.0.113.1"])
        #expect(await failures.isEmpty)
        #expect(fixture.provider.queries.count == 1)
    }

    @Test("A name that its batch leaves out is not queried once it is switched off")
    func switchedOff() async throws {
        let fixture = try ResolverFixture(batchLimit: 5)
        let names = try names(5)
        for name in names { fixture.system.answer(.success([HTTPDNSAddress(v4: 203, 0, 113, 9)]), for: name) }
        fixture.provider.answer(.failure(.unavailable), for: names[0])
        fixture.provider.hold()
        async let failures = fixture.resolver.preresolve(names)
        await fixture.provider.queries(atLeast: 1)
        fixture.resolver.killSwitch.turnOff(.everything)
        fixture.provider.release()
        #expect(await failures.isEmpty)
        #expect(fixture.provider.queries.count == 1)
    }

    @Test("A batch that waits for its place is sent without the names that are switched off", arguments: [10, 7, 6])
    func switchedOffInQueue(switchedOff: Int) async throws {
        let fixture = try ResolverFixture(batchLimit: 5) { $0.providerLimits["doh"] = .init(maximumInFlight: 1) }
        let names = try names(10)
        for name in names {
            fixture.system.answer(.success([HTTPDNSAddress(v4: 203, 0, 113, 9)]), for: name)
            fixture.provider.answer(
                .answer(.addresses([HTTPDNSAddress(v4: 203, 0, 113, 1)], timeToLive: .seconds(60))),
                for: name
            )
        }
        fixture.provider.hold()
        async let failures = fixture.resolver.preresolve(names)
        await fixture.provider.queries(atLeast: 1)
        let first = fixture.provider.batches[0]
        let others = Set(names).subtracting(first).sorted()
        let off = first + others.prefix(switchedOff - first.count)
        for name in off { fixture.resolver.killSwitch.turnOff(.route(.exact(name))) }
        fixture.provider.release()
        #expect(await failures.isEmpty)
        let later = fixture.provider.batches.dropFirst().map { $0.sorted() }
        #expect(later == (off.count == 10 ? [] : [others.filter { !off.contains($0) }]))
    }

    @Test("A batch at a provider that hangs ends when the last of its names is switched off")
    func switchedOffInFlight() async throws {
        let fixture = try ResolverFixture(batchLimit: 5)
        let names = try names(5)
        for name in names { fixture.system.answer(.success([HTTPDNSAddress(v4: 203, 0, 113, 9)]), for: name) }
        fixture.provider.hold()
        async let failures = fixture.resolver.preresolve(names)
        await fixture.provider.queries(atLeast: 1)
        for name in names { fixture.resolver.killSwitch.turnOff(.route(.exact(name))) }
        // The clock stands still, and the provider never answers.
        #expect(await failures.isEmpty)
        #expect(Set(fixture.system.questions) == Set(names))
        fixture.provider.release()
    }

    /// One is left out, one denied.
    @Test("A name that its batch left open gets its own lookup, at other providers too")
    func leftOpen() async throws {
        let fixture = try ResolverFixture(providers: ["ali", "backup"], batchLimit: 5) {
            $0.routes[0].wantsSecondOpinion = true
        }
        let names = try names(3)
        let known = HTTPDNSProviderAnswer.addresses([HTTPDNSAddress(v4: 203, 0, 113, 1)], timeToLive: .seconds(60))
        fixture.provider.answer(.answer(known), for: names[0])
        fixture.provider.answer(.failure(.unavailable), for: names[1])
        for name in names { fixture.providers[1].answer(.answer(known), for: name) }
        #expect(await fixture.resolver.preresolve(names).isEmpty)
        #expect(fixture.provider.batches.count == 1)
        // Who denied a name is not asked for it again.
        #expect(fixture.provider.queries.map(\.host).dropFirst() == [names[1]])
        #expect(Set(fixture.providers[1].queries.map(\.host)) == Set(names.dropFirst()))
    }

    /// A batch at a provider that keeps silent, on a route with `fallback: system`; the system knows the names.
    private func silentBatch() throws -> (ResolverFixture, [HTTPDNSName]) {
        let fixture = try ResolverFixture(batchLimit: 5, fallback: .system)
        let names = try names(5)
        for name in names {
            fixture.provider.answer(.silence, for: name)
            fixture.system.answer(.success([HTTPDNSAddress(v4: 203, 0, 113, 9)]), for: name)
        }
        return (fixture, names)
    }

    @Test(
        "A call for a name of a batch reaches the system resolver after half of its limit",
        arguments: [.seconds(1), nil] as [Duration?]
    )
    func joinsSilentBatch(limit: Duration?) async throws {
        let (fixture, names) = try silentBatch()
        async let failures = fixture.resolver.preresolve(names)
        await fixture.provider.queries(atLeast: 1)
        async let one = fixture.resolve("n3.test") { $0.timeLimit = limit }
        await fixture.time.sleepers(atLeast: 3)
        let half = (limit ?? .seconds(3)) / 2
        fixture.time.advance(by: half)
        let resolution = try await one
        #expect(resolution.source == .system && resolution.elapsed == half)
        fixture.time.advance(by: .seconds(1))
        fixture.time.advance(by: .seconds(2))
        #expect(await failures.isEmpty)
    }

    @Test("A call for a name of a batch is not delayed by a provider in quarantine")
    func joinsBatchInQuarantine() async throws {
        let (fixture, names) = try silentBatch()
        async let failures = fixture.resolver.preresolve(names)
        await fixture.provider.queries(atLeast: 1)
        try fixture.system.answer(.success([HTTPDNSAddress(v4: 203, 0, 113, 9)]), for: HTTPDNSName("other.test"))
        try fixture.provider.answer(.failure(.unavailable), for: HTTPDNSName("other.test"))
        #expect(try await fixture.resolve("other.test").source == .system)
        let resolution = try await fixture.resolve("n3.test")
        #expect(resolution.source == .system && resolution.elapsed == .zero)
        fixture.time.advance(by: .seconds(1))
        fixture.time.advance(by: .seconds(2))
        #expect(await failures.isEmpty)
    }

    @Test("A canceled batch leaves a lookup alone that has its own query")
    func cancels() async throws {
        let (fixture, names) = try silentBatch()
        fixture.system.hold()
        var listener = fixture.resolver.listener
        let batch = Task { await fixture.resolver.preresolve(names) }
        await fixture.provider.queries(atLeast: 1)
        let one = Task { try await fixture.resolve("n3.test") { $0.timeLimit = .seconds(1) } }
        await fixture.time.sleepers(atLeast: 3)
        fixture.time.advance(by: .milliseconds(500))
        await fixture.system.questions(atLeast: 1)
        one.cancel()
        _ = await one.result
        batch.cancel()
        _ = await batch.value
        fixture.system.release()
        await listener.wait(for: .answered)
        #expect(try fixture.immediate("n3.test")?.source == .system)
    }

    @Test("A provider without batches is queried for each name")
    func singles() async throws {
        let fixture = try ResolverFixture()
        let names = try names(50)
        for name in names { try fixture.say(["203.0.113.1"], about: name.description) }
        #expect(await fixture.resolver.preresolve(names).isEmpty)
        #expect(fixture.provider.queries.count == 50)
    }

    @Test("A batch leaves the system resolver its share of the time")
    func batchDeadline() async throws {
        let (fixture, names) = try silentBatch()
        async let failures = fixture.resolver.preresolve(names)
        await fixture.provider.queries(atLeast: 1)
        await fixture.time.sleepers(atLeast: 2)
        fixture.time.advance(by: .milliseconds(1500))
        #expect(await failures.isEmpty)
        #expect(Set(fixture.system.questions) == Set(names))
    }

    @Test("The names in the settings are resolved from the start")
    func atStart() async throws {
        let names = try names(3)
        let fixture = try ResolverFixture(batchLimit: 5) { $0.preresolve = names }
        for name in names { try fixture.say(["203.0.113.1"], about: name.description) }
        var listener = fixture.resolver.listener
        await fixture.resolver.start()
        for _ in names { await listener.wait(for: .answered) }
        for name in names { #expect(try fixture.immediate(name.description) != nil) }
        #expect(fixture.provider.queries.count == 1)
    }

    @Test("Each name of a batch is available as soon as its own query is answered")
    func oneBatchAtATime() async throws {
        let fixture = try ResolverFixture(batchLimit: 5)
        let names = try names(10)
        for name in names {
            try fixture.say(["203.0.113.1"], about: name.description)
            fixture.provider.hold(name)
        }
        var listener = fixture.resolver.listener
        async let failures = fixture.resolver.preresolve(names)
        await fixture.provider.queries(atLeast: 2)
        let batches = fixture.provider.batches
        fixture.provider.release(fixture.provider.queries[0].host)
        for _ in batches[0] { await listener.wait(for: .answered) }
        for name in batches[0] { #expect(try fixture.immediate(name.description) != nil) }
        for name in batches[1] { #expect(try fixture.immediate(name.description) == nil) }
        for name in names { fixture.provider.release(name) }
        #expect(await failures.isEmpty)
    }
}
