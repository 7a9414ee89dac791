// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

import HTTPDNSCore
import HTTPDNSTesting
import ServerRig
import Testing

struct SharedLookupTests {
    @Test("1,000 concurrent misses make 1 query, and all get the answer")
    func coalesces() async throws {
        let fixture = try ResolverFixture()
        try fixture.say(["203.0.113.1"], about: "img.test")
        fixture.provider.hold()
        let resolver = fixture.resolver
        let host = HTTPDNSHost.name(try HTTPDNSName("img.test"))
        let answered = try await withThrowingTaskGroup(of: HTTPDNSResolver.Resolution.self) { group in
            for number in 0..<1_000 {
                group.addTask { try await resolver.resolve(HTTPDNSResolver.Query(host, port: UInt16(1 + number))) }
            }
            await fixture.provider.queries(atLeast: 1)
            fixture.provider.release()
            var ports: Set<UInt16> = []
            for try await resolution in group { ports.formUnion(resolution.endpoints.map(\.port)) }
            return ports.count
        }
        #expect(answered == 1_000)
        #expect(fixture.provider.queries.count == 1)
    }

    @Test("Concurrent misses make one query even when it completes fast", arguments: 0..<20)
    func coalescesFast(round: Int) async throws {
        let fixture = try ResolverFixture()
        try fixture.say(["203.0.113.1"], about: "img.test")
        let resolver = fixture.resolver
        let question = HTTPDNSResolver.Query(.name(try HTTPDNSName("img.test")), port: 443)
        try await concurrently(50) { _ in _ = try? await resolver.resolve(question) }
        #expect(fixture.provider.queries.count == 1)
    }

    @Test("A canceled first caller returns immediately, and the others get the answer")
    func cancelsFirst() async throws {
        let fixture = try ResolverFixture()
        try fixture.say(["203.0.113.1"], about: "img.test")
        fixture.provider.hold()
        let first = Task { try await fixture.resolve("img.test") }
        await fixture.provider.queries(atLeast: 1)
        let second = Task { try await fixture.resolve("img.test") { $0.timeLimit = .seconds(2) } }
        // The second has its own, shorter limit: its sleeper beside the query's and the flight's shows that it waits.
        await fixture.time.sleepers(atLeast: 3)
        first.cancel()
        await #expect(throws: CancellationError.self) { try await first.value }
        fixture.provider.release()
        #expect(try await second.value.addresses == ["203.0.113.1"])
        #expect(fixture.provider.queries.count == 1)
    }

    @Test("When the last waiter leaves, the lookup is canceled and its key is free")
    func cancelsLast() async throws {
        let fixture = try ResolverFixture()
        try fixture.say(["203.0.113.1"], about: "img.test")
        fixture.provider.hold()
        let only = Task { try await fixture.resolve("img.test") }
        await fixture.provider.queries(atLeast: 1)
        only.cancel()
        await #expect(throws: CancellationError.self) { try await only.value }
        async let next = fixture.resolve("img.test")
        await fixture.provider.queries(atLeast: 2)
        fixture.provider.release()
        #expect(try await next.addresses == ["203.0.113.1"])
    }

    @Test("A task that is already canceled sends no query")
    func cancelledBefore() async throws {
        let fixture = try ResolverFixture()
        try fixture.say(["203.0.113.1"], about: "img.test")
        let task = Task {
            withUnsafeCurrentTask { $0?.cancel() }
            return try await fixture.resolve("img.test")
        }
        await #expect(throws: CancellationError.self) { try await task.value }
        #expect(fixture.provider.queries.isEmpty)
    }

    @Test("Canceling and completing at the same moment leaves no caller waiting", arguments: 0..<50)
    func cancelRaces(round: Int) async throws {
        let fixture = try ResolverFixture()
        try fixture.say(["203.0.113.1"], timeToLive: .zero, about: "img.test")
        fixture.provider.hold()
        let tasks = (0..<8).map { _ in Task { try await fixture.resolve("img.test") } }
        await fixture.provider.queries(atLeast: 1)
        async let canceling: Void = { for task in tasks.prefix(4) { task.cancel() } }()
        fixture.provider.release()
        await canceling
        for task in tasks { _ = await task.result }
        for task in tasks.dropFirst(4) { #expect(try await task.value.addresses == ["203.0.113.1"]) }
    }

    @Test("A failed lookup frees its key, and all waiters get the failure")
    func failureFreesKey() async throws {
        let fixture = try ResolverFixture()
        let host = try HTTPDNSName("img.test")
        fixture.provider.answer(.failure(.unavailable), for: host)
        fixture.provider.hold()
        let tasks = (0..<10).map { _ in Task { try await fixture.resolve("img.test") } }
        await fixture.provider.queries(atLeast: 1)
        fixture.provider.release()
        for task in tasks {
            let error = await #expect(throws: HTTPDNSResolver.Error.self) { try await task.value }
            #expect(error?.code == .providersFailed)
        }
        fixture.time.advance(by: .seconds(1))
        try fixture.say(["203.0.113.1"], about: "img.test")
        #expect(try await fixture.resolve("img.test").addresses == ["203.0.113.1"])
    }

    @Test("A waiter's own shorter limit holds, and the lookup continues for the others")
    func ownLimit() async throws {
        let fixture = try ResolverFixture()
        try fixture.say(["203.0.113.1"], about: "img.test")
        fixture.provider.hold()
        let patient = Task { try await fixture.resolve("img.test") }
        await fixture.provider.queries(atLeast: 1)
        let hasty = Task { try await fixture.resolve("img.test") { $0.timeLimit = .milliseconds(500) } }
        // The query's limit, the flight's end, and the hasty one's own.
        await fixture.time.sleepers(atLeast: 3)
        fixture.time.advance(by: .milliseconds(500))
        let error = await #expect(throws: HTTPDNSResolver.Error.self) { try await hasty.value }
        #expect(error?.code == .timedOut)
        #expect(error?.limit == .milliseconds(500))
        fixture.provider.release()
        #expect(try await patient.value.addresses == ["203.0.113.1"])
        #expect(fixture.provider.queries.count == 1)
    }

    @Test("A zero limit times out immediately, but still serves cached answers")
    func noTime() async throws {
        let fixture = try ResolverFixture()
        try fixture.say(["203.0.113.1"], about: "img.test")
        let error = await #expect(throws: HTTPDNSResolver.Error.self) {
            try await fixture.resolve("img.test") { $0.timeLimit = .zero }
        }
        #expect(error?.code == .timedOut)
        #expect(fixture.provider.queries.isEmpty)
        _ = try await fixture.resolve("img.test")
        #expect(try await fixture.resolve("img.test") { $0.timeLimit = .zero }.isCached)
    }

    @Test("A lookup whose waiters timed out goes on for later callers")
    func outlivesShortLimits() async throws {
        let fixture = try ResolverFixture()
        try fixture.say(["203.0.113.1"], about: "img.test")
        fixture.provider.hold()
        let hasty = Task { try await fixture.resolve("img.test") { $0.timeLimit = .seconds(1) } }
        await fixture.time.sleepers(atLeast: 3)
        fixture.time.advance(by: .seconds(1))
        await #expect(throws: HTTPDNSResolver.Error.self) { try await hasty.value }
        async let next = fixture.resolve("img.test") { $0.timeLimit = .seconds(1) }
        await fixture.time.sleepers(atLeast: 3)
        fixture.provider.release()
        #expect(try await next.addresses == ["203.0.113.1"])
        #expect(fixture.provider.queries.count == 1)
    }

    @Test("Lookups beyond the bound are refused, and those in flight are still shared")
    func boundsLookups() async throws {
        let fixture = try ResolverFixture(maximumLookups: 2)
        try fixture.say(["203.0.113.1"], about: "a.test")
        fixture.provider.hold()
        async let first = fixture.resolve("a.test")
        let second = Task { try await fixture.resolve("b.test") }
        await fixture.provider.queries(atLeast: 2)
        let error = await #expect(throws: HTTPDNSResolver.Error.self) { try await fixture.resolve("c.test") }
        #expect(error?.code == .overloaded)
        async let shared = fixture.resolve("a.test", port: 80)
        fixture.provider.release()
        #expect(try await first.addresses == ["203.0.113.1"])
        #expect(try await shared.addresses == ["203.0.113.1"])
        await #expect(throws: HTTPDNSResolver.Error.self) { try await second.value }
        await #expect(throws: HTTPDNSResolver.Error.self) { try await fixture.resolve("c.test") }
        #expect(fixture.provider.queries.count == 3)
    }

    @Test("Lookups that differ in family or route are not shared")
    func keepsApart() async throws {
        let fixture = try ResolverFixture()
        try fixture.say(["203.0.113.1", "2001:db8::1"], about: "img.test")
        try fixture.system.answer(.success([HTTPDNSAddress(v4: 203, 0, 113, 9)]), for: HTTPDNSName("img.test"))
        fixture.provider.hold()
        async let both = fixture.resolve("img.test")
        async let v6 = fixture.resolve("img.test") { $0.families = .v6 }
        await fixture.provider.queries(atLeast: 2)
        #expect(try await fixture.resolve("img.test") { $0.usesSystemResolver = true }.addresses == ["203.0.113.9"])
        fixture.provider.release()
        #expect(try await both.addresses == ["203.0.113.1", "2001:db8::1"])
        #expect(try await v6.addresses == ["2001:db8::1"])
    }
}
