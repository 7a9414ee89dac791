// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

internal import HTTPDNSCore
internal import HTTPDNSPrimitives
internal import Synchronization

/// The queue of events of one subscriber, or of the observer of one call.
final class RequestEventQueue: Sendable {
    typealias Waiter = OneShot<HTTPDNSClient.RequestEvent?>

    private let buffer: Lock<RequestEventBuffer<Waiter>>
    /// The limit that several queues share; nil without one.
    private let budget: EventBudget?

    /// - Parameter limit: The maximum number of waiting events; less than 1 counts as 1.
    init(limit: Int, budget: EventBudget? = nil) {
        buffer = Lock(RequestEventBuffer(limit: limit))
        self.budget = budget
    }

    deinit { budget?.give(back: buffer.withLock { $0.count }) }

    /// The number of calls that were lost.
    var lostCalls: Int { buffer.withLock { $0.lostCalls } }

    /// Notes that a call begins.
    /// - Returns: Whether its events are taken.
    func open() -> Bool { buffer.withLock { $0.open() } }

    /// Adds an event. The caller delivers to the waiter after it has released its locks.
    /// - Parameter number: The number of an event of the same call that this one replaces if it still waits.
    func offer(
        _ event: HTTPDNSClient.RequestEvent,
        mergingWith number: UInt64?
    ) -> RequestEventBuffer<Waiter>.Offer {
        buffer.withLock { buffer in
            let before = buffer.count
            let offer = buffer.offer(event, mergingWith: number, mayStore: budget?.hasRoom ?? true)
            if buffer.count > before { budget?.take() }
            return offer
        }
    }

    /// Returns the next event; nil after the end, and when the task is canceled.
    func next() async -> HTTPDNSClient.RequestEvent? {
        if Task.isCancelled { return nil }
        let waiter = Waiter()
        let taking = buffer.withLock { buffer in
            let before = buffer.count
            let taking = buffer.take(orWaitAs: waiter)
            if buffer.count < before { budget?.give(back: 1) }
            return taking
        }
        switch taking {
        case .ended: return nil
        case .event(let event): return event
        case .waiting(let number):
            return await withTaskCancellationHandler {
                await waiter.value()
            } onCancel: {
                // Only the code that removes the waiter from the buffer delivers to it.
                buffer.withLock { $0.cancel(number) }?.deliver(nil)
            }
        }
    }

    /// Ends the queue after the calls that have begun and their events. Idempotent.
    func end() {
        for waiter in buffer.withLock({ $0.end() }) { waiter.deliver(nil) }
    }

    /// Drops all events, now and later. Idempotent.
    func close() {
        // Events of failed calls have errors of the caller's code: they are released after the lock.
        let (waiters, dropped) = buffer.change { buffer in
            let count = buffer.count
            return (buffer.close(), count)
        }
        budget?.give(back: dropped)
        for waiter in waiters { waiter.deliver(nil) }
    }
}

/// The number of events that wait in several queues. It may be exceeded by one for each thread.
final class EventBudget: Sendable {
    private let limit: Int
    private let waiting = Atomic(0)

    init(limit: Int) { self.limit = limit }

    var hasRoom: Bool { waiting.load(ordering: .relaxed) < limit }
    func take() { waiting.wrappingAdd(1, ordering: .relaxed) }
    func give(back count: Int) { waiting.wrappingSubtract(count, ordering: .relaxed) }
}

/// The waiting events of a subscriber, and which calls it has lost.
///
/// A value: its methods return the waiter that is to be resumed after the lock around it is released.
struct RequestEventBuffer<Waiter: Sendable>: Sendable {
    typealias Event = HTTPDNSClient.RequestEvent

    /// The result of an offered event.
    enum Offer: Sendable {
        /// It waits, under this number.
        case stored(UInt64)
        /// The waiter gets it.
        case delivered(Waiter, Event)
        /// There is no room: the call of the event is lost.
        case lost
        /// The subscriber has left.
        case closed
    }

    /// The result of a request for the next event.
    enum Taking: Sendable {
        case event(Event)
        /// The subscriber waits, under this number.
        case waiting(UInt64)
        case ended
    }

    private let limit: Int
    /// The events; those before `head` have been taken.
    private var events: [Event?] = []
    private var head = 0
    /// The number of the event at `head`.
    private var firstNumber: UInt64 = 0
    private var waiters: [(number: UInt64, waiter: Waiter)] = []
    private var lastWaiter: UInt64 = 0
    /// The number of calls that have begun and are neither lost nor at their end.
    private var openCalls = 0
    private(set) var lostCalls = 0
    private var isEnding = false
    private var isClosed = false

    init(limit: Int) { self.limit = max(1, limit) }

    /// The number of waiting events.
    var count: Int { events.count - head }

    mutating func open() -> Bool {
        guard !isEnding, !isClosed else { return false }
        openCalls += 1
        return true
    }

    /// Adds an event of an open call, or replaces the waiting event with the number.
    /// - Parameter mayStore: Whether there is room besides the limit of this buffer.
    mutating func offer(_ event: Event, mergingWith number: UInt64?, mayStore: Bool = true) -> Offer {
        guard !isClosed else { return .closed }
        if let number, number >= firstNumber {
            events[head + Int(number - firstNumber)] = event
            return .stored(number)
        }
        if waiters.isEmpty, count >= limit || !mayStore {
            openCalls -= 1
            lostCalls += 1
            return .lost
        }
        if event.kind.isTerminal { openCalls -= 1 }
        guard waiters.isEmpty else { return .delivered(waiters.removeFirst().waiter, completed(event)) }
        events.append(event)
        return .stored(firstNumber + UInt64(count - 1))
    }

    /// Returns the oldest event, or registers the waiter.
    mutating func take(orWaitAs waiter: Waiter) -> Taking {
        if count > 0, let event = events[head] {
            events[head] = nil
            head += 1
            firstNumber += 1
            if head == events.count || head >= 64 && head * 2 >= events.count {
                events.removeFirst(head)
                head = 0
            }
            return .event(completed(event))
        }
        if isClosed || isEnding && openCalls == 0 { return .ended }
        lastWaiter += 1
        waiters.append((lastWaiter, waiter))
        return .waiting(lastWaiter)
    }

    /// Removes a waiter.
    /// - Returns: The waiter, unless it has received an event or the end already.
    mutating func cancel(_ number: UInt64) -> Waiter? {
        guard let index = waiters.firstIndex(where: { $0.number == number }) else { return nil }
        return waiters.remove(at: index).waiter
    }

    /// Lets no further call begin.
    /// - Returns: The waiters that receive no event any more.
    mutating func end() -> [Waiter] {
        isEnding = true
        guard openCalls == 0 else { return [] }
        return takeWaiters()
    }

    mutating func close() -> [Waiter] {
        isClosed = true
        (events, head) = ([], 0)
        return takeWaiters()
    }

    private mutating func takeWaiters() -> [Waiter] {
        defer { waiters = [] }
        return waiters.map(\.waiter)
    }

    private func completed(_ event: Event) -> Event {
        var event = event
        event.lostCalls = lostCalls
        return event
    }
}
