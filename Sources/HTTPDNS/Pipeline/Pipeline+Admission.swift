// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

internal import HTTPDNSCore
internal import HTTPDNSCurl
internal import HTTPDNSPrimitives

// This step is between the rewriter and the connection fallback: the wait for a connection.
extension Pipeline {
    /// Gets a connection permit for a hop, first among its client's, then among those of all clients of the transport.
    /// - Returns: The permit, and whether the hop had to wait for it; nil where connections are not limited.
    /// - Throws: ``HTTPDNSClientError`` with phase `queue`; `CancellationError`.
    func admit(
        _ request: HTTPDNSClient.Request,
        to rewritten: HTTPDNSRewriter.RewrittenRequest,
        _ context: HTTPDNSClient.InterceptionContext
    ) async throws -> (permit: ConnectionPermit, hasWaited: Bool)? {
        let origin = HopOrigin(rewritten)
        let priority = request.options.priority
        var permit: ConnectionPermit?
        var hasWaited = false
        do {
            for admission in admissions {
                let waited = try await admission.enter(
                    for: origin,
                    priority,
                    deadline: context.call.firstDeadline,
                    of: member
                )
                permit = ConnectionPermit(admission, origin, outer: permit)
                if waited { hasWaited = true }
            }
        } catch let failure as AdmissionFailure {
            throw HTTPDNSClientError(failure, context.call)
        }
        return permit.map { ($0, hasWaited) }
    }

    /// Ends the waits of this client's hops.
    func endWaiting() {
        for admission in admissions { admission.close(member) }
    }

    /// The number of hops of this client, or of all clients of its transport, that wait for a connection.
    var waiting: Int { admissions.reduce(0) { $0 + $1.waiting } }
}

extension Admission {
    /// Creates an admission; nil where connections are not limited.
    convenience init?(_ connections: HTTPDNSClient.Configuration.Connections) {
        guard connections.maximumPerHost != nil || connections.maximum != nil else { return nil }
        self.init(
            Limits(
                queue: AdmissionQueue.Limits(
                    perHost: connections.maximumPerHost ?? .max,
                    total: connections.maximum ?? .max,
                    streams: min(connections.maximumStreams, AdmissionQueue.Limits().streams),
                    maximumWaiting: connections.maximumQueued
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
        case cancelled
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

    private enum Wait {
        /// The hop is in the queue, and its task has not gone to sleep yet.
        case beginning
        case asleep(UnsafeContinuation<Outcome, Never>)
        /// The wait is over, and its task has not been notified.
        case over(Outcome)
    }

    private struct State {
        var queue: AdmissionQueue
        var waits: [AdmissionQueue.Ticket: Wait] = [:]
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
    private let clock: any TimeSource

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
    /// - Parameter deadline: The deadline of the call.
    /// - Returns: Whether it had to wait.
    /// - Throws: ``AdmissionFailure``; `CancellationError`.
    func enter(
        for origin: HopOrigin,
        _ priority: HTTPDNSClient.Request.Priority,
        deadline: MonotonicTime?,
        of member: Member
    ) async throws -> Bool {
        let start = clock.now()
        let limit = limits.wait.map { start + $0 }
        let until = [deadline, limit].compactMap(\.self).min()
        let (reply, alarm) = state.withLock { state -> (AdmissionQueue.Reply, MonotonicTime?) in
            let reply = state.queue.ask(for: origin, priority, until: until, owner: ObjectIdentifier(member))
            guard case .waits(let ticket, _) = reply else { return (reply, nil) }
            state.waits[ticket] = .beginning
            return (reply, state.missingAlarm())
        }
        switch reply {
        case .admitted: return false
        case .full: throw failure(.full, origin, since: start)
        case .waits(let ticket, let displaced):
            if let displaced { end([displaced], .displaced) }
            if let alarm { wake(at: alarm) }
            switch await wait(ticket, of: member) {
            case .admitted: return true
            case .cancelled: throw CancellationError()
            case .displaced: throw failure(.displaced, origin, since: start)
            case .shutDown: throw failure(.shutDown, origin, since: start)
            case .overdue:
                let isOwn = limit != nil && until == limit && limit != deadline
                throw failure(isOwn ? .waitedTooLong : .deadline, origin, since: start)
            }
        }
    }

    /// Records the end of an admitted hop.
    func leave(_ origin: HopOrigin) {
        end(state.withLock { $0.queue.release(origin) }, .admitted)
    }

    /// Records the HTTP version of a host's response.
    func note(_ version: HTTPDNSClient.HTTPVersion, from origin: HopOrigin) {
        end(state.withLock { $0.queue.learn(origin, isShared: version == .http2) }, .admitted)
    }

    /// Ends the waits of one member, and refuses further ones.
    func close(_ member: Member) {
        member.close()
        end(state.withLock { $0.queue.withdrawAll(of: ObjectIdentifier(member)) }, .shutDown)
    }

    // MARK: waiting

    private func wait(_ ticket: AdmissionQueue.Ticket, of member: Member) async -> Outcome {
        // The member was closed before the ticket was in the queue, or the ticket is among those that are notified.
        if member.isClosed { withdraw(ticket, .shutDown) }
        return await withTaskCancellationHandler {
            await withUnsafeContinuation { continuation in
                let outcome = state.withLock { state -> Outcome? in
                    if case .over(let outcome) = state.waits[ticket] {
                        state.waits[ticket] = nil
                        return outcome
                    }
                    state.waits[ticket] = .asleep(continuation)
                    return nil
                }
                if let outcome { continuation.resume(returning: outcome) }
            }
        } onCancel: {
            withdraw(ticket, .cancelled)
        }
    }

    private func withdraw(_ ticket: AdmissionQueue.Ticket, _ outcome: Outcome) {
        // A ticket that is being admitted, or was, is not withdrawn: its permit would be lost.
        if state.withLock({ $0.queue.withdraw(ticket) }) { end([ticket], outcome) }
    }

    /// Notifies tickets that have left the queue. Each ticket leaves it once, so each is notified once.
    private func end(_ tickets: [AdmissionQueue.Ticket], _ outcome: Outcome) {
        guard !tickets.isEmpty else { return }
        let sleepers = state.withLock { state in
            tickets.compactMap { ticket -> UnsafeContinuation<Outcome, Never>? in
                if case .asleep(let continuation) = state.waits[ticket] {
                    state.waits[ticket] = nil
                    return continuation
                }
                state.waits[ticket] = .over(outcome)
                return nil
            }
        }
        for sleeper in sleepers { sleeper.resume(returning: outcome) }
    }

    // MARK: deadlines

    /// One alarm serves all waiting hops. When its reason disappears, it stays and serves later ones.
    private func wake(at moment: MonotonicTime) {
        CallWork.detached { [weak self, clock] in
            guard (try? await clock.sleep(until: moment)) != nil else { return }
            self?.expire(at: moment)
        }
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

/// The connection permit of one hop. It is returned with its last reference. The pipeline holds it until the hop has a
/// head or has failed. The transfer holds it until the last byte has arrived, or the transfer has ended otherwise.
final class ConnectionPermit: Sendable {
    private let admission: Admission
    private let origin: HopOrigin
    /// The permit in the budget of all clients of the transport.
    private let outer: ConnectionPermit?

    init(_ admission: Admission, _ origin: HopOrigin, outer: ConnectionPermit? = nil) {
        self.admission = admission
        self.origin = origin
        self.outer = outer
    }

    deinit { admission.leave(origin) }

    /// Records the HTTP version of the host's response.
    func note(_ version: HTTPDNSClient.HTTPVersion) {
        admission.note(version, from: origin)
        outer?.note(version)
    }
}
