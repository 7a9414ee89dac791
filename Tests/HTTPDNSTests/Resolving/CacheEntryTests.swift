import HTTPDNSPrimitives
import Testing

@testable import HTTPDNS

@Suite("State of a cache entry")
struct CacheEntryTests {
    private func at(_ seconds: Int64) -> MonotonicTime { MonotonicTime(nanoseconds: seconds * 1_000_000_000) }

    private func answer(_ last: UInt8, sentAt: Int64, life: Duration) -> KnownAnswer {
        KnownAnswer(
            .endpoints([Endpoint(address: IPAddress(v4: 203, 0, 113, last), port: 443)]),
            port: 443,
            source: .provider,
            route: nil,
            failedAttempts: [],
            sentAt: at(sentAt),
            life: life
        )
    }

    private let failure = ResolutionError(code: .providersFailed, host: "a.test", message: "failed")

    private func fresh(_ entry: CacheEntry, at seconds: Int64) -> UInt8? {
        guard case .fresh(let answer) = entry.find(at: at(seconds)), case .endpoints(let found) = answer.content else {
            return nil
        }
        return found.first?.address.bytes.last
    }

    @Test("(35) a failure does not shorten a fresh answer, and holds off asking once it is over")
    func failureKeepsAnswer() {
        var entry = CacheEntry()
        entry.install(answer(1, sentAt: 0, life: .seconds(10)), at: at(0))
        entry.recordFailure(failure, sentAt: at(9), at: at(9))
        #expect(fresh(entry, at: 9) == 1)
        entry.recordFailure(failure, sentAt: at(10), at: at(10))
        guard case .backingOff(_, let failedAt, let retryAt) = entry.find(at: at(11)) else {
            Issue.record("no backing off")
            return
        }
        #expect(failedAt == at(10))
        #expect(retryAt == at(12))
        #expect(entry.isExpired(at: at(12)))
    }

    @Test("(36) a newer answer that may not be kept still removes the older one")
    func contradicts() {
        var entry = CacheEntry()
        entry.install(answer(1, sentAt: 0, life: .seconds(60)), at: at(0))
        entry.install(answer(2, sentAt: 5, life: .zero), at: at(5))
        #expect(fresh(entry, at: 5) == nil)
        #expect(entry.isEmpty)
    }

    @Test("(37) a slow old answer that lands after a newer one is dropped, and so is its failure")
    func keepsNewer() {
        var entry = CacheEntry()
        entry.install(answer(2, sentAt: 5, life: .seconds(60)), at: at(6))
        entry.install(answer(1, sentAt: 1, life: .seconds(600)), at: at(9))
        #expect(fresh(entry, at: 9) == 2)
        entry.install(answer(1, sentAt: 1, life: .zero), at: at(9))
        #expect(fresh(entry, at: 9) == 2)
        _ = entry.installFallback(answer(3, sentAt: 4, life: .seconds(9)), after: failure, at: at(9))
        #expect(fresh(entry, at: 9) == 2)
        entry.recordFailure(failure, sentAt: at(4), at: at(64))
        #expect(entry.isExpired(at: at(65)))
    }

    @Test("an answer whose life is over when it arrives is not kept")
    func lateAnswer() {
        var entry = CacheEntry()
        entry.install(answer(1, sentAt: 0, life: .seconds(2)), at: at(2))
        #expect(entry.isEmpty)
    }

    @Test("a fallback serves until the wait after the failure is over")
    func fallback() {
        var entry = CacheEntry()
        for (sentAt, expected) in [(Int64(0), Int64(1)), (1, 2), (3, 4), (7, 8), (15, 16), (31, 30)] {
            let kept = entry.installFallback(
                answer(9, sentAt: sentAt, life: .seconds(30)),
                after: failure,
                at: at(sentAt)
            )
            #expect(kept.life == .seconds(expected))
            #expect(fresh(entry, at: sentAt + expected - 1) == 9)
            #expect(entry.isExpired(at: at(sentAt + expected)))
        }
        entry.install(answer(1, sentAt: 100, life: .seconds(1)), at: at(100))
        entry.recordFailure(failure, sentAt: at(200), at: at(200))
        #expect(entry.isExpired(at: at(201)))
    }
}

@Suite("Cache of answers")
struct AnswerCacheTests {
    private let now = MonotonicTime(nanoseconds: 1)

    private func key(_ number: Int) throws -> AnswerKey {
        AnswerKey(host: try HostName("n\(number).test"), families: .both, source: 0)
    }

    private func put(_ number: Int, into cache: inout AnswerCache, life: Duration = .seconds(60)) throws {
        let answer = KnownAnswer(
            .endpoints([Endpoint(address: IPAddress(v4: 203, 0, 113, 1), port: UInt16(1 + number % 60_000))]),
            port: 443,
            source: .provider,
            route: nil,
            failedAttempts: [],
            sentAt: now,
            life: life
        )
        cache.update(try key(number), at: now) { $0.install(answer, at: now) }
    }

    private func port(_ number: Int, in cache: inout AnswerCache) throws -> UInt16? {
        guard case .fresh(let answer) = cache.find(try key(number), at: now),
            case .endpoints(let found) = answer.content
        else { return nil }
        return found.first?.port
    }

    @Test("(40) any number of names leaves the cache within its bound, each entry under its own key")
    func isBounded() throws {
        var cache = AnswerCache(capacity: 100)
        for number in 0..<20_000 {
            try put(number, into: &cache)
            #expect(try port(number, in: &cache) == UInt16(1 + number))
        }
        #expect(cache.count == 100)
    }

    @Test("names in use survive a flood of names that are asked for once")
    func keepsUsed() throws {
        var cache = AnswerCache(capacity: 100)
        for number in 0..<50 { try put(number, into: &cache) }
        for number in 1_000..<6_000 {
            for used in 0..<50 { #expect(try port(used, in: &cache) != nil) }
            try put(number, into: &cache)
        }
        #expect(cache.count == 100)
    }

    @Test("an expired name goes before one that is fresh, used or not")
    func evictsExpired() throws {
        var cache = AnswerCache(capacity: 3)
        try put(0, into: &cache)
        cache.update(try key(1), at: now) {
            let error = ResolutionError(code: .providersFailed, host: "n1.test", message: "failed")
            $0.recordFailure(error, sentAt: now, at: now + .seconds(-100))
        }
        try put(2, into: &cache)
        for number in 0..<3 { _ = try port(number, in: &cache) }
        try put(3, into: &cache)
        for number in [0, 2, 3] { #expect(try port(number, in: &cache) != nil) }
    }

    @Test("an entry that ends up empty gives its place back, and the others keep theirs")
    func removes() throws {
        var cache = AnswerCache(capacity: 10)
        for number in 0..<10 { try put(number, into: &cache) }
        for number in [0, 5, 9] { try put(number, into: &cache, life: .zero) }
        #expect(cache.count == 7)
        for number in 0..<10 {
            #expect(try port(number, in: &cache) == ([0, 5, 9].contains(number) ? nil : UInt16(1 + number)))
        }
        try put(77, into: &cache, life: .zero)
        #expect(cache.count == 7)
        cache.removeAll()
        #expect(cache.count == 0)
        #expect(try port(1, in: &cache) == nil)
    }
}
