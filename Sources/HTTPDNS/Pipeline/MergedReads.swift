// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

internal import HTTPDNSCore
internal import HTTPDNSPrimitives
internal import HTTPTypes
internal import Synchronization

/// The reads in flight of a client: at most one request for a key, shared by all concurrent calls.
///
/// The request runs in a task of its own, which collects the body. So a call that does not read its body never delays others.
/// A body without a declared length may never end, and a long one needs memory: the first call gets such a body as a stream, and
/// the others send requests of their own.
final class MergedReads: Sendable {
    /// The longest body that calls share. It is collected in memory.
    static let longestBody = HTTPDNSByteCount.mebibytes(1)
    /// The time after its deadline that the call which started a request waits for the error of the request, which has more
    /// details. It is shorter than ``Pipeline/overdueGrace``, after which the tasks of interceptors end.
    private static let grace = Duration.milliseconds(10)

    /// The result for one call.
    enum Outcome: Sendable {
        case received(HTTPDNSClient.Response)
        /// The call has to send a request of its own.
        case alone
        /// The time of the call that started the request has passed, or the request was canceled.
        case ended(any Error)
        case failed(any Error)
        /// The time of this call has passed.
        case overdue
        case canceled
    }

    private typealias Table = LookupCoalescer<ReadKey, Waiter, Task<Void, Never>>

    /// A call that waits.
    private struct Waiter: Sendable {
        /// The order of the calls.
        let number: UInt64
        /// The moment at which the body must have ended.
        let deadline: MonotonicTime?
        let ending: OneShot<Outcome>
    }

    private struct State: Sendable {
        var table = Table()
        /// The requests whose response head has arrived.
        var answered: Set<Table.FlightID> = []
        /// The number of tasks that send a request or collect its body.
        var running = 0
        var waiting = 0
        var merged = 0
        var lastNumber: UInt64 = 0
    }

    private let state = Lock(State())

    /// The number of requests in flight that calls share.
    var running: Int { state.withLock { $0.running } }
    /// The number of calls that wait for a response.
    var waiting: Int { state.withLock { $0.waiting } }
    /// The number of calls that got the response to the request of another call.
    var merged: Int { state.withLock { $0.merged } }

    /// Waits for the response to an identical request in flight, or sends the request.
    /// - Parameter send: Sends the request. It runs in another task, with the task-local values of this one.
    /// - Returns: The outcome, and whether `send` was used.
    func share(
        _ key: ReadKey,
        _ time: CallTime,
        sending send: @escaping @Sendable () async throws -> HTTPDNSClient.Response
    ) async -> (outcome: Outcome, hasSent: Bool) {
        let ending = OneShot<Outcome>()
        let entry = state.withLock { state in
            state.lastNumber += 1
            let waiter = Waiter(number: state.lastNumber, deadline: time.deadline, ending: ending)
            let entry = state.table.join(key, waiter, at: time.start, mayStart: { true })
            if entry?.starts == true { state.running += 1 }
            if entry != nil { state.waiting += 1 }
            return entry
        }
        guard let (seat, starts) = entry else { return (.alone, false) }
        if starts {
            let task = CallWork.task { await self.run(seat.flight, time, send) }
            // This call still waits. Its request may have ended already.
            _ = state.withLock { $0.table.attach(task, to: seat.flight) }
        }
        let timer = time.firstDeadline.map { deadline in
            CallWork.detached {
                await self.awaitEnd(of: time, deadline, grace: starts ? MergedReads.grace : .zero, seat, ending)
            }
        }
        let outcome = await withTaskCancellationHandler {
            await ending.value()
        } onCancel: {
            leave(seat, ending, .canceled)
        }
        timer?.cancel()
        state.withLock { state in
            state.waiting -= 1
            if case .received = outcome, !starts { state.merged += 1 }
        }
        return (outcome, starts)
    }

    /// Removes a waiter. The request is canceled when it has no other one.
    private func leave(_ seat: Table.Seat, _ ending: OneShot<Outcome>, _ outcome: Outcome) {
        let task = state.withLock { state in
            let (ended, task) = state.table.leave(seat)
            if ended { state.answered.remove(seat.flight) }
            return task
        }
        task?.cancel()
        ending.deliver(outcome)
    }

    /// Removes a waiter when its time has passed. The time for the head does not limit the body.
    private func awaitEnd(
        of time: CallTime,
        _ first: MonotonicTime,
        grace: Duration,
        _ seat: Table.Seat,
        _ ending: OneShot<Outcome>
    ) async {
        let clock = SystemTimeSource()
        guard (try? await clock.sleep(until: first + grace)) != nil else { return }
        if state.withLock({ $0.answered.contains(seat.flight) }) {
            guard let deadline = time.deadline, (try? await clock.sleep(until: deadline + grace)) != nil else { return }
        }
        leave(seat, ending, .overdue)
    }

    // MARK: the request

    /// Sends the request, collects its body, and notifies the waiters.
    @concurrent
    private func run(
        _ flight: Table.FlightID,
        _ time: CallTime,
        _ send: @Sendable () async throws -> HTTPDNSClient.Response
    ) async {
        var hasHead = false
        do {
            let response = try await send()
            hasHead = true
            guard response.body.mayBeCollected(upTo: MergedReads.longestBody) else {
                return handOver(response, flight, time)
            }
            state.withLock { state in
                if state.table.hasWaiters(flight) { state.answered.insert(flight) }
            }
            switch try await response.body.beginning(upTo: MergedReads.longestBody) {
            case .whole(let bytes): complete(response, bytes, flight)
            case .longer(let rest):
                var response = response
                response.body = response.body.changed(to: rest, length: response.body.declaredLength)
                handOver(response, flight, time)
            }
        } catch {
            let limit = hasHead ? time.deadline : time.firstDeadline
            let isOverdue = limit.map { $0 <= SystemTimeSource().now() } ?? false
            let isOwn = isOverdue && (error as? HTTPDNSClientError)?.code == .timedOut
            let hasEnded = isOwn || error is CancellationError
            for waiter in finish(flight) { waiter.ending.deliver(hasEnded ? .ended(error) : .failed(error)) }
        }
    }

    /// Gives all waiters the response, each with the whole body.
    private func complete(_ response: HTTPDNSClient.Response, _ bytes: [UInt8], _ flight: Table.FlightID) {
        let waiters = finish(flight)
        var own = response
        for waiter in waiters {
            own.body = response.body.replayed(bytes)
            waiter.ending.deliver(.received(own))
        }
    }

    /// Gives the first waiter the response. The others send requests of their own.
    ///
    /// The transfer ends at the deadline of the call that started it: only a waiter with the same one, or without one if that
    /// has none, can read its body. A response without a reader ends with its last reference.
    private func handOver(_ response: HTTPDNSClient.Response, _ flight: Table.FlightID, _ time: CallTime) {
        var isTaken = false
        for waiter in finish(flight) {
            if !isTaken, waiter.deadline == time.deadline, waiter.ending.deliver(.received(response)) {
                isTaken = true
            } else {
                waiter.ending.deliver(.alone)
            }
        }
    }

    /// Frees the key of a request.
    /// - Returns: Its waiters, in the order of their calls.
    private func finish(_ flight: Table.FlightID) -> [Waiter] {
        state.withLock { state in
            state.running -= 1
            state.answered.remove(flight)
            return (state.table.land(flight)?.waiters ?? []).sorted { $0.number < $1.number }
        }
    }
}

/// The beginning of a body.
private enum BodyBeginning: Sendable {
    case whole([UInt8])
    /// The body is longer than the limit: a stream of all of it.
    case longer(ContinuedBody)
}

extension HTTPDNSClient.Response.Body {
    /// Whether the body certainly ends, and is not known to be longer than a limit.
    fileprivate func mayBeCollected(upTo limit: HTTPDNSByteCount) -> Bool {
        if hasArrived { return true }
        guard let length = declaredLength ?? receivedLength else { return false }
        return length <= limit.bytes
    }

    /// Reads the body up to a limit.
    /// - Throws: ``HTTPDNSClientError``, `CancellationError`.
    @concurrent
    fileprivate func beginning(upTo limit: HTTPDNSByteCount) async throws -> BodyBeginning {
        var iterator = makeAsyncIterator()
        var chunks: [[UInt8]] = []
        var count = 0
        while let chunk = try await iterator.next() {
            chunks.append(chunk)
            count += chunk.count
            if count > limit.bytes { return .longer(ContinuedBody(chunks, iterator)) }
        }
        // A body of one chunk is returned without a copy.
        return .whole(chunks.count == 1 ? chunks[0] : Array(chunks.joined()))
    }
}

/// A body of which a part was read: the chunks that were read, and then the others.
///
/// It is read once.
private struct ContinuedBody: AsyncSequence, Sendable {
    typealias Element = [UInt8]
    typealias Failure = any Error

    private final class Parts: Sendable {
        let content: Lock<Content?>

        init(_ content: sending Content) { self.content = Lock(content) }
    }

    fileprivate struct Content {
        var chunks: ArraySlice<[UInt8]>
        var rest: HTTPDNSClient.Response.Body.AsyncIterator
    }

    private let parts: Parts

    init(_ chunks: [[UInt8]], _ rest: sending HTTPDNSClient.Response.Body.AsyncIterator) {
        parts = Parts(Content(chunks: chunks[...], rest: rest))
    }

    struct AsyncIterator: AsyncIteratorProtocol {
        fileprivate var content: Content?

        mutating func next() async throws -> [UInt8]? {
            if let chunk = content?.chunks.popFirst() { return chunk }
            return try await content?.rest.next()
        }
    }

    func makeAsyncIterator() -> AsyncIterator {
        let content = parts.content.withLock { content in
            let taken = content
            content = nil
            return taken
        }
        return AsyncIterator(content: content)
    }
}
