// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

package import HTTPDNSPrimitives
internal import Synchronization

/// The reads in flight that requests share: those of calls with identical requests, and those that fill a response cache.
///
/// The first request of a key leads: it sends, in its own task and within its own limits, and the others wait for its result.
/// - A result that only its own caller may get ends the wait of the others: all of them send. Their key is remembered for some
///   minutes, in which requests do not wait for each other.
/// - When the leader is canceled, its time has passed or it leaves its body unread for 100 ms, another request leads. A request
///   waits for two leaders at most.
/// - A request waits within its own limits, and never for a less urgent one.
package final class ReadCoalescer<Key: Hashable & Sendable, Value: Sendable>: Sendable {
    /// The result for a request.
    package enum Turn: Sendable {
        /// It sends its request.
        case send(Lead)
        /// It gets the result of another one.
        case shared(Value)
        /// The other one failed, and this one would fail too.
        case failed(any Error)
        /// Its own limit has passed, or is so near that it should not send any more.
        case overdue
    }

    /// The end of a lead.
    package enum Ending: Sendable {
        case shared(Value)
        /// The others send requests of their own.
        /// - Parameter isRemembered: Whether later requests do not wait for each other.
        case alone(isRemembered: Bool)
        /// The others fail too.
        case failed(any Error)
        /// Another request leads.
        case abandoned
    }

    fileprivate struct Waiter: Sendable {
        let hash: Int
        /// Delivers nil to a canceled request.
        let turn = OneShot<Turn?>()
    }

    fileprivate typealias Table = ReadTable<Key, Waiter>

    private struct State: Sendable {
        var table = Table()
        var unshareable = RecentHashes()
        var sharedCount = 0
    }

    private let state = Lock(State())
    private let clock: any TimeSource

    package init(clock: any TimeSource = SystemTimeSource()) { self.clock = clock }

    /// The number of reads in flight that others may share.
    package var leadCount: Int { state.withLock { $0.table.leadCount } }
    /// The number of requests that wait for another one.
    var waiterCount: Int { state.withLock { $0.table.waiterCount } }
    /// The number of requests that got the result of another one.
    var sharedCount: Int { state.withLock { $0.sharedCount } }

    /// The right to send a request of a key. Its last reference ends it with ``Ending/abandoned``.
    package final class Lead: Sendable {
        private let coalescer: ReadCoalescer
        private let hash: Int
        /// Nil for a request that no other one waits for.
        private let id: Table.LeadID?
        /// Whether the request has waited for another one before.
        package let hasWaited: Bool

        fileprivate init(_ coalescer: ReadCoalescer, _ hash: Int, _ id: Table.LeadID?, hasWaited: Bool = false) {
            (self.coalescer, self.hash, self.id) = (coalescer, hash, id)
            self.hasWaited = hasWaited
        }

        deinit { if let id { coalescer.end(id, .abandoned) } }

        /// Whether other requests may wait for this one.
        package var isShared: Bool { id != nil }

        /// Ends the lead. A second end has no effect on others.
        package func end(_ ending: Ending) {
            switch ending {
            case .shared: noteShareable()
            case .alone(isRemembered: true): coalescer.remember(hash)
            case .alone, .failed, .abandoned: break
            }
            if let id { coalescer.end(id, ending) }
        }

        /// Notes that the response may be for others, which ends the memory of another one.
        func noteShareable() { coalescer.state.withLock { $0.unshareable.remove(hash) } }

        /// Notes that the response head has arrived.
        func noteHead() {
            if let id { coalescer.state.withLock { $0.table.noteHead(id) } }
        }

        /// Notes that the caller waits for a part of the body, or that the body waits for its caller.
        package func noteReading(_ isReading: Bool) {
            guard let id else { return }
            let now = coalescer.clock.now()
            if let check = coalescer.state.withLock({ $0.table.noteReading(id, isReading, at: now) }) {
                coalescer.start(check)
            }
        }
    }

    // MARK: requests

    /// Returns the result for a request, after a wait for that of another one.
    /// - Parameters:
    ///   - order: The priority of the request in the queue for connections.
    ///   - head: The moment until which it waits for a response head; nil without a limit.
    ///   - body: The moment until which it waits for a whole response; nil without a limit.
    ///   - hasWaited: Whether the request has waited for another one before.
    /// - Throws: `CancellationError`.
    package func turn(
        _ key: Key,
        order: Int8,
        head: MonotonicTime?,
        body: MonotonicTime?,
        hasWaited: Bool = false
    ) async throws -> Turn {
        let (hash, now) = (key.hashValue, clock.now())
        let waiter = Waiter(hash: hash)
        let rank = Self.rank(order)
        let joined = state.withLock { state -> (entry: Table.Entry, check: Table.Check?) in
            if state.unshareable.contains(hash, at: now) { return (.isAlone, nil) }
            let limits = Table.Limits(head: head, body: body)
            return state.table.join(key, waiter, rank, limits, hasWaited: hasWaited, at: now)
        }
        if let check = joined.check { start(check) }
        switch joined.entry {
        case .leads(let id): return .send(Lead(self, hash, id))
        case .isAlone: return .send(Lead(self, hash, nil))
        case .waits(let id):
            let timer = head.map { limit in clock.alarm(at: limit) { self.expire(id) } }
            defer { timer?.cancel() }
            let turn = await withTaskCancellationHandler {
                await waiter.turn.value()
            } onCancel: {
                state.withLock { $0.table.leave(id) }?.turn.deliver(nil)
            }
            // A lead that is dropped here passes to another request.
            try Task.checkCancellation()
            guard let turn else { throw CancellationError() }
            return turn
        }
    }

    /// Returns the right to send a request that waits for no other one.
    /// - Returns: Nil when another request of the key is in flight.
    package func lead(_ key: Key, order: Int8) -> Lead? {
        let (rank, now) = (Self.rank(order), clock.now())
        guard case .leads(let id) = state.withLock({ $0.table.join(key, nil, rank, at: now) }).entry else { return nil }
        return Lead(self, key.hashValue, id)
    }

    /// Returns the right to send a request that no other one waits for.
    package func alone(_ key: Key) -> Lead { Lead(self, key.hashValue, nil) }

    private static func rank(_ order: Int8) -> Table.Rank {
        Table.Rank(order: order, priority: Task.currentPriority, isOnOwnThreads: CallWork.executor != nil)
    }

    /// Ends the wait of a request when its limit has passed.
    /// - Returns: A later limit.
    private func expire(_ id: Table.WaiterID) -> MonotonicTime? {
        let now = clock.now()
        let (overdue, later) = state.withLock { $0.table.expire(id, at: now) }
        overdue?.turn.deliver(.overdue)
        return later
    }

    // MARK: leads

    private func end(_ id: Table.LeadID, _ ending: Ending) {
        let kind: Table.Ending =
            switch ending {
            case .shared, .failed: .shared
            case .alone: .alone
            case .abandoned: .abandoned
            }
        let now = clock.now()
        let work = state.withLock { state in
            let work = state.table.end(id, kind, at: now)
            if case .shared = ending { state.sharedCount += work.resumed.count }
            return work
        }
        resume(work, ending)
    }

    private func resume(_ work: Table.Work, _ ending: Ending) {
        for (waiter, verdict) in work.resumed {
            switch (verdict, ending) {
            case (.shares, .shared(let value)): waiter.turn.deliver(.shared(value))
            case (.shares, .failed(let error)): waiter.turn.deliver(.failed(error))
            case (.sends(let id), _): waiter.turn.deliver(.send(Lead(self, waiter.hash, id, hasWaited: true)))
            case (.isOverdue, _), (.shares, _): waiter.turn.deliver(.overdue)
            }
        }
        if let check = work.check { start(check) }
    }

    /// Checks later whether the body of a response is still being read.
    private func start(_ check: Table.Check) {
        _ = clock.alarm(at: check.time) {
            let now = self.clock.now()
            self.resume(self.state.withLock { $0.table.checkReading(check, at: now) }, .abandoned)
            return nil
        }
    }

    private func remember(_ hash: Int) {
        let now = clock.now()
        state.withLock { $0.unshareable.insert(hash, at: now) }
    }
}

/// The hashes of keys that were added in the last two to four minutes. A hash has no value of a request, and another key with
/// the same one only does not share its reads.
struct RecentHashes: Sendable {
    /// Half of the longest time for which a hash is kept.
    static let period = Duration.seconds(120)
    /// Half of the most hashes.
    static let limit = 4096

    private var recent: Set<Int> = []
    private var older: Set<Int> = []
    private var end: MonotonicTime?

    mutating func insert(_ hash: Int, at now: MonotonicTime) {
        forget(at: now)
        if recent.count >= Self.limit { (older, recent) = (recent, []) }
        recent.insert(hash)
    }

    mutating func remove(_ hash: Int) {
        guard end != nil else { return }
        recent.remove(hash)
        older.remove(hash)
    }

    mutating func contains(_ hash: Int, at now: MonotonicTime) -> Bool {
        guard end != nil else { return false }
        forget(at: now)
        return recent.contains(hash) || older.contains(hash)
    }

    private mutating func forget(at now: MonotonicTime) {
        guard let end else { return self.end = now + Self.period }
        guard now >= end else { return }
        (older, recent) = (now < end + Self.period ? recent : [], [])
        self.end = now + Self.period
    }
}
