// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

import Dispatch
import Synchronization
import Testing

@testable import HTTPDNSCore

struct AnswerCacheTests {
    private final class End: Sendable { let isReached = Atomic(false) }

    private let now = MonotonicTime(nanoseconds: 1)
    private let key = CacheKey(HTTPDNSName(canonical: "img.test"))

    private func put(_ number: UInt8, for key: CacheKey, into cache: AnswerCache) {
        let answer = KnownAnswer.sample([HTTPDNSAddress(v4: 203, 0, 113, number)], sentAt: now, life: .seconds(60))
        _ = cache.shard(for: key).state.withLock { state in
            state.table.set(CachedAnswer(key, answer), for: key, at: now)
        }
    }

    private func number(of key: CacheKey, in cache: AnswerCache) -> UInt8? {
        cache.find(key).map { UInt8(truncatingIfNeeded: $0.address(at: 0).low) }
    }

    /// Runs `body` on a new thread and waits for its end.
    private func onNewThread(_ body: @escaping @Sendable () -> Void) {
        let end = DispatchSemaphore(value: 0)
        #expect(
            DetachedThread.start {
                body()
                end.signal()
            }
        )
        end.wait()
    }

    @Test("A thread sees immediately that another thread replaced an answer", arguments: [1, 10_000])
    func replaced(uses: Int) {
        let cache = AnswerCache(entries: 100, bytes: 1 << 20)
        put(1, for: key, into: cache)
        for _ in 0..<uses { #expect(number(of: key, in: cache) == 1) }
        onNewThread { put(2, for: key, into: cache) }
        #expect(number(of: key, in: cache) == 2)
    }

    @Test("A removed, forgotten or evicted answer is gone")
    func gone() {
        let other = CacheKey(HTTPDNSName(canonical: "other.test"))
        let ways: [@Sendable (AnswerCache) -> Void] = [
            { cache in _ = cache.shard(for: key).state.withLock { $0.table.set(nil, for: key, at: now) } },
            { $0.removeAll() },
            { cache in
                // The only place: a newcomer that is used drives it out, since it was not used since it was looked at.
                for _ in 0..<3 {
                    put(9, for: other, into: cache)
                    _ = cache.find(other)
                }
            },
        ]
        for way in ways {
            let cache = AnswerCache(entries: 1, bytes: 1 << 20)
            put(1, for: key, into: cache)
            #expect(number(of: key, in: cache) == 1)
            way(cache)
            #expect(number(of: key, in: cache) == nil)
        }
    }

    @Test("Caches do not share answers for one name")
    func apart() {
        let caches = (1...50).map { number in
            let cache = AnswerCache(entries: 100, bytes: 1 << 20)
            put(UInt8(number), for: key, into: cache)
            return cache
        }
        let empty = AnswerCache(entries: 100, bytes: 1 << 20)
        for _ in 0..<3 {
            for (index, cache) in caches.enumerated() { #expect(number(of: key, in: cache) == UInt8(index + 1)) }
            #expect(number(of: key, in: empty) == nil)
        }
    }

    @Test("A name that one thread uses is not evicted by a flood of other names")
    func flood() {
        let cache = AnswerCache(entries: 100, bytes: 1 << 20)
        put(1, for: key, into: cache)
        for number in 0..<10_000 {
            put(2, for: CacheKey(HTTPDNSName(canonical: "n\(number).test")), into: cache)
            if number % 10 == 0 { #expect(self.number(of: key, in: cache) == 1) }
        }
    }

    /// At the end every reader sees the last answer.
    @Test("Concurrent readers never see an older answer after a newer one")
    func monotonic() {
        let cache = AnswerCache(entries: 100, bytes: 1 << 20)
        put(0, for: key, into: cache)
        let end = End()
        let (begun, ended) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
        let faults = Lock(0)
        let threads = 3
        for _ in 0..<threads {
            let isStarted = DetachedThread.start {
                var last: UInt8 = 0
                var wrong = 0
                func look() {
                    guard let seen = number(of: key, in: cache), seen >= last else { return wrong += 1 }
                    last = seen
                }
                look()
                begun.signal()
                while !end.isReached.load(ordering: .acquiring) { look() }
                look()
                if last != 250 { wrong += 1 }
                faults.withLock { $0 += wrong }
                ended.signal()
            }
            #expect(isStarted)
        }
        for _ in 0..<threads { begun.wait() }
        for step in 1...250 { put(UInt8(step), for: key, into: cache) }
        end.isReached.store(true, ordering: .releasing)
        for _ in 0..<threads { ended.wait() }
        #expect(faults.withLock { $0 } == 0)
    }
}
