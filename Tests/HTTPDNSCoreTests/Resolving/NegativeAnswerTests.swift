// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

import HTTPDNSCore
import HTTPDNSTesting
import Testing

/// A provider that says "no such name" about everything is as broken as one that is silent, and looks healthy.
struct NegativeAnswerTests {
    private func names(_ count: Int, _ prefix: String = "n") -> [String] { (0..<count).map { "\(prefix)\($0).test" } }

    private func queries(_ fixture: ResolverFixture, _ index: Int) -> Int { fixture.providers[index].queries.count }

    @Test("A provider that denies every name costs nothing while another one knows them")
    func denier() async throws {
        let fixture = try ResolverFixture(providers: ["denier", "healthy"], fallback: .system)
        let names = names(270)
        for name in names { try fixture.say(["203.0.113.1"], about: name, at: 1) }
        for name in names {
            let resolution = try await fixture.resolve(name)
            #expect(resolution.provider == "healthy" && resolution.addresses == ["203.0.113.1"])
        }
        #expect(fixture.system.questions.isEmpty)
    }

    @Test("The same holds for names that are asked for concurrently")
    func denierAtOnce() async throws {
        let fixture = try ResolverFixture(providers: ["denier", "healthy"])
        let names = names(100)
        for name in names { try fixture.say(["203.0.113.1"], about: name, at: 1) }
        let known = try await withThrowingTaskGroup(of: String?.self) { group in
            for name in names { group.addTask { try await fixture.resolve(name).provider } }
            return try await group.reduce(into: 0) { $0 += $1 == "healthy" ? 1 : 0 }
        }
        #expect(known == 100)
    }

    @Test("A healthy provider's negative answers cost at most one further query in 20", arguments: [1, 50])
    func cost(concurrent: Int) async throws {
        let fixture = try ResolverFixture(providers: ["first", "second"])
        let names = names(1_000, "unknown")
        for start in stride(from: 0, to: names.count, by: concurrent) {
            await withTaskGroup(of: HTTPDNSResolver.Error.Code?.self) { group in
                for name in names[start..<start + concurrent] {
                    group.addTask {
                        do { _ = try await fixture.resolve(name) } catch {
                            return (error as? HTTPDNSResolver.Error)?.code
                        }
                        return nil
                    }
                }
                for await code in group { #expect(code == .nameNotFound) }
            }
        }
        #expect(queries(fixture, 0) == 1_000)
        #expect((1...60).contains(queries(fixture, 1)), "\(queries(fixture, 1))")
    }

    @Test("One positive answer makes the next negative answers final")
    func earned() async throws {
        let fixture = try ResolverFixture(providers: ["first", "second"])
        try fixture.say(["203.0.113.1"], about: "known.test")
        #expect(try await fixture.resolve("known.test").provider == "first")
        for name in names(19) {
            let error = await #expect(throws: HTTPDNSResolver.Error.self) { try await fixture.resolve(name) }
            #expect(error?.code == .nameNotFound)
        }
        #expect(queries(fixture, 1) == 0)
        _ = try? await fixture.resolve("later.test")
        #expect(queries(fixture, 1) == 1, "none of the last 20 names had an address")
    }

    @Test("A name that had addresses is denied by two providers or not at all")
    func knownName() async throws {
        let fixture = try ResolverFixture(providers: ["first", "second"])
        for index in 0...1 {
            try fixture.say(["203.0.113.\(index)"], timeToLive: .seconds(5), about: "img.test", at: index)
        }
        #expect(try await fixture.resolve("img.test").addresses == ["203.0.113.0"])
        fixture.providers[0].answer(nil, for: try HTTPDNSName("img.test"))
        fixture.time.advance(by: .seconds(60))
        #expect(try await fixture.resolve("img.test").addresses == ["203.0.113.1"])
        fixture.providers[1].answer(nil, for: try HTTPDNSName("img.test"))
        fixture.time.advance(by: .seconds(60))
        let error = await #expect(throws: HTTPDNSResolver.Error.self) { try await fixture.resolve("img.test") }
        #expect(error?.code == .nameNotFound)
    }

    /// The system resolver is not asked.
    @Test("A negative answer of a route's only provider is final")
    func onlyProvider() async throws {
        let fixture = try ResolverFixture(fallback: .system)
        try fixture.system.answer(.success([HTTPDNSAddress(v4: 203, 0, 113, 9)]), for: HTTPDNSName("img.test"))
        let error = await #expect(throws: HTTPDNSResolver.Error.self) { try await fixture.resolve("img.test") }
        #expect(error?.code == .nameNotFound)
        #expect(fixture.system.questions.isEmpty && queries(fixture, 0) == 1)
    }

    @Test("A negative answer that no other provider can confirm serves for five seconds")
    func unconfirmed() async throws {
        let fixture = try ResolverFixture(providers: ["denier", "broken"])
        let denial = HTTPDNSProviderAnswer(
            v4: .nameError(timeToLive: .seconds(300)),
            v6: .nameError(timeToLive: .seconds(300))
        )
        let host = try HTTPDNSName("img.test")
        fixture.providers[0].answer(.answer(denial), for: host)
        fixture.providers[1].answer(.failure(.unavailable), for: host)
        await #expect(throws: HTTPDNSResolver.Error.self) { try await fixture.resolve("img.test") }
        try fixture.say(["203.0.113.1"], about: "img.test", at: 1)
        fixture.time.advance(by: .seconds(4))
        await #expect(throws: HTTPDNSResolver.Error.self) { try await fixture.resolve("img.test") }
        fixture.time.advance(by: .seconds(1))
        #expect(try await fixture.resolve("img.test").provider == "broken")
    }

    @Test("An unconfirmed denial of a name that had addresses counts five seconds later")
    func unconfirmedOfKnownName() async throws {
        let fixture = try ResolverFixture(providers: ["first", "broken"])
        try fixture.say(["203.0.113.1"], about: "known.test")
        try fixture.say(["203.0.113.2"], timeToLive: .seconds(5), about: "img.test")
        #expect(try await fixture.resolve("img.test").provider == "first")
        fixture.time.advance(by: .seconds(60))
        #expect(try await fixture.resolve("known.test").provider == "first")
        let host = try HTTPDNSName("img.test")
        let denial = HTTPDNSProviderAnswer(
            v4: .nameError(timeToLive: .seconds(300)),
            v6: .nameError(timeToLive: .seconds(300))
        )
        fixture.providers[0].answer(.answer(denial), for: host)
        fixture.providers[1].answer(.failure(.unavailable), for: host)
        #expect(try await fixture.resolve("img.test").isStale)
        #expect(queries(fixture, 1) == 1)
        fixture.time.advance(by: .seconds(5))
        await #expect(throws: HTTPDNSResolver.Error.self) { try await fixture.resolve("img.test") }
        try fixture.say(["203.0.113.2"], about: "img.test")
        fixture.time.advance(by: .seconds(5))
        #expect(try await fixture.resolve("img.test").addresses == ["203.0.113.2"])
    }

    /// The first provider reports that the name does not exist for one family, and cannot say it for the other.
    @Test("A failed family beside a negative one leads to the next source", arguments: [true, false])
    func failedFamily(hasSecond: Bool) async throws {
        let fixture = try ResolverFixture(
            providers: hasSecond ? ["first", "second"] : ["first"],
            fallback: hasSecond ? .off : .system
        )
        let host = try HTTPDNSName("img.test")
        let failed = HTTPDNSProviderAnswer.Family.failed(HTTPDNSProviderError(code: .httpStatus, message: "502"))
        let answer = HTTPDNSProviderAnswer(v4: failed, v6: .nameError(timeToLive: .seconds(300)))
        fixture.providers[0].answer(.answer(answer), for: host)
        if hasSecond { try fixture.say(["203.0.113.9"], about: "img.test", at: 1) }
        fixture.system.answer(.success([HTTPDNSAddress(v4: 203, 0, 113, 9)]), for: host)
        #expect(try await fixture.resolve("img.test").addresses == ["203.0.113.9"])
        #expect(fixture.resolver.providerHealth[0].state == .healthy, "the failure is about the name")
    }

    @Test("A name of a batch with a failed and a negative family gets its own query")
    func failedFamilyInBatch() async throws {
        let fixture = try ResolverFixture(providers: ["first", "second"], batchLimit: 5)
        let names = try names(5).map { try HTTPDNSName($0) }
        let failed = HTTPDNSProviderAnswer.Family.failed(HTTPDNSProviderError(code: .serverFailure, message: "no"))
        let answer = HTTPDNSProviderAnswer(v4: failed, v6: .nameError(timeToLive: .seconds(300)))
        for name in names {
            fixture.providers[0].answer(.answer(answer), for: name)
            try fixture.say(["203.0.113.1"], about: name.description, at: 1)
        }
        #expect(await fixture.resolver.preresolve(names).isEmpty)
    }

    @Test("A batch of unknown names costs few further queries, none to its provider", arguments: [false, true])
    func batchCost(isEarned: Bool) async throws {
        let fixture = try ResolverFixture(providers: ["first", "second"], batchLimit: 5)
        if isEarned {
            try fixture.say(["203.0.113.1"], about: "known.test")
            _ = try await fixture.resolve("known.test")
        }
        let before = queries(fixture, 0)
        let names = try names(1_000, "unknown").map { try HTTPDNSName($0) }
        let failures = await fixture.resolver.preresolve(names)
        #expect(failures.count == 1_000 && failures.values.allSatisfy { $0.code == .nameNotFound })
        #expect(queries(fixture, 0) - before == 200 && fixture.providers[0].batches.count == 200)
        #expect((1...60).contains(queries(fixture, 1)), "\(queries(fixture, 1))")
    }

    @Test("A batch's unconfirmed negative answers serve for five seconds")
    func batchUnconfirmed() async throws {
        let fixture = try ResolverFixture(providers: ["denier", "broken"], batchLimit: 5)
        let names = try names(5).map { try HTTPDNSName($0) }
        for name in names { fixture.providers[1].answer(.failure(.unavailable), for: name) }
        #expect(await fixture.resolver.preresolve(names).count == 5)
        for name in names { try fixture.say(["203.0.113.1"], about: name.description, at: 1) }
        fixture.time.advance(by: .seconds(5))
        #expect(await fixture.resolver.preresolve(names).isEmpty)
    }

    @Test("A batch of names that one provider denies is asked of the next provider")
    func batch() async throws {
        let fixture = try ResolverFixture(providers: ["denier", "healthy"], batchLimit: 5)
        let names = names(5)
        for name in names { try fixture.say(["203.0.113.1"], about: name, at: 1) }
        #expect(await fixture.resolver.preresolve(try names.map { try HTTPDNSName($0) }).isEmpty)
    }
}
