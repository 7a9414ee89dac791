// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

internal import HTTPDNSPrimitives

/// The reads in flight and the requests that wait for them: at most one for a key, shared by all concurrent requests that it
/// serves.
///
/// A value without I/O. Its methods return the waiters that are to be resumed, after the lock around it is released.
struct ReadTable<Key: Hashable & Sendable, Waiter: Sendable>: Sendable {
    /// The urgency of a request. It never waits for a less urgent one.
    struct Rank: Sendable {
        /// The priority in the queue for connections.
        let order: Int8
        let priority: TaskPriority
        /// Whether its task continues when all threads of the runtime are blocked.
        let isOnOwnThreads: Bool

        /// Whether a request of another rank may wait for one of this rank.
        func serves(_ other: Rank) -> Bool {
            order >= other.order && priority >= other.priority && (isOnOwnThreads || !other.isOnOwnThreads)
        }
    }

    /// The moments until which a request waits; nil without a limit.
    struct Limits: Sendable {
        /// For the response head.
        var head: MonotonicTime?
        /// For the whole response.
        var body: MonotonicTime?

        /// The moment at which the first of the limits passes.
        private var first: MonotonicTime? {
            guard let head, let body else { return head ?? body }
            return min(head, body)
        }

        /// Whether a request with these limits may wait at least as long as one with others.
        fileprivate func isAtLeast(_ other: Limits) -> Bool {
            guard let own = first else { return true }
            return other.first.map { own >= $0 } ?? false
        }
    }

    /// The right to send the request of a flight. A flight whose leader fails gets another leader.
    struct LeadID: Hashable, Sendable {
        fileprivate let flight: UInt64
        fileprivate let term: UInt64
    }

    struct WaiterID: Hashable, Sendable {
        fileprivate let flight: UInt64
        fileprivate let number: UInt64
    }

    /// The part of a request that was added to the table.
    enum Entry: Sendable {
        case leads(LeadID)
        case waits(WaiterID)
        case isAlone
    }

    /// The result for a request that has waited.
    enum Verdict: Hashable, Sendable {
        /// It sends its request: for the others too, or for itself.
        case sends(LeadID?)
        /// It gets the result of the lead.
        case shares
        /// Its own limit has passed, or is so near that it does not send any more.
        case isOverdue
    }

    /// The end of a lead.
    enum Ending: Sendable {
        /// The waiting requests get its result.
        case shared
        /// They send requests of their own, all of them now.
        case alone
        /// It was canceled, its own time has passed, or its body is not read: one of the others takes its place.
        case abandoned
    }

    /// A call of ``checkReading(_:at:)`` that has to be made at a moment.
    struct Check: Sendable {
        fileprivate let lead: LeadID
        let time: MonotonicTime
    }

    /// The work that is to be done after the lock is released.
    struct Work: Sendable {
        var resumed: [(waiter: Waiter, verdict: Verdict)] = []
        var check: Check?
        /// The removed keys. Their parts may belong to callers, whose code must not run under the lock.
        fileprivate var keys: (Key, Key?)?
    }

    private struct Follower: Sendable {
        let waiter: Waiter
        let rank: Rank
        let limits: Limits
        let joinedAt: MonotonicTime
        /// Whether it has waited for another leader before.
        var hasWaited: Bool

        /// Whether too little of its time is left to send. A request with little time from the start may need less than
        /// others: it is too late only when half of its time has passed.
        func isTooLate(at now: MonotonicTime) -> Bool {
            limits.head.map { $0 - now < min(ReadTable.shortestRest, ($0 - joinedAt) / 2) } ?? false
        }
    }

    private struct Flight: Sendable {
        let key: Key
        var rank: Rank
        var term: UInt64 = 0
        var followers: [UInt64: Follower] = [:]
        var hasHead = false
        /// The time for which the body was not being read, without the present pause.
        var pause = Duration.zero
        /// The begin of the present pause.
        var pausedAt: MonotonicTime?
        var checksAt: MonotonicTime?
    }

    /// The time for which a leader may leave its body unread, all pauses taken together, while others wait for it.
    static var longestPause: Duration { .milliseconds(100) }
    /// A request with less time than this until its limit does not take the place of a leader, after half of its time.
    static var shortestRest: Duration { .milliseconds(20) }

    private var flights: [UInt64: Flight] = [:]
    private var current: [Key: [UInt64]] = [:]
    private var lastNumber: UInt64 = 0

    /// The number of reads in flight.
    var leadCount: Int { flights.count }
    /// The number of requests that wait for the read of another one.
    var waiterCount: Int { flights.values.reduce(0) { $0 + $1.followers.count } }

    // MARK: requests

    /// Adds a request.
    /// - Parameters:
    ///   - waiter: Nil for a request that does not wait.
    ///   - hasWaited: Whether the request has waited for another one before.
    mutating func join(
        _ key: Key,
        _ waiter: Waiter?,
        _ rank: Rank,
        _ limits: Limits = Limits(),
        hasWaited: Bool = false,
        at now: MonotonicTime
    ) -> (entry: Entry, check: Check?) {
        lastNumber += 1
        let number = lastNumber
        if let id = current[key]?.first(where: { flights[$0]?.rank.serves(rank) == true }) {
            guard let waiter else { return (.isAlone, nil) }
            flights[id]?.followers[number] = Follower(
                waiter: waiter,
                rank: rank,
                limits: limits,
                joinedAt: now,
                hasWaited: hasWaited
            )
            return (.waits(WaiterID(flight: id, number: number)), nextCheck(id))
        }
        flights[number] = Flight(key: key, rank: rank)
        current[key, default: []].append(number)
        return (.leads(LeadID(flight: number, term: 0)), nil)
    }

    /// Removes a request that no longer waits.
    /// - Returns: Nil when it does not wait any more.
    mutating func leave(_ id: WaiterID) -> Waiter? {
        flights[id.flight]?.followers.removeValue(forKey: id.number)?.waiter
    }

    /// Removes a request whose limit has passed. The limit for the head does not concern the body.
    /// - Returns: The removed request, or the moment at which its limit has to be checked again.
    mutating func expire(_ id: WaiterID, at now: MonotonicTime) -> (overdue: Waiter?, later: MonotonicTime?) {
        guard let flight = flights[id.flight], let follower = flight.followers[id.number] else { return (nil, nil) }
        let limit = flight.hasHead ? follower.limits.body : follower.limits.head
        guard let limit, limit <= now else { return (nil, limit) }
        return (leave(id), nil)
    }

    // MARK: leads

    /// Notes that the response head has arrived.
    mutating func noteHead(_ id: LeadID) {
        if isCurrent(id) { flights[id.flight]?.hasHead = true }
    }

    /// Notes that the body of a response is not being read, or is being read again.
    mutating func noteReading(_ id: LeadID, _ isReading: Bool, at now: MonotonicTime) -> Check? {
        guard isCurrent(id) else { return nil }
        if let begin = flights[id.flight]?.pausedAt { flights[id.flight]?.pause += now - begin }
        flights[id.flight]?.pausedAt = isReading ? nil : now
        return isReading ? nil : nextCheck(id.flight)
    }

    /// Ends a lead whose body has not been read for too long.
    mutating func checkReading(_ check: Check, at now: MonotonicTime) -> Work {
        let id = check.lead
        guard isCurrent(id), flights[id.flight]?.checksAt == check.time else { return Work() }
        flights[id.flight]?.checksAt = nil
        if let due = pauseEnd(id.flight), due <= now { return end(id, .abandoned, at: now) }
        return Work(check: nextCheck(id.flight))
    }

    /// Ends a lead. One that has ended before is left alone.
    mutating func end(_ id: LeadID, _ ending: Ending, at now: MonotonicTime) -> Work {
        guard isCurrent(id) else { return Work() }
        switch ending {
        case .shared: return close(id.flight, .shares)
        case .alone: return close(id.flight, .sends(nil))
        case .abandoned: return handOver(id.flight, at: now)
        }
    }

    /// Gives the lead to the request that may wait longest. A request that has waited for two leaders sends its own one.
    private mutating func handOver(_ id: UInt64, at now: MonotonicTime) -> Work {
        guard let flight = flights[id] else { return Work() }
        var (work, rest) = (Work(), [(number: UInt64, follower: Follower)]())
        for (number, follower) in flight.followers.sorted(by: { $0.key < $1.key }) {
            if follower.isTooLate(at: now) {
                work.resumed.append((follower.waiter, .isOverdue))
            } else if follower.hasWaited {
                work.resumed.append((follower.waiter, .sends(nil)))
            } else {
                rest.append((number, follower))
            }
        }
        guard var next = rest.first else {
            work.keys = remove(id)
            return work
        }
        for other in rest.dropFirst() where !next.follower.limits.isAtLeast(other.follower.limits) { next = other }
        let (term, rank) = (flight.term + 1, next.follower.rank)
        var followers: [UInt64: Follower] = [:]
        for (number, follower) in rest where number != next.number {
            var follower = follower
            follower.hasWaited = true
            if rank.serves(follower.rank) {
                followers[number] = follower
            } else {
                work.resumed.append((follower.waiter, .sends(nil)))
            }
        }
        flights[id] = Flight(key: flight.key, rank: rank, term: term, followers: followers)
        work.resumed.append((next.follower.waiter, .sends(LeadID(flight: id, term: term))))
        return work
    }

    private mutating func close(_ id: UInt64, _ verdict: Verdict) -> Work {
        let followers = flights[id]?.followers.sorted { $0.key < $1.key } ?? []
        return Work(resumed: followers.map { ($0.value.waiter, verdict) }, keys: remove(id))
    }

    private mutating func remove(_ id: UInt64) -> (Key, Key?)? {
        guard let flight = flights.removeValue(forKey: id) else { return nil }
        guard let index = current.index(forKey: flight.key) else { return (flight.key, nil) }
        current.values[index].removeAll { $0 == id }
        return (flight.key, current.values[index].isEmpty ? current.remove(at: index).key : nil)
    }

    private func isCurrent(_ id: LeadID) -> Bool { flights[id.flight]?.term == id.term }

    /// Returns the end of the time for which the body may be left unread.
    private func pauseEnd(_ id: UInt64) -> MonotonicTime? {
        guard let flight = flights[id], let begin = flight.pausedAt else { return nil }
        return begin + max(Self.longestPause - flight.pause, .zero)
    }

    /// Returns the moment of the next check, if there is none that comes before. A lead without others needs none.
    private mutating func nextCheck(_ id: UInt64) -> Check? {
        guard let flight = flights[id], !flight.followers.isEmpty, let end = pauseEnd(id),
            flight.checksAt.map({ $0 > end }) ?? true
        else { return nil }
        flights[id]?.checksAt = end
        return Check(lead: LeadID(flight: id, term: flight.term), time: end)
    }
}
