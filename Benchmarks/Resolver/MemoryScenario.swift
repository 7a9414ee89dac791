// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

internal import AllocationCounter
internal import HTTPDNSCore
internal import HTTPDNSPrimitives

/// The memory of a cache that holds this many names with two IPv4 addresses each, by the C library's own account.
struct MemoryResult: Codable, Sendable {
    var names: Int
    /// Allocated for the cache, table and bookkeeping included, divided by the names.
    var bytesPerName: Double
    /// What the cache itself says that it takes, divided by the names.
    var ownAccountPerName: Double
    /// The same names in a plain dictionary.
    var dictionaryBytesPerName: Double

    init(names: Int) {
        self.names = names
        let now = SystemTimeSource().now()
        let answer = CacheScenario.answer(at: now)
        let texts = (0..<names).map(Names.text)
        func cache() -> AnswerCache {
            // Names spread over the shards by chance; with a tenth more places none has to leave.
            let cache = AnswerCache(entries: names + names / 10, bytes: 1 << 40)
            for text in texts {
                guard let host = try? HTTPDNSName(text) else { preconditionFailure("\(text) is no name") }
                cache.restore(answer, for: CacheKey(host), at: now)
            }
            return cache
        }
        func dictionary() -> [String: PeerAnswer] {
            var answers: [String: PeerAnswer] = [:]
            for text in texts {
                // A text of its own, as a parsed URL gives.
                answers[String(decoding: Array(text.utf8), as: UTF8.self)] = PeerAnswer(
                    Array(CacheScenario.addresses[...]),
                    expiresAt: now
                )
            }
            return answers
        }
        var own = 0
        let cacheBytes = MemoryResult.growth {
            cache()
        } kept: {
            own = $0.byteCount
        }
        let dictionaryBytes = MemoryResult.growth {
            dictionary()
        } kept: { _ in
        }
        bytesPerName = cacheBytes / Double(names)
        ownAccountPerName = Double(own) / Double(names)
        dictionaryBytesPerName = dictionaryBytes / Double(names)
    }

    /// How many bytes more are allocated while the value lives.
    private static func growth<Value>(_ make: () -> Value, kept: (Value) -> Void) -> Double {
        let before = allocated_bytes()
        let value = make()
        let after = allocated_bytes()
        kept(value)
        return withExtendedLifetime(value) { Double(after) - Double(before) }
    }
}
