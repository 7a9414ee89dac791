// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

internal import HTTPDNSPrimitives

extension HTTPDNSResolver {
    /// The present status of a resolver: states rather than counts of events.
    public struct Status: Hashable, Sendable {
        /// Whether the kill switch has turned everything off.
        public var isSwitchedOff = false
        /// The number of single routes that the kill switch has turned off.
        public var routesSwitchedOff = 0
        /// Whether each provider is in quarantine, by its name.
        public var quarantined: [String: Bool] = [:]

        /// Creates the status of a healthy resolver.
        public init() {}
    }
}

extension HTTPDNSResolver {
    /// The present status: kill switch and providers.
    public var status: HTTPDNSResolver.Status {
        var status = HTTPDNSResolver.Status()
        status.isSwitchedOff = !killSwitch.isOn
        status.routesSwitchedOff = killSwitch.entries.count { $0.scope != .everything }
        for health in providerHealth {
            if case .quarantined = health.state {
                status.quarantined[health.name] = true
            } else {
                status.quarantined[health.name] = false
            }
        }
        return status
    }

    /// Returns the usable cached answers, by name. This does not count as a use.
    /// - Parameters:
    ///   - limit: The maximum number. Of more, an arbitrary selection is returned, which is stable as long as the answers stay.
    ///   - patterns: Patterns of the names; nil means all names.
    package func answers(
        at now: MonotonicTime,
        limit: Int,
        about patterns: [HTTPDNSRoute.Pattern]?
    ) -> (answers: [CachedAnswer], isTruncated: Bool) {
        var found: [CachedAnswer] = []
        for shard in cache.shards where found.count <= limit {
            // Under the lock only references are copied.
            let answers = shard.state.withLock { $0.table.answers }
            for answer in answers where found.count <= limit && !answer.isSpent(at: now) {
                guard patterns?.contains(where: { $0.contains(answer.host) }) ?? true else { continue }
                found.append(answer)
            }
        }
        let shown = found.prefix(limit).map { answer in
            let source = answer.origin?.source.description ?? ""
            return (order: (answer.host.description, answer.families?.rawValue ?? 0, source), answer: answer)
        }
        return (shown.sorted { $0.order < $1.order }.map(\.answer), found.count > limit)
    }
}

extension HTTPDNSResolver.Status {
    /// The present health of one provider, which decides the order of queries.
    public struct Provider: Hashable, Sendable {
        /// The state of a provider in the order of queries.
        public enum State: Hashable, Sendable {
            /// The provider is queried in its turn.
            case healthy
            /// An answer of the provider is overdue; healthy providers are queried before it.
            case suspect
            /// The provider failed, or asked for a pause.
            ///
            /// It is queried only when no other provider and no system resolver has an answer. After `until` one query is
            /// copied to it, and an answer makes it healthy again.
            case quarantined(until: ContinuousClock.Instant, reason: String)
        }

        /// The provider's name.
        public var name: String
        /// The state of the provider in the order of queries.
        public var state: State
        /// The mean latency of its answers, weighted towards new ones; nil before the first.
        public var latency: Duration?
        /// The 95th percentile of its latency, at most a quarter too high; nil before the fifth answer.
        public var percentile95: Duration?
        /// The number of queries with a definite answer.
        public var successes: Int
        /// The number of failed queries.
        public var failures: Int
        /// The number of queries in flight.
        public var inFlight: Int
        /// The number of queries that wait for one of those to end.
        public var queued: Int
        /// The number of queries sent.
        public var queries: Int
    }
}
