// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

import HTTPDNSCore
import HTTPDNSTesting
import Testing

struct SwitchedOffTests {
    private static let systemAddress = HTTPDNSAddress(v4: 203, 0, 113, 99)

    /// `img.shop.test` at the provider, `map.shop.test` mapped; the system knows both at 203.0.113.99.
    private func fixture(
        _ change: (inout HTTPDNSResolver.Configuration) throws -> Void = { _ in }
    ) throws -> ResolverFixture {
        let fixture = try ResolverFixture {
            $0.mappings = [
                try HTTPDNSMapping.Key("map.shop.test"): .addresses(["203.0.113.7"]),
                try HTTPDNSMapping.Key("alias.test"): .via("img.shop.test"),
            ]
            $0.routes = [
                HTTPDNSRoute(.suffix(try HTTPDNSName("shop.test")), .providers(["doh"], fallback: .off)),
                HTTPDNSRoute(.exact(try HTTPDNSName("pay.shop.test")), .providers(["doh"], fallback: .off)),
            ]
            try change(&$0)
        }
        for name in ["img.shop.test", "pay.shop.test"] { try fixture.say(["203.0.113.1"], about: name) }
        for name in ["img.shop.test", "map.shop.test", "pay.shop.test"] {
            try fixture.system.answer(.success([Self.systemAddress]), for: HTTPDNSName(name))
        }
        return fixture
    }

    /// Switched on, the fresh answers serve again immediately.
    @Test("Switched off, a resolver skips mappings, cached answers and providers")
    func everything() async throws {
        let fixture = try fixture()
        #expect(try await fixture.resolve("img.shop.test").addresses == ["203.0.113.1"])
        fixture.resolver.killSwitch.turnOff()
        for name in ["img.shop.test", "map.shop.test"] {
            let resolution = try await fixture.resolve(name)
            #expect(resolution.addresses == ["203.0.113.99"])
            #expect(resolution.source == .system && resolution.mapping == nil && resolution.route == nil)
            #expect(resolution.systemReason == .switchedOff)
            #expect(resolution.switchedOff?.origin == .api && resolution.switchedOff?.scope == .everything)
        }
        #expect(try fixture.immediate("img.shop.test")?.systemReason == .switchedOff, "out of the cache too")
        #expect(try fixture.immediate("203.0.113.5")?.source == .literal)
        let endpoint = HTTPDNSEndpoint(address: HTTPDNSAddress(v4: 203, 0, 113, 9), port: 1)
        #expect(try fixture.immediate("img.shop.test") { $0.addresses = [endpoint] }?.source == .request)
        #expect(fixture.provider.queries.count == 1)
        #expect(fixture.resolver.counters.switchedOff == 3)

        fixture.resolver.killSwitch.turnOn()
        let back = try #require(try fixture.immediate("img.shop.test"))
        #expect(
            back.addresses == ["203.0.113.1"] && back.isCached && back.systemReason == nil && back.switchedOff == nil
        )
        #expect(try fixture.immediate("map.shop.test")?.source == .mapping)
        #expect(fixture.provider.queries.count == 1)
        #expect(fixture.resolver.counters.switchedOff == 3)
    }

    @Test("A name unknown to the system fails while switched off, and the hint says so")
    func unknown() async throws {
        let fixture = try ResolverFixture()
        try fixture.say(["203.0.113.1"], about: "only.test")
        fixture.resolver.killSwitch.turnOff(by: .environment)
        let error = await #expect(throws: HTTPDNSResolver.Error.self) { try await fixture.resolve("only.test") }
        #expect(error?.code == .nameNotFound)
        #expect(error?.hint == "it is switched off, so mappings and providers were passed over")
        #expect(fixture.resolver.counters.switchedOff == 1)
    }

    @Test("Switching one route off leaves the others on, even behind via rules")
    func oneRoute() async throws {
        let fixture = try fixture()
        fixture.resolver.killSwitch.turnOff(.route(try HTTPDNSRoute.Pattern("*.shop.test")), by: .socket)
        #expect(try await fixture.resolve("img.shop.test").source == .system)
        #expect(try await fixture.resolve("map.shop.test").source == .system)
        #expect(try await fixture.resolve("pay.shop.test").source == .provider)
        let alias = try await fixture.resolve("alias.test")
        #expect(alias.source == .system && alias.systemReason == .switchedOff)
        #expect(alias.mapping?.via.map(\.description) == ["img.shop.test"])
        #expect(fixture.resolver.killSwitch.isOn)
        #expect(fixture.resolver.counters.switchedOff == 3)
    }

    @Test("A route disabled in the file is enabled again by a reload alone")
    func byFile() async throws {
        let fixture = try fixture { $0.routes[0].isEnabled = false }
        #expect(fixture.resolver.killSwitch.entries.map(\.origin) == [.file])
        #expect(try await fixture.resolve("img.shop.test").source == .system)
        fixture.resolver.killSwitch.turnOn(.route(try HTTPDNSRoute.Pattern("*.shop.test")))
        #expect(try await fixture.resolve("img.shop.test").source == .system)
        var settings = fixture.settings
        settings.routes[0].isEnabled = true
        try fixture.resolver.reload(settings)
        #expect(fixture.resolver.killSwitch.entries.isEmpty)
        #expect(try await fixture.resolve("img.shop.test").source == .provider)
        settings.routes[0].isEnabled = false
        try fixture.resolver.reload(settings)
        #expect(try await fixture.resolve("img.shop.test").source == .system)
    }

    @Test("A lookup that waits for a provider takes the system path when switched off")
    func whileWaiting() async throws {
        let fixture = try fixture()
        fixture.provider.hold()
        async let waiting = fixture.resolve("img.shop.test")
        await fixture.provider.queries(atLeast: 1)
        fixture.resolver.killSwitch.turnOff()
        #expect(try await waiting.source == .system)
        fixture.provider.release()
    }

    /// Nobody waits for the lookup any more, and it would go on to the second provider.
    @Test("Switching off ends lookups without waiters too, before the next provider")
    func withoutWaiters() async throws {
        let fixture = try ResolverFixture(providers: ["first", "second"])
        for index in 0..<2 { try fixture.say(["203.0.113.1"], about: "img.test", at: index) }
        fixture.provider.hold()
        let hasty = Task { try await fixture.resolve("img.test") { $0.timeLimit = .milliseconds(20) } }
        await fixture.provider.queries(atLeast: 1)
        // The limits of the query, of the provider's share and of the caller.
        await fixture.time.sleepers(atLeast: 3)
        fixture.time.advance(by: .milliseconds(20))
        await #expect(throws: HTTPDNSResolver.Error.self) { try await hasty.value }
        try #require(fixture.providers[1].queries.isEmpty)
        fixture.resolver.killSwitch.turnOff()
        try await settle()
        // Past the time at which the second provider would be asked, and not past that at which the lookup would end.
        fixture.time.advance(by: .milliseconds(500))
        try await settle()
        #expect(fixture.providers[1].queries.isEmpty)
    }

    @Test("Switching one route off does not affect lookups waiting for others")
    func othersWhileWaiting() async throws {
        let fixture = try fixture()
        fixture.provider.hold()
        async let off = fixture.resolve("img.shop.test")
        async let on = fixture.resolve("pay.shop.test")
        await fixture.provider.queries(atLeast: 2)
        fixture.resolver.killSwitch.turnOff(.route(try HTTPDNSRoute.Pattern("*.shop.test")))
        #expect(try await off.source == .system)
        fixture.provider.release()
        #expect(try await on.source == .provider)
    }

    @Test("Switching off looks up the names in use on the system path, and no others")
    func lookedUpAhead() async throws {
        let fixture = try fixture()
        _ = try await fixture.resolve("img.shop.test")
        _ = try await fixture.resolve("pay.shop.test")
        var listener = fixture.resolver.listener
        fixture.resolver.killSwitch.turnOff(.route(try HTTPDNSRoute.Pattern("*.shop.test")))
        await listener.wait(for: .answered)
        let resolution = try #require(try fixture.immediate("img.shop.test"))
        #expect(resolution.addresses == ["203.0.113.99"] && resolution.isCached)
        #expect(fixture.system.questions.map(\.description) == ["img.shop.test"])
        #expect(try fixture.immediate("pay.shop.test")?.source == .provider)
    }

    /// 200 names with a provider's addresses, all switched off, with their lookups ahead under way.
    private func lookingAhead() async throws -> ResolverFixture {
        let fixture = try ResolverFixture()
        for number in 0..<200 {
            try fixture.say(["203.0.113.1"], about: "n\(number).test")
            try fixture.system.answer(.success([Self.systemAddress]), for: HTTPDNSName("n\(number).test"))
            _ = try await fixture.resolve("n\(number).test")
        }
        fixture.system.hold()
        fixture.resolver.killSwitch.turnOff()
        await fixture.system.questions(atLeast: 32)
        return fixture
    }

    /// Long enough for lookups that should not be begun.
    private func settle() async throws {
        for _ in 0..<1000 { await Task.yield() }
        try await Task.sleep(for: .milliseconds(50))
    }

    @Test("Looking up ahead leaves half of the threads to other names")
    func lookAheadWidth() async throws {
        let fixture = try await lookingAhead()
        try await settle()
        #expect(fixture.system.questions.count == 32)
        fixture.system.release()
        await fixture.system.questions(atLeast: 200)
    }

    @Test("A shutdown ends the lookups ahead")
    func lookAheadAndShutdown() async throws {
        let fixture = try await lookingAhead()
        await fixture.resolver.shutdown()
        fixture.system.release()
        try await settle()
        #expect(fixture.system.questions.count == 32)
    }

    @Test("Names that are switched on again are not looked up ahead")
    func lookAheadAndSwitchOn() async throws {
        let fixture = try await lookingAhead()
        fixture.resolver.killSwitch.turnOn()
        fixture.system.release()
        try await settle()
        #expect(fixture.system.questions.count == 32)
    }

    @Test("Only the newest turn of the kill switch looks up ahead")
    func lookAheadTwice() async throws {
        let fixture = try await lookingAhead()
        fixture.resolver.killSwitch.turnOn()
        fixture.resolver.killSwitch.turnOff()
        try await settle()
        #expect(fixture.system.questions.count == 32, "both runs share the lookups under way")
        fixture.system.release()
        await fixture.system.questions(atLeast: 200)
        try await settle()
        #expect(Set(fixture.system.questions).count == 200 && fixture.system.questions.count == 200)
    }

    @Test("Switching a name off moves the lookups of its via rules, and no others")
    func viaWhileWaiting() async throws {
        let fixture = try fixture()
        try fixture.system.answer(.success([Self.systemAddress]), for: HTTPDNSName("alias.test"))
        fixture.provider.hold()
        async let alias = fixture.resolve("alias.test")
        await fixture.provider.queries(atLeast: 1)
        async let target = fixture.resolve("img.shop.test")
        while fixture.resolver.counters.joined < 1, !Task.isCancelled { await Task.yield() }
        fixture.resolver.killSwitch.turnOff(.route(try HTTPDNSRoute.Pattern("alias.test")))
        #expect(try await alias.source == .system)
        fixture.provider.release()
        #expect(try await target.source == .provider)
        #expect(fixture.provider.queries.count == 1)
    }

    @Test("The names of via rules are looked up ahead when they are switched off")
    func viaLookedUpAhead() async throws {
        let fixture = try fixture()
        try fixture.system.answer(.success([Self.systemAddress]), for: HTTPDNSName("alias.test"))
        _ = try await fixture.resolve("alias.test")
        fixture.resolver.killSwitch.turnOff(.route(try HTTPDNSRoute.Pattern("alias.test")))
        await fixture.system.questions(atLeast: 1)
        #expect(fixture.system.questions.map(\.description) == ["alias.test"])
    }

    @Test("A lookup follows the kill switch at whatever moment it turns", arguments: 1...8)
    func turnsWhileDeciding(reading: Int) async throws {
        let clock = TurningClock(at: reading)
        let fixture = try fixture { $0.timeSource = clock }
        fixture.provider.hold()
        clock.onTurn { fixture.resolver.killSwitch.turnOff() }
        async let waiting = fixture.resolve("img.shop.test")
        while !clock.hasTurned, fixture.provider.queries.isEmpty, !Task.isCancelled { await Task.yield() }
        fixture.resolver.killSwitch.turnOff()
        #expect(try await waiting.source == .system)
        fixture.provider.release()
    }

    /// The tasks of the lookup run one step at a time, and the switch is turned off after each number of steps.
    @Test(
        "No provider is queried after the switch is off, at any step of a lookup",
        arguments: [HTTPDNSRoute.Fallback.off, .system]
    )
    func turnsBetweenSteps(fallback: HTTPDNSRoute.Fallback) async throws {
        var (steps, wasQueried) = (0, false)
        while !wasQueried {
            let (fixture, executor) = (try ResolverFixture(fallback: fallback), SteppedExecutor())
            try fixture.say(["203.0.113.1"], about: "img.test")
            try fixture.system.answer(.success([Self.systemAddress]), for: HTTPDNSName("img.test"))
            let lookup = CallWork.$executor.withValue(executor) {
                CallWork.task { try? await fixture.resolve("img.test").source }
            }
            for _ in 0..<steps { await executor.step() }
            wasQueried = !fixture.provider.queries.isEmpty
            fixture.resolver.killSwitch.turnOff()
            executor.letGo()
            #expect(await lookup.value == .system)
            #expect(fixture.provider.queries.count == (wasQueried ? 1 : 0), "after \(steps) steps")
            steps += 1
        }
        #expect(steps > 2)
    }

    /// Each name alone, and both in one query.
    @Test("No provider is queried after the switch is off, at any step of a lookup ahead", arguments: [1, 5])
    func turnsWhilePreresolving(batchLimit: Int) async throws {
        let names = try ["a.test", "b.test"].map { try HTTPDNSName($0) }
        var (steps, wasQueried) = (0, false)
        while !wasQueried {
            let (fixture, executor) = (try ResolverFixture(batchLimit: batchLimit), SteppedExecutor())
            for name in names {
                try fixture.say(["203.0.113.1"], about: name.description)
                fixture.system.answer(.success([Self.systemAddress]), for: name)
            }
            let lookups = CallWork.$executor.withValue(executor) {
                CallWork.task { await fixture.resolver.preresolve(names) }
            }
            for _ in 0..<steps { await executor.step() }
            let count = fixture.provider.queries.count
            wasQueried = count > 0
            fixture.resolver.killSwitch.turnOff()
            executor.letGo()
            #expect(await lookups.value.isEmpty)
            #expect(fixture.provider.queries.count == count, "after \(steps) steps")
            steps += 1
        }
        #expect(steps > 2)
    }

    @Test("A refresh asks no provider for a name that is switched off")
    func refresh() async throws {
        let fixture = try fixture()
        _ = try await fixture.resolve("img.shop.test")
        fixture.resolver.killSwitch.turnOff()
        #expect(fixture.resolver.refresh([try HTTPDNSName("img.shop.test")], limit: 10).asked == 0)
        #expect(fixture.provider.queries.count == 1)
    }

    /// The failure is delivered in one step, and the addresses are used in a later one.
    @Test("No address of last resort is used after the switch is off")
    func lastResortBetweenSteps() async throws {
        var (steps, isOver) = (0, false)
        while !isOver {
            let executor = SteppedExecutor()
            let fixture = try ResolverFixture(fallback: .off) {
                let target = HTTPDNSMapping.Target(HTTPDNSAddress(v4: 203, 0, 113, 20))
                $0.mappings = [try HTTPDNSMapping.Key("img.test"): HTTPDNSMapping(.lastResort([target]))]
            }
            fixture.provider.answer(.failure(.unavailable), for: try HTTPDNSName("img.test"))
            try fixture.system.answer(.success([Self.systemAddress]), for: HTTPDNSName("img.test"))
            let lookup = CallWork.$executor.withValue(executor) {
                CallWork.task { try? await fixture.resolve("img.test").source }
            }
            for _ in 0..<steps { await executor.step() }
            isOver = fixture.resolver.counters.lastResort > 0
            fixture.resolver.killSwitch.turnOff()
            executor.letGo()
            #expect(await lookup.value == (isOver ? .lastResort : .system), "after \(steps) steps")
            steps += 1
        }
        #expect(steps > 2)
    }

    @Test("Turns of the kill switch are reported, with their origin")
    func events() async throws {
        let fixture = try fixture()
        var listener = fixture.resolver.listener
        fixture.resolver.killSwitch.turnOff(by: .socket)
        let off = await listener.wait(for: .switchedOff)
        #expect(off?.code == "socket" && off?.message == "everything")
        fixture.resolver.killSwitch.turnOn(by: .socket)
        #expect(await listener.wait(for: .switchedOn)?.message == "everything")
    }
}

/// A clock that stands still, and calls a function when it is read for the nth time from then on.
private final class TurningClock: TimeSource {
    private struct State: Sendable {
        var left: Int
        var action: (@Sendable () -> Void)?
        var hasTurned = false
    }

    private let clock = HTTPDNSManualClock()
    private let state: Lock<State>

    init(at reading: Int) { state = Lock(State(left: reading)) }

    var hasTurned: Bool { state.withLock { $0.hasTurned } }

    func onTurn(_ action: @escaping @Sendable () -> Void) { state.withLock { $0.action = action } }

    func now() -> MonotonicTime {
        let action = state.withLock { state -> (@Sendable () -> Void)? in
            guard state.action != nil else { return nil }
            state.left -= 1
            guard state.left == 0 else { return nil }
            return state.action
        }
        if let action {
            action()
            state.withLock { $0.hasTurned = true }
        }
        return clock.now()
    }

    func sleep(until deadline: MonotonicTime) async throws { try await clock.sleep(until: deadline) }
}

/// Runs the steps of tasks one at a time, in the order of their arrival, until it lets them go.
private final class SteppedExecutor: CallExecutor {
    private struct State {
        var jobs: [UnownedJob] = []
        var isOpen = false
    }

    private let state = Lock(State())

    func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        let isOpen = state.withLock { state in
            state.jobs.append(job)
            return state.isOpen
        }
        if isOpen { Task.detached { await self.step() } }
    }

    func sleep(until deadline: MonotonicTime) async throws {
        try await Task.sleep(for: deadline - SystemTimeSource().now())
    }

    func step() async {
        while !Task.isCancelled {
            let job = state.withLock { $0.jobs.isEmpty ? nil : $0.jobs.removeFirst() }
            if let job { return job.runSynchronously(on: asUnownedTaskExecutor()) }
            await Task.yield()
        }
    }

    func letGo() {
        let count = state.withLock { state in
            state.isOpen = true
            return state.jobs.count
        }
        for _ in 0..<count { Task.detached { await self.step() } }
    }
}
