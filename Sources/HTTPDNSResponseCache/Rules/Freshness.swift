// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

internal import HTTPDNS
internal import HTTPDNSCore

/// The age and the lifetime of a stored response (RFC 9111 section 4.2), in milliseconds.
struct Freshness: Hashable, Sendable {
    /// The time since the origin sent or validated the response; `.max` when it is not known.
    let age: Int64
    /// The age at which the response becomes stale.
    let lifetime: Int64

    var isFresh: Bool { lifetime > age }
    /// The time since the response became stale; 0 while it is fresh.
    var staleness: Int64 { max(0, age - lifetime) }
    /// The value of the `Age` field, in seconds; an unlimited age is the largest number (RFC 9111 section 1.2.2).
    var ageSeconds: Int64 { min(age / 1000, CacheControl.maximumSeconds) }

    init(age: Int64, lifetime: Int64) {
        self.age = age
        self.lifetime = lifetime
    }

    /// - Parameters:
    ///   - now: Milliseconds since 1970.
    ///   - rules: The rules of the cache.
    init(_ head: StoredHead, at now: Int64, _ rules: CacheRules, hasQuery: Bool) {
        age = Self.age(head, at: now)
        lifetime = Self.lifetime(head, rules, hasQuery: hasQuery)
    }

    private static func age(_ head: StoredHead, at now: Int64) -> Int64 {
        // The clock was set back, so nobody knows how old the response is: it counts as stale.
        guard now >= head.responseTime else { return .max }
        let apparent = max(0, head.responseTime - (head.facts.date ?? head.responseTime))
        let delay = max(0, head.responseTime - head.requestTime)
        return max(apparent, head.facts.age + delay) + now - head.responseTime
    }

    /// Returns the lifetime that the origin declares, or a guess from the age of the resource.
    static func lifetime(_ head: StoredHead, _ rules: CacheRules, hasQuery: Bool) -> Int64 {
        declaredLifetime(head, rules) ?? guessedLifetime(head, rules, hasQuery: hasQuery)
    }

    /// Returns the lifetime that the origin declares; nil without one.
    static func declaredLifetime(_ head: StoredHead, _ rules: CacheRules) -> Int64? {
        let control = head.control
        if rules.mode == .shared, let seconds = control.sharedMaximumAge { return seconds.orZero * 1000 }
        if let seconds = control.maximumAge { return seconds.orZero * 1000 }
        guard let expires = head.facts.expires else { return nil }
        return max(0, expires - (head.facts.date ?? head.responseTime))
    }

    /// A tenth of the time since the last modification, within a limit (RFC 9111 section 4.2.2). A URL with a query has none.
    private static func guessedLifetime(_ head: StoredHead, _ rules: CacheRules, hasQuery: Bool) -> Int64 {
        guard !hasQuery, Storability.heuristicStatuses.contains(head.status) || head.control.isPublic,
            let modified = head.facts.lastModified
        else { return 0 }
        return min(max(0, (head.facts.date ?? head.responseTime) - modified) / 10, rules.heuristicLimit)
    }
}

/// The rules of a cache that are no rules of a request.
struct CacheRules: Hashable, Sendable {
    enum Mode: UInt8, Hashable, Sendable {
        case shared, `private`
    }

    var mode = Mode.shared
    /// The longest lifetime that is guessed, in milliseconds.
    var heuristicLimit: Int64 = 86_400_000
    /// Whether responses are stored that only the offline mode can use.
    var keepsForOffline = false
    /// Whether the offline mode also serves responses that must be validated.
    var offlineIgnoresValidation = false
}
