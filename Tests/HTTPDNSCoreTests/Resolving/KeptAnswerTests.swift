// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

import HTTPDNSCore
import HTTPDNSTesting
import Testing

struct KeptAnswerTests {
    @Test("A failed refresh keeps the provider's fresh answer, even with a system fallback")
    func keepsFreshAnswer() async throws {
        let fixture = try ResolverFixture(fallback: .system)
        try fixture.say(["203.0.113.1"], timeToLive: .seconds(100), about: "img.test")
        try fixture.system.answer(.success([HTTPDNSAddress(v4: 203, 0, 113, 99)]), for: HTTPDNSName("img.test"))
        _ = try await fixture.resolve("img.test")
        try fixture.provider.answer(.failure(.unavailable), for: HTTPDNSName("img.test"))
        fixture.time.advance(by: .seconds(95))
        var events = fixture.resolver.events.makeAsyncIterator()
        #expect(try fixture.immediate("img.test")?.isStale == false)
        while let event = await events.next(), event.kind != .refreshFailed {}
        let resolution = try #require(try fixture.immediate("img.test"))
        #expect(resolution.addresses == ["203.0.113.1"])
        #expect(resolution.source == .provider && !resolution.isStale)
        #expect(fixture.system.questions.isEmpty)
    }

    @Test("An answer for one use is not stale for the callers that waited for it")
    func answerForOneUse() async throws {
        let fixture = try ResolverFixture()
        try fixture.say(["203.0.113.1"], timeToLive: .zero, about: "img.test")
        #expect(try await fixture.resolve("img.test").isStale == false)
    }

    @Test("A lookup without a family is refused, and does not affect other answers")
    func noFamily() async throws {
        let fixture = try ResolverFixture()
        try fixture.say(["203.0.113.1"], about: "img.test")
        let error = await #expect(throws: HTTPDNSResolver.Error.self) {
            try await fixture.resolve("img.test") { $0.families = [] }
        }
        #expect(error?.code == .noAddresses)
        #expect(try await fixture.resolve("img.test").addresses == ["203.0.113.1"])
    }

    @Test("A stale answer about to end does not shorten the wait for a new one")
    func lastOfStale() async throws {
        let fixture = try ResolverFixture { $0.cache.staleLimit = .milliseconds(200) }
        try fixture.say(["203.0.113.1"], timeToLive: .seconds(10), about: "img.test")
        _ = try await fixture.resolve("img.test")
        fixture.time.advance(by: .seconds(10))
        fixture.provider.hold()
        async let next = fixture.resolve("img.test")
        await fixture.provider.queries(atLeast: 2)
        fixture.time.advance(by: .milliseconds(350))
        fixture.provider.release()
        #expect(try await next.isStale == false)
    }
}
