// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

internal import HTTPDNSPrimitives

/// The health of one provider, from its answers and failures. A value: all events and times are arguments, and it does no work
/// itself.
///
/// Three rules keep bad names from making a good provider unavailable:
///
/// - A server failure, a refusal, an answer that the address policy refuses, or a failure of a part of the query counts against
///   the name first. It counts against the provider once different names failed without an answer in between: at least three,
///   and as many as had an answer among the last 32 outcomes, up to 16. Otherwise an attacker who chooses three names could make
///   the provider unavailable for all others.
/// - A time-out counts against the name, if the provider answered another query meanwhile.
/// - However many queries fail together, they count as one failure.
struct MemberHealth: Sendable {
    /// The standing of a provider among the others, first to last.
    enum Standing: Int, Comparable, Sendable {
        case healthy
        /// An answer is overdue for longer than the hedge delay, and there was no other answer since.
        case suspect
        /// Its quarantine is over, and no query has been sent to it since.
        case probeDue
        /// It is in quarantine, or a probe is in flight.
        case quarantined

        static func < (left: Standing, right: Standing) -> Bool { left.rawValue < right.rawValue }
    }

    /// A quarantine.
    struct Rest: Sendable, Equatable {
        var since: MonotonicTime
        var until: MonotonicTime
        var why: String
        /// Whether the service itself asked for it. Then it is kept, also when there is no other provider.
        var isRequested: Bool
    }

    /// The first quarantine. RFC 9520, section 3.2: a failure is cached for one second at least.
    static let shortestRest = Duration.seconds(1)
    /// The maximum duration up to which quarantines double.
    static let longestRest = Duration.seconds(30)
    /// The maximum `Retry-After` that is honored: RFC 9520 caches failures for five minutes at most.
    static let longestWish = Duration.seconds(300)
    /// The minimum number of different names that must fail in a row at a server that does answer.
    static let failingNames = 3
    /// The minimum time for which a query keeps its slot while other queries wait for one.
    static let leastPlaceTime = Duration.milliseconds(250)
    /// The range of `jitter`, 0..<`jitterSteps`; the middle value changes nothing.
    static let jitterSteps: UInt64 = 2001

    private let hedgeAfter: Duration
    private let attemptLimit: Duration
    private(set) var latency: LatencyTrack
    private(set) var consecutiveFailures = 0
    private(set) var rest: Rest?
    /// The query that probes it after a quarantine.
    private(set) var probe: UInt64?
    /// The send times of unanswered queries, as long as there was no other answer since.
    private var unheard: [UInt64: MonotonicTime] = [:]
    private var silentSince: MonotonicTime?
    private var heardAt: MonotonicTime?
    private var failedHosts: [HTTPDNSName] = []
    /// The last 32 outcomes: a one for each answer, the newest in the lowest bit. In a series of failures each name counts
    /// once.
    private var outcomes: UInt32 = 0

    init(hedgeAfter: Duration, attemptLimit: Duration, at now: MonotonicTime) {
        self.hedgeAfter = hedgeAfter
        self.attemptLimit = attemptLimit
        latency = LatencyTrack(at: now)
    }

    /// Returns the health under other limits, without the queries in flight: for another provider pool.
    func carriedOver(hedgeAfter: Duration, attemptLimit: Duration, at now: MonotonicTime) -> MemberHealth {
        var health = MemberHealth(hedgeAfter: hedgeAfter, attemptLimit: attemptLimit, at: now)
        health.latency = latency
        health.consecutiveFailures = consecutiveFailures
        health.rest = rest
        health.heardAt = heardAt
        health.failedHosts = failedHosts
        health.outcomes = outcomes
        return health
    }

    /// The time to wait for the provider before the next one is queried as well.
    var hedgeDelay: Duration {
        max(min(max(hedgeAfter, latency.percentile95 ?? .zero), attemptLimit), .milliseconds(1))
    }

    /// Returns whether a query takes so much longer than others that it gives up its slot for a waiting query.
    ///
    /// The limit is eight times the 95th percentile, if the provider answered other queries meanwhile. Without that sign
    /// everything may be slow, or this process was suspended: then all of the usual limit must have passed too.
    func isOverdue(sentAt: MonotonicTime, at now: MonotonicTime) -> Bool {
        let usual = latency.percentile95.map { max($0 * 8, MemberHealth.leastPlaceTime) }
        if let usual, let heardAt, heardAt - sentAt >= usual / 2 { return now - sentAt >= usual }
        return now - sentAt >= max(attemptLimit, usual ?? .zero)
    }

    func standing(at now: MonotonicTime) -> Standing {
        if let rest { return now < rest.until || probe != nil ? .quarantined : .probeDue }
        if let silentSince, now - silentSince > hedgeDelay { return .suspect }
        return .healthy
    }

    /// Returns the time that an answer has been outstanding without any other answer; nil when none is.
    func silence(at now: MonotonicTime) -> Duration? { silentSince.map { now - $0 } }

    /// Returns whether there was an answer within ``leastPlaceTime``, or within twice the usual latency: the queries of a burst are
    /// sent together, and so are their answers.
    func isAnswering(at now: MonotonicTime) -> Bool {
        let usual = latency.percentile95 ?? latency.mean ?? .zero
        let gap = max(MemberHealth.leastPlaceTime, min(usual * 2, attemptLimit))
        return rest == nil && heardAt.map { now - $0 < gap } ?? false
    }

    func isResting(at now: MonotonicTime) -> Bool {
        rest.map { now < $0.until } ?? false
    }

    mutating func sent(_ query: UInt64, isProbe: Bool, at now: MonotonicTime) {
        unheard[query] = now
        silentSince = silentSince ?? now
        if isProbe { probe = query }
    }

    /// Records a definite answer.
    /// - Parameter latency: Nil when it does not predict the next query's.
    mutating func succeeded(_ query: UInt64, latency: Duration?, at now: MonotonicTime) {
        if let latency { self.latency.learn(latency, at: now) }
        forget(query)
        // The provider responds: its other outstanding answers are slow for other reasons.
        unheard.removeAll(keepingCapacity: true)
        silentSince = nil
        heardAt = now
        consecutiveFailures = 0
        failedHosts = []
        outcomes = outcomes << 1 | 1
        if let rest, rest.isRequested, now < rest.until { return }
        rest = nil
    }

    /// Records the failure of a query.
    /// - Parameters:
    ///   - isPartial: Whether the provider answered another part of the query, now or before.
    ///   - limit: The time limit of the query.
    ///   - jitter: A random number in 0..<``jitterSteps``.
    mutating func failed(
        _ query: UInt64,
        _ error: HTTPDNSProviderError,
        about host: HTTPDNSName,
        isPartial: Bool = false,
        sentAt: MonotonicTime,
        limit: Duration,
        jitter: UInt64,
        at now: MonotonicTime
    ) {
        let delay = hedgeDelay
        forget(query)
        switch error.code {
        case .shutDown:
            return
        case let code where code.isLocal:
            // It reported that it is out of order. The next request probes it.
            rest(since: now, for: .zero, error, isRequested: false)
        case .rateLimited:
            let wish = min(max(error.retryAfter ?? .zero, MemberHealth.shortestRest), MemberHealth.longestWish)
            rest(since: now, for: wish, error, isRequested: true)
        case .serverFailure where error.retryAfter == nil, .refused where error.retryAfter == nil, .policyRefused,
            _ where isPartial && error.retryAfter == nil:
            if !failedHosts.contains(host) {
                failedHosts.append(host)
                outcomes <<= 1
            }
            let needed =
                rest == nil ? max(MemberHealth.failingNames, outcomes.nonzeroBitCount) : MemberHealth.failingNames
            if failedHosts.count >= needed {
                count(error, sentAt, jitter, at: now)
            }
        case .timedOut where limit < delay || (heardAt.map { $0 > sentAt } ?? false):
            return
        default:
            count(error, sentAt, jitter, at: now)
        }
    }

    /// Ends a quarantine, unless the service asked for it.
    mutating func endRest() {
        guard rest?.isRequested == false else { return }
        rest = nil
        consecutiveFailures = 0
    }

    /// Records that a query ended without information about the provider.
    mutating func dropped(_ query: UInt64) {
        forget(query)
    }

    private mutating func count(
        _ error: HTTPDNSProviderError,
        _ sentAt: MonotonicTime,
        _ jitter: UInt64,
        at now: MonotonicTime
    ) {
        if let rest, sentAt < rest.since { return }
        failedHosts = []
        consecutiveFailures += 1
        let doublings = min(consecutiveFailures - 1, 5)
        let plain = min(MemberHealth.shortestRest * (1 << doublings), MemberHealth.longestRest)
        let jittered =
            plain * (9 * Int(MemberHealth.jitterSteps - 1) + 2 * Int(jitter)) / (10 * Int(MemberHealth.jitterSteps - 1))
        let backoff = max(jittered, MemberHealth.shortestRest)
        let wish = error.retryAfter.map { min($0, MemberHealth.longestWish) }
        rest(since: now, for: max(backoff, wish ?? .zero), error, isRequested: (wish ?? .zero) > .zero)
    }

    /// Begins a quarantine. A quarantine is never shortened by another one.
    private mutating func rest(
        since now: MonotonicTime,
        for length: Duration,
        _ error: HTTPDNSProviderError,
        isRequested: Bool
    ) {
        let isKept = rest.map { $0.isRequested && now < $0.until } ?? false
        let until = max(now + length, isKept ? rest?.until ?? now : now)
        rest = Rest(since: now, until: until, why: error.message, isRequested: isRequested || isKept)
    }

    private mutating func forget(_ query: UInt64) {
        if probe == query { probe = nil }
        guard let sentAt = unheard.removeValue(forKey: query), sentAt == silentSince else { return }
        silentSince = unheard.values.min()
    }
}
