// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

import HTTPDNS
import ServerRig
import Testing

/// What callers notice of a provider that is slow, gone or wrong: nothing. On the real clock, with BIND as the provider.
///
/// Its tests need the machine for themselves, one after the other: beside a thousand others, whose work fills all cores, time
/// passes for everybody. `make test` runs them alone.
@Suite(
    "Cached names without waiting",
    .serialized,
    .enabled("needs its process for itself: HTTPDNS_TEST_ALONE=1") { ServerRig.hasProcessForItself },
    .enabled(if: ServerRig.isAvailable([.nginx, .bind]))
)
struct NeverWaitingTests {
    /// Runs `body` with a resolver that is shut down afterwards.
    private func withResolver(
        _ configuration: HTTPDNSResolver.Configuration,
        _ body: (HTTPDNSResolver) async throws -> Void
    )
        async throws
    {
        let resolver = try HTTPDNSResolver(configuration)
        let result: Result<Void, any Error>
        do { result = .success(try await body(resolver)) } catch { result = .failure(error) }
        await resolver.shutdown()
        try result.get()
    }

    private func question(_ name: String) throws -> HTTPDNSResolver.Query {
        HTTPDNSResolver.Query(.name(try HTTPDNSName(name)), port: 443)
    }

    @Test("A thousand concurrent misses on a name are one query a family in BIND's log")
    func oneFlight() async throws {
        let rig = try await ServerRig.shared()
        let name = "thousand.wild.test"
        let mark = rig.bindLogMark()
        try await withResolver(try rig.settings().resolver) { resolver in
            let question = try question(name)
            let addresses = try await withThrowingTaskGroup(of: String?.self) { group in
                for _ in 0..<1_000 {
                    group.addTask { try await resolver.resolve(question).endpoints.first?.address.description }
                }
                return try await group.reduce(into: Set<String?>()) { $0.insert($1) }
            }
            #expect(addresses == ["127.0.0.4"])
            let counters = resolver.counters
            #expect(counters.misses == 1 && counters.joined + counters.hits == 999)
        }
        #expect(try rig.queryCount(of: name, type: "A", since: mark) == 1)
        #expect(try rig.queryCount(of: name, type: "AAAA", since: mark) == 1)
    }

    /// The time to live is 5 s, and the test lasts for several of them.
    @Test("A name in use never waits again after its first answer")
    func hotName() async throws {
        let rig = try await ServerRig.shared()
        let name = "hot.wild.test"
        try await rig.setRecords(name, timeToLive: 5, ["127.0.0.2"])
        var configuration = try rig.settings().resolver
        configuration.families = .v4
        let mark = rig.bindLogMark()
        try await withResolver(configuration) { resolver in
            let question = try question(name)
            let clock = SystemTimeSource()
            let end = clock.now() + .seconds(ServerRig.hasTime ? 60 : 18)
            var answers = 0
            while clock.now() < end {
                #expect(try await resolver.resolve(question).isStale == false)
                answers += 1
                // The pace of the callers, who come more often than a refresh may begin late.
                try await clock.sleep(until: clock.now() + .milliseconds(10))
            }
            let counters = resolver.counters
            #expect(counters.misses == 1 && counters.joined == 0 && counters.hits == answers - 1)
            #expect(counters.refreshesSucceeded >= 3 && counters.refreshesFailed == 0)
            #expect(try rig.queryCount(of: name, since: mark) <= counters.refreshesStarted + 1)
        }
        try await rig.removeRecords(name)
    }

    /// BIND is held for many times the time to live.
    @Test("A held provider fails no request, and each late answer is marked stale")
    func heldProvider() async throws {
        let rig = try await ServerRig.start()
        let names = (0..<10).map { "warm\($0).wild.test" }
        let life = ServerRig.hasTime ? 5 : 2
        for name in names { try await rig.setRecords(name, timeToLive: life, ["127.0.0.2"]) }
        var configuration = try rig.settings().resolver
        configuration.families = .v4
        try await withResolver(configuration) { resolver in
            let questions = try names.map(question)
            for question in questions { _ = try await resolver.resolve(question) }
            rig.holdBind()
            let clock = SystemTimeSource()
            let held = clock.now()
            var stale = 0
            var wrong: [HTTPDNSResolver.Resolution] = []
            while clock.now() < held + .seconds(ServerRig.hasTime ? 120 : 6) {
                for question in questions {
                    let resolution = try await resolver.resolve(question)
                    if resolution.isStale { stale += 1 }
                    if resolution.isStale != (resolution.age >= .seconds(life)) { wrong.append(resolution) }
                }
                try await clock.sleep(until: clock.now() + .milliseconds(50))
            }
            #expect(wrong.isEmpty, "\(wrong.count), such as \(String(describing: wrong.first))")
            #expect(stale > 10 && resolver.counters.staleServed == stale)
            rig.resumeBind()
            // Alive again, it is found by the next probe: what it says is fresh.
            while try await resolver.resolve(questions[0]).isStale {
                try await clock.sleep(until: clock.now() + .milliseconds(50))
            }
        }
        try await rig.stop()
    }

    @Test("A black-holed first provider costs only the first lookup the hedge delay")
    func blackHole() async throws {
        let rig = try await ServerRig.shared()
        let hole = try BlackHole()
        var configuration = try rig.settings().resolver
        configuration.families = .v4
        configuration.attemptLimit = .seconds(30)
        configuration.providers.append(
            try HTTPDNSDoHProvider(.init(name: "hole", url: "http://127.0.0.1:\(hole.port)/dns-query"))
        )
        configuration.routes = [HTTPDNSRoute(.any, .providers(["hole", "bind"], fallback: .off))]
        try await withResolver(configuration) { resolver in
            for number in 0..<50 {
                let resolution = try await resolver.resolve(question("hole\(number).wild.test"))
                #expect(resolution.provider == "bind")
                // Less than waiting for the first provider would cost.
                #expect(resolution.elapsed < .seconds(30))
            }
            let counters = resolver.counters
            #expect(counters.providers["bind"]?.answers == 50)
            // Asked late the first time, and in the first place from then on.
            #expect(counters.providers["bind"]?.hedges == 1, "\(counters.providers)")
        }
        withExtendedLifetime(hole) {}
    }
}
