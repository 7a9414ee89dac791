// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

internal import HTTPDNSCurl
internal import HTTPDNSPrimitives

/// The queues in which the hops of a client wait for a connection, in this order: the client's own, then the queue of all clients
/// of its transport.
///
/// This step is between the rewriter and the transfer.
struct Admissions: Sendable {
    /// Empty where connections are not limited.
    let queues: [Admission]
    private let member = Admission.Member()

    init(_ queues: [Admission?]) { self.queues = queues.compactMap(\.self) }

    /// Gets a connection permit for a hop, first among its client's, then among those of all clients of the transport.
    /// - Returns: The permit, and whether the hop had to wait for it; no permit where connections are not limited.
    /// - Throws: ``HTTPDNSClientError`` with phase `queue`; `CancellationError`.
    func admit(
        _ request: HTTPDNSClient.Request,
        to rewritten: HTTPDNSRewriter.RewrittenRequest,
        _ context: HTTPDNSClient.InterceptionContext
    ) async throws -> (permit: ConnectionPermit?, hasWaited: Bool) {
        let origin = HopOrigin(rewritten)
        let priority = request.options.priority
        var permit: ConnectionPermit?
        var hasWaited = false
        let observed = context.frame?.observed
        let start = observed.map { _ in SystemTimeSource().now() }
        do {
            for admission in queues {
                let (waited, grant) = try await admission.enter(
                    for: origin,
                    priority,
                    headDeadline: context.call.headDeadline,
                    deadline: context.call.deadline,
                    of: member
                )
                permit = ConnectionPermit(admission, origin, grant, deadline: context.call.deadline, outer: permit)
                if waited { hasWaited = true }
            }
        } catch {
            let failure = error as? AdmissionFailure
            // Only a full queue refuses without a wait of its own.
            if let start, hasWaited || failure?.reason != .full {
                observed?.note(.waited(context.sending, since: start))
            }
            guard let failure else { throw error }
            throw HTTPDNSClientError(failure, context.call)
        }
        if let start, hasWaited { observed?.note(.waited(context.sending, since: start)) }
        return (permit, hasWaited)
    }

    /// Ends the waits of this client's hops.
    func close() {
        for admission in queues { admission.close(member) }
    }

    /// The number of hops of this client, or of all clients of its transport, that wait for a connection.
    var waiting: Int { queues.reduce(0) { $0 + $1.waiting } }
}

extension Admission {
    /// Creates an admission; nil where connections are not limited.
    /// - Parameter loops: The number of loops that connections may belong to.
    convenience init?(_ connections: HTTPDNSClient.Configuration.Connections, loops: Int) {
        guard connections.maximumPerHost != nil || connections.maximum != nil else { return nil }
        self.init(
            Limits(
                queue: AdmissionQueue.Limits(
                    perHost: connections.maximumPerHost ?? .max,
                    total: connections.maximum ?? .max,
                    streams: min(connections.maximumStreams, AdmissionQueue.Limits().streams),
                    maximumWaiting: connections.maximumQueued,
                    loops: loops,
                    rememberedHosts: max(1024, connections.maximumIdle)
                ),
                wait: connections.queueWait
            )
        )
    }
}

/// The queue in which hops wait for a connection: one budget for all loops of a client, and one for all clients of a
/// transport.
final class Admission: Sendable {
    /// The result of a wait.
    enum Outcome: Sendable {
        case admitted
        case overdue
        case displaced
        case canceled
        case shutDown
    }

    /// The owner of waiting hops, identified by reference.
    final class Member: Sendable {
        private let closed = Lock(false)

        var isClosed: Bool { closed.withLock { $0 } }

        func close() { closed.withLock { $0 = true } }
    }

    struct Limits: Hashable, Sendable {
        var queue: AdmissionQueue.Limits
        /// The maximum wait besides the deadline; nil means until the deadline.
        var wait: Duration?
    }

    private struct State {
        var queue: AdmissionQueue
        var waits: [AdmissionQueue.Ticket: OneShot<Outcome>] = [:]
        /// The times at which deadlines are checked.
        var alarms = OrderedHeap<MonotonicTime, MonotonicTime>()

        /// Returns the alarm that is missing for the earliest deadline.
        mutating func missingAlarm() -> MonotonicTime? {
            guard let deadline = queue.nextDeadline else { return nil }
            if let first = alarms.first, first.key <= deadline { return nil }
            alarms.set(deadline, for: deadline)
            return deadline
        }
    }

    let limits: Limits
    private let state: Lock<State>
    let clock: any TimeSource

    init(_ limits: Limits, clock: any TimeSource = SystemTimeSource()) {
        self.limits = limits
        self.clock = clock
        state = Lock(State(queue: AdmissionQueue(limits.queue)))
    }

    /// The number of waiting hops.
    var waiting: Int { state.withLock { $0.queue.waiting } }
    /// The number of connections in use, as counted here.
    var connections: Int { state.withLock { $0.queue.connections } }

    /// Waits until the hop gets a connection permit.
    /// - Parameters:
    ///   - headDeadline: The time at which the response head must have arrived.
    ///   - deadline: The deadline of the call.
    /// - Returns: Whether it had to wait, and the loop of its connection.
    /// - Throws: ``AdmissionFailure``; `CancellationError`.
    func enter(
        for origin: HopOrigin,
        _ priority: HTTPDNSClient.Request.Priority,
        headDeadline: MonotonicTime?,
        deadline: MonotonicTime?,
        of member: Member
    ) async throws -> (hasWaited: Bool, grant: LoopGrant) {
        let start = clock.now()
        let limit = limits.wait.map { start + $0 }
        let firstDeadline = [headDeadline, deadline].compactMap(\.self).min()
        let until = [firstDeadline, limit].compactMap(\.self).min()
        let waiter = AdmissionQueue.Waiter(
            origin: origin,
            priority: priority,
            owner: ObjectIdentifier(member),
            arrival: start,
            until: until,
            headDeadline: headDeadline,
            deadline: deadline
        )
        let outcome = OneShot<Outcome>()
        let (reply, alarm, grant) = state.withLock { state -> (AdmissionQueue.Reply, MonotonicTime?, LoopGrant) in
            let reply = state.queue.ask(waiter)
            guard case .waits(let ticket, _) = reply else { return (reply, nil, state.queue.lastGrant) }
            state.waits[ticket] = outcome
            return (reply, state.missingAlarm(), LoopGrant())
        }
        switch reply {
        case .admitted: return (false, grant)
        case .full: throw failure(.full, origin, since: start)
        case .waits(let ticket, let displaced):
            if let displaced { end([displaced], .displaced) }
            if let alarm { wake(at: alarm) }
            switch await wait(ticket, outcome, of: member) {
            case .admitted:
                return (true, limits.queue.loops > 1 ? state.withLock { $0.queue.takeGrant(of: ticket) } : grant)
            case .canceled: throw CancellationError()
            case .displaced: throw failure(.displaced, origin, since: start)
            case .shutDown: throw failure(.shutDown, origin, since: start)
            case .overdue:
                let isOwn = limit != nil && until == limit && limit != firstDeadline
                throw failure(isOwn ? .waitedTooLong : .deadline, origin, since: start)
            }
        }
    }

    /// Records the end of an admitted hop.
    /// - Parameters:
    ///   - loop: The loop of its connection; nil when none was chosen.
    ///   - start: The time of its admission.
    ///   - hasHead: Whether it got a response head.
    ///   - deadline: The deadline of the call.
    func leave(
        _ origin: HopOrigin,
        from loop: Int?,
        since start: MonotonicTime,
        hasHead: Bool,
        deadline: MonotonicTime?
    ) {
        let now = clock.now()
        let isInTime = deadline.map { now < $0 } ?? true
        let tickets = state.withLock { state in
            state.queue.noteEnd(origin, after: now - start, hasHead: hasHead, isInTime: isInTime)
            return state.queue.release(origin, from: loop, at: now)
        }
        end(tickets, .admitted)
    }

    /// Records the chosen loop of an admitted hop.
    /// - Returns: The loop that it must use.
    func bind(_ origin: HopOrigin, from granted: Int?, to chosen: Int) -> Int {
        state.withLock { $0.queue.bind(origin, from: granted, to: chosen) }
    }

    /// Records the response head of an admitted hop.
    /// - Parameters:
    ///   - isShared: Whether its connection carries many requests.
    ///   - start: The time of its admission.
    func noteHead(from origin: HopOrigin, isShared: Bool, since start: MonotonicTime) {
        let now = clock.now()
        let tickets = state.withLock { state in
            state.queue.noteHead(origin, after: now - start)
            return state.queue.learn(origin, isShared: isShared, at: now)
        }
        end(tickets, .admitted)
    }

    /// Ends the waits of one member, and refuses further ones.
    func close(_ member: Member) {
        member.close()
        end(state.withLock { $0.queue.withdrawAll(of: ObjectIdentifier(member)) }, .shutDown)
    }

    // MARK: waiting

    private func wait(_ ticket: AdmissionQueue.Ticket, _ outcome: OneShot<Outcome>, of member: Member) async -> Outcome
    {
        // The member was closed before the ticket was in the queue, or the ticket is among those that are notified.
        if member.isClosed { withdraw(ticket, .shutDown) }
        return await withTaskCancellationHandler {
            await outcome.value()
        } onCancel: {
            withdraw(ticket, .canceled)
        }
    }

    private func withdraw(_ ticket: AdmissionQueue.Ticket, _ outcome: Outcome) {
        // A ticket that is being admitted, or was, is not withdrawn: its permit would be lost.
        if state.withLock({ $0.queue.withdraw(ticket) }) { end([ticket], outcome) }
    }

    /// Notifies tickets that have left the queue. Each ticket leaves it once, so each is notified once.
    private func end(_ tickets: [AdmissionQueue.Ticket], _ outcome: Outcome) {
        guard !tickets.isEmpty else { return }
        let waits = state.withLock { state in tickets.compactMap { state.waits.removeValue(forKey: $0) } }
        for wait in waits { wait.deliver(outcome) }
    }

    // MARK: deadlines

    /// One alarm serves all waiting hops. When its reason disappears, it stays and serves later ones.
    ///
    /// It belongs to no call: on the thread of a blocking client it would wait for that client's interceptors, and all other
    /// hops with it. That thread has one besides, for a process whose other threads are all blocked; the first one counts.
    private func wake(at moment: MonotonicTime) {
        let alarm: @Sendable () async -> Void = { [weak self, clock] in
            guard (try? await clock.sleep(until: moment)) != nil else { return }
            self?.expire(at: moment)
        }
        Task.detached { await alarm() }
        if CallWork.executor != nil { CallWork.detached(alarm) }
    }

    private func expire(at moment: MonotonicTime) {
        let (tickets, next) = state.withLock { state -> ([AdmissionQueue.Ticket], MonotonicTime?) in
            state.alarms.remove(moment)
            let tickets = state.queue.expire(at: moment)
            return (tickets, state.missingAlarm())
        }
        end(tickets, .overdue)
        if let next { wake(at: next) }
    }

    private func failure(_ reason: AdmissionFailure.Reason, _ origin: HopOrigin, since start: MonotonicTime)
        -> AdmissionFailure
    {
        let (waiting, others) = state.withLock { ($0.queue.waiting(for: origin), $0.queue.waiting) }
        return AdmissionFailure(
            reason: reason,
            origin: origin,
            limits: limits,
            waited: clock.now() - start,
            waitingForHost: waiting,
            waiting: others
        )
    }
}

/// The reason why a hop was not admitted.
struct AdmissionFailure: Error {
    enum Reason: Sendable {
        /// The deadline of the call passed.
        case deadline
        /// The time limit of the queue passed.
        case waitedTooLong
        /// The queue is full.
        case full
        /// The queue is full, and a more urgent request arrived.
        case displaced
        case shutDown
    }

    let reason: Reason
    let origin: HopOrigin
    let limits: Admission.Limits
    let waited: Duration
    /// The number of others that wait for the same host; below, of all others.
    let waitingForHost: Int
    let waiting: Int
}
