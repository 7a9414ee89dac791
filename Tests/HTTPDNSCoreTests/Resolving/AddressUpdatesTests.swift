// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

import HTTPDNSTesting
import Testing

@testable import HTTPDNSCore

struct AddressUpdatesTests {
    private typealias Updates = HTTPDNSResolver.AddressUpdates

    private func updates(_ fixture: ResolverFixture) throws -> Updates.Iterator {
        fixture.resolver.addresses(of: .init(try HTTPDNSHost("img.test"), port: 443)).makeAsyncIterator()
    }

    /// Returns the next addresses, while the clock goes on.
    private func next(_ iterator: inout Updates.Iterator, _ fixture: ResolverFixture) async throws -> [String]? {
        let clock = Task {
            while !Task.isCancelled {
                await fixture.time.sleepers(atLeast: 1)
                fixture.time.advance(by: .milliseconds(100))
                await Task.yield()
            }
        }
        defer { clock.cancel() }
        return try await iterator.next()?.addresses
    }

    @Test("Each decision of an operator is delivered within the interval")
    func decisions() async throws {
        let fixture = try ResolverFixture(fallback: .system)
        try fixture.say(["203.0.113.1"], timeToLive: .seconds(3600), about: "img.test")
        let own = try #require(HTTPDNSAddress("198.51.100.1"))
        try fixture.system.answer(.success([own]), for: HTTPDNSName("img.test"))
        var iterator = try updates(fixture)
        #expect(try await next(&iterator, fixture) == ["203.0.113.1"])
        let decisions: [(to: [String], () throws -> Void)] = [
            (["192.0.2.1"], { try fixture.resolver.mappings.apply { $0["img.test"] = .addresses(["192.0.2.1"]) } }),
            (["198.51.100.1"], { fixture.resolver.killSwitch.turnOff() }),
            (["192.0.2.1"], { fixture.resolver.killSwitch.turnOn() }),
            (["203.0.113.1"], { try fixture.resolver.mappings.apply { $0.hide("img.test") } }),
        ]
        for (addresses, decide) in decisions {
            let start = fixture.time.now()
            try decide()
            #expect(try await next(&iterator, fixture) == addresses)
            #expect(fixture.time.now() - start <= Updates.interval + .milliseconds(200))
        }
    }

    @Test("An iteration keeps its name in use, and so finds a new answer")
    func keepsInUse() async throws {
        let fixture = try ResolverFixture()
        try fixture.say(["203.0.113.1"], timeToLive: .seconds(20), about: "img.test")
        var iterator = try updates(fixture)
        let start = fixture.time.now()
        #expect(try await next(&iterator, fixture) == ["203.0.113.1"])
        try fixture.say(["203.0.113.2"], timeToLive: .seconds(20), about: "img.test")
        #expect(try await next(&iterator, fixture) == ["203.0.113.2"])
        #expect(fixture.time.now() - start <= .seconds(21))
        #expect(fixture.provider.queries.count == 2)
    }

    @Test("A name without addresses fails at first, and another iteration may begin")
    func failsAtFirst() async throws {
        let fixture = try ResolverFixture()
        try fixture.provider.answer(.failure(.unavailable), for: HTTPDNSName("img.test"))
        var first = try updates(fixture)
        await #expect(throws: HTTPDNSResolver.Error.self) { _ = try await next(&first, fixture) }
        try fixture.say(["203.0.113.1"], about: "img.test")
        fixture.time.advance(by: .seconds(60))
        var second = try updates(fixture)
        #expect(try await next(&second, fixture) == ["203.0.113.1"])
    }

    @Test("Failures and empty answers deliver nothing after the first addresses")
    func keepsLast() async throws {
        let fixture = try ResolverFixture { $0.cache.staleLimit = .zero }
        try fixture.say(["203.0.113.1"], timeToLive: .seconds(5), about: "img.test")
        var iterator = try updates(fixture)
        #expect(try await next(&iterator, fixture) == ["203.0.113.1"])
        try fixture.provider.answer(.failure(.unavailable), for: HTTPDNSName("img.test"))
        let clock = Task { [fixture] in
            // Some failures later.
            await fixture.provider.queries(atLeast: 4)
            try fixture.say(["203.0.113.2"], about: "img.test")
        }
        #expect(try await next(&iterator, fixture) == ["203.0.113.2"])
        try await clock.value
    }

    @Test("An iteration ends with its task, and with its resolver")
    func ends() async throws {
        let fixture = try ResolverFixture()
        try fixture.say(["203.0.113.1"], about: "img.test")
        let updates = fixture.resolver.addresses(of: .init(try HTTPDNSHost("img.test"), port: 443))
        let task = Task {
            var iterator = updates.makeAsyncIterator()
            _ = try await iterator.next()
            _ = try await iterator.next()
        }
        await fixture.time.sleepers(atLeast: 1)
        task.cancel()
        await #expect(throws: CancellationError.self) { try await task.value }
        var iterator = updates.makeAsyncIterator()
        _ = try await next(&iterator, fixture)
        await fixture.resolver.shutdown()
        let error = await #expect(throws: HTTPDNSResolver.Error.self) { _ = try await next(&iterator, fixture) }
        #expect(error?.code == .shutDown)
    }

    // MARK: changes

    private func resolution(
        _ addresses: [UInt8],
        _ source: HTTPDNSResolver.Resolution.Source = .provider,
        generation: UInt64 = 1
    ) -> HTTPDNSResolver.Resolution {
        let endpoints = addresses.map { HTTPDNSEndpoint(address: HTTPDNSAddress(v4: 192, 0, 2, $0), port: 443) }
        var resolution = HTTPDNSResolver.Resolution(endpoints: endpoints, source: source)
        resolution.generation = generation
        return resolution
    }

    @Test("A name that rotates changes once at once, and then once within the stickiness")
    func rotates() {
        var change = AddressChange()
        let times: [(second: Int, addresses: [UInt8], isNew: Bool)] = [
            (0, [1, 2], true), (1, [2, 1], false), (2, [3, 4], true), (3, [4, 3], false), (4, [1, 2], false),
            (31, [5, 6], false), (32, [5, 6], true), (33, [1, 2], false), (62, [7], true),
        ]
        for (second, addresses, isNew) in times {
            let now = MonotonicTime(nanoseconds: 0) + .seconds(second)
            let result = change.isNew(resolution(addresses), at: now)
            #expect(result == isNew, "\(second) s")
        }
    }

    @Test("A rotating name follows another source, and another generation, at once")
    func followsDecisions() {
        let now = MonotonicTime(nanoseconds: 0)
        for decided in [resolution([9], .system), resolution([9], generation: 2), resolution([9], .mapping)] {
            var change = AddressChange()
            for addresses: [UInt8] in [[1], [2]] { _ = change.isNew(resolution(addresses), at: now) }
            let (rotated, isNew) = (change.isNew(resolution([9]), at: now), change.isNew(decided, at: now))
            #expect(!rotated && isNew)
        }
    }
}
