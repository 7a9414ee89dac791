// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

import ServerRig
import Testing

@testable import HTTPDNSCore

struct CacheFloodTests {
    private let now = MonotonicTime(nanoseconds: 1)

    /// Of all answers: it has counters of its own, which take most of the time of making one.
    private let origin = AnswerOrigin(
        source: .provider,
        provider: "doh",
        providerScope: .public,
        route: nil,
        policy: HTTPDNSAddressPolicy(),
        staleLimit: .zero
    )

    private func put(_ key: CacheKey, into cache: AnswerCache) {
        let address = HTTPDNSAddress(v4: 203, 0, 113, 1)
        let answer = KnownAnswer(.addresses([address]), origin: origin, sentAt: now, life: .seconds(60))
        _ = cache.shard(for: key).state.withLock { $0.table.update(key, at: now) { $0.install(answer, at: now) } }
    }

    private func isKnown(_ key: CacheKey, in cache: AnswerCache) -> Bool {
        cache.shard(for: key).state.withLock { $0.table.find(key) != nil }
    }

    /// The cache has room for 10,000 entries, so all but the names in use are replaced twenty times.
    @Test("A flood of random names leaves memory flat and keeps the names in use")
    func isFlat() {
        let limit = 8 << 20
        let cache = AnswerCache(entries: 10_000, bytes: limit)
        let hot = (0..<100).map { CacheKey(HTTPDNSName(canonical: "hot\($0).test")) }
        for key in hot { put(key, into: cache) }
        var lost = 0
        var bytes: ClosedRange<Int>?
        var random = SystemRandomNumberGenerator()
        for number in 0..<200_000 {
            put(CacheKey(HTTPDNSName(canonical: "n\(String(random.next(), radix: 36)).test")), into: cache)
            guard number % 5_000 == 0 else { continue }
            lost += hot.count { !isKnown($0, in: cache) }
            #expect(cache.count <= 10_000 && cache.byteCount <= limit)
            guard number >= 20_000 else { continue }
            let count = cache.byteCount
            bytes = bytes.map { min($0.lowerBound, count)...max($0.upperBound, count) } ?? count...count
        }
        #expect(lost == 0)
        #expect(cache.count == 10_000)
        // Random names differ in length by a few bytes, and nothing else may differ.
        if let bytes { #expect(bytes.upperBound - bytes.lowerBound < bytes.lowerBound / 20) }
    }

    @Test(
        "The process's memory is flat while a million names pass through a full cache",
        .enabled("needs its process for itself: HTTPDNS_TEST_ALONE=1") { ServerRig.hasProcessForItself }
    )
    func processIsFlat() throws {
        let cache = AnswerCache(entries: 1_000, bytes: 8 << 20)
        func flood(_ names: Range<Int>) {
            for number in names { put(CacheKey(HTTPDNSName(canonical: "n\(number).test")), into: cache) }
        }
        flood(0..<100_000)
        let before = try ProcessState.residentBytes()
        flood(100_000..<1_000_000)
        let grown = try ProcessState.residentBytes() - before
        print("measured: \(grown) bytes more after 900,000 further names")
        // One byte for each of them would be 900 KB.
        #expect(grown < 4 << 20, "\(grown)")
    }

    @Test("The byte limit holds for the sum of all shards, whatever names arrive")
    func boundsBytes() {
        let cache = AnswerCache(entries: 1_000_000, bytes: 1 << 20)
        for number in 0..<50_000 {
            let name = "n\(number)." + String(repeating: "x", count: number % 60 + 1) + ".test"
            put(CacheKey(HTTPDNSName(canonical: name)), into: cache)
            if number % 500 == 0 { #expect(cache.byteCount <= 1 << 20) }
        }
        #expect(cache.byteCount > 1 << 19)
    }
}
