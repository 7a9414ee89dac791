// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

package import HTTPDNSPrimitives
internal import Synchronization

/// The queue of events of one subscriber.
package final class EventQueue<Event: Sendable>: Sendable {
    package typealias Waiter = OneShot<Event?>

    private let buffer: Lock<EventBuffer<Event, Waiter>>
    /// The property of an event that has the number of lost events or groups.
    private let lostCount: any WritableKeyPath<Event, Int> & Sendable
    /// The limit that several queues share; nil without one.
    private let budget: EventBudget?

    /// - Parameters:
    ///   - limit: The maximum number of waiting events; less than 1 counts as 1.
    ///   - loss: What a full queue loses.
    package init(
        limit: Int,
        losing loss: EventLoss,
        count lostCount: any WritableKeyPath<Event, Int> & Sendable,
        budget: EventBudget? = nil
    ) {
        buffer = Lock(EventBuffer(limit: limit, losing: loss))
        self.lostCount = lostCount
        self.budget = budget
    }

    deinit { budget?.give(back: buffer.withLock { $0.count }) }

    /// The number of groups that were lost, or of events since the last one.
    package var lost: Int { buffer.withLock { $0.lost } }

    /// Notes that a group of events begins.
    /// - Returns: Whether its events are taken.
    package func open() -> Bool { buffer.withLock { $0.open() } }

    /// The result of an offered event.
    package enum Offer: Sendable {
        /// It waits, under this number.
        case stored(UInt64)
        /// The action resumes the subscriber, which has waited for it.
        case delivered(@Sendable () -> Void)
        /// There is no room for it, or the subscriber has left.
        case refused
    }

    /// Adds an event. The caller runs the action after it has released its locks.
    /// - Parameters:
    ///   - number: The number of an event of the same group that this one replaces if it still waits.
    ///   - isLast: Whether it is the last one of its group.
    package func offer(_ event: Event, replacing number: UInt64? = nil, isLast: Bool = false) -> Offer {
        let offer = buffer.withLock { buffer in
            let before = buffer.count
            let mayStore = budget?.hasRoom ?? true
            let offer = buffer.offer(event, replacing: number, isLast: isLast, mayStore: mayStore)
            if buffer.count > before { budget?.take() }
            return offer
        }
        switch offer {
        case .stored(let number): return .stored(number)
        case .delivered(let waiter, let delivery):
            let delivered = self.event(of: delivery)
            return .delivered { waiter.deliver(delivered) }
        case .lost, .closed: return .refused
        }
    }

    /// Returns the next event; nil after the end, and when the task is canceled.
    package func next() async -> Event? {
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
        case .event(let delivery): return event(of: delivery)
        case .waiting(let number):
            return await withTaskCancellationHandler {
                await waiter.value()
            } onCancel: {
                // Only the code that removes the waiter from the buffer delivers to it, so that no event is lost between two
                // deliveries.
                buffer.withLock { $0.cancel(number) }?.deliver(nil)
            }
        }
    }

    private func event(of delivery: EventBuffer<Event, Waiter>.Delivery) -> Event {
        var event = delivery.event
        event[keyPath: lostCount] = delivery.lost
        return event
    }

    /// Ends the queue after the groups that have begun and their events. Idempotent.
    package func end() {
        for waiter in buffer.withLock({ $0.end() }) { waiter.deliver(nil) }
    }

    /// Drops all events, now and later. Idempotent.
    package func close() {
        // Events of failed calls have errors of the caller's code: they are released after the lock.
        let (waiters, dropped) = buffer.change { buffer in
            let count = buffer.count
            return (buffer.close(), count)
        }
        budget?.give(back: dropped)
        for waiter in waiters { waiter.deliver(nil) }
    }
}

/// The subscription of one iterator, which lasts for as long as the object lives.
package final class EventSubscription<Event: Sendable>: Sendable {
    package let queue: EventQueue<Event>
    private let leave: @Sendable (EventQueue<Event>) -> Void

    /// - Parameter leave: Removes the queue from the sender of the events, and closes it. Called once or more.
    package init(_ queue: EventQueue<Event>, leave: @escaping @Sendable (EventQueue<Event>) -> Void) {
        self.queue = queue
        self.leave = leave
    }

    deinit { leave(queue) }

    package func next() async -> Event? {
        let event = await queue.next()
        // A canceled task does not continue the iteration: its subscription must not fill a buffer.
        if event == nil { leave(queue) }
        return event
    }
}

/// The number of events that wait in several queues. It may be exceeded by one for each thread.
package final class EventBudget: Sendable {
    private let limit: Int
    private let waiting = Atomic(0)

    package init(limit: Int) { self.limit = limit }

    package var hasRoom: Bool { waiting.load(ordering: .relaxed) < limit }
    func take() { waiting.wrappingAdd(1, ordering: .relaxed) }
    func give(back count: Int) { waiting.wrappingSubtract(count, ordering: .relaxed) }
}

/// The events that a full buffer loses.
package enum EventLoss: Sendable {
    /// The oldest events. Their number is that since the last delivered event.
    case oldest
    /// The group of the new event, such as a call. The number is that of all lost groups.
    case group
}

/// The waiting events of a subscriber, or its waiters, never both, and the number of what it has lost.
///
/// A value: its methods return the waiter that is to be resumed after the lock around it is released.
struct EventBuffer<Event: Sendable, Waiter: Sendable>: Sendable {
    /// An event, and the number of what was lost before it.
    struct Delivery: Sendable {
        var event: Event
        var lost: Int
    }

    /// The result of an offered event.
    enum Offer: Sendable {
        /// It waits, under this number.
        case stored(UInt64)
        /// The waiter gets it.
        case delivered(Waiter, Delivery)
        /// There is no room: the group of the event is lost.
        case lost
        /// The subscriber has left, or the buffer has ended.
        case closed
    }

    /// The result of a request for the next event.
    enum Taking: Sendable {
        case event(Delivery)
        /// The subscriber waits, under this number.
        case waiting(UInt64)
        case ended
    }

    private let limit: Int
    private let loss: EventLoss
    /// The events; those before `head` have been taken.
    private var events: [Event?] = []
    private var head = 0
    /// The number of the event at `head`.
    private var firstNumber: UInt64 = 0
    private var waiters: [(number: UInt64, waiter: Waiter)] = []
    private var lastWaiter: UInt64 = 0
    /// The number of groups that have begun and are neither lost nor at their end.
    private var openGroups = 0
    private(set) var lost = 0
    private var isEnding = false
    private var isClosed = false

    /// - Parameter limit: The maximum number of events; less than 1 counts as 1.
    init(limit: Int, losing loss: EventLoss) {
        self.limit = max(1, limit)
        self.loss = loss
    }

    /// The number of waiting events.
    var count: Int { events.count - head }
    /// Whether no event comes any more.
    private var isOver: Bool { isClosed || isEnding && openGroups == 0 }

    mutating func open() -> Bool {
        guard !isEnding, !isClosed else { return false }
        openGroups += 1
        return true
    }

    /// Adds an event, or replaces the waiting event with the number.
    /// - Parameters:
    ///   - isLast: Whether it is the last one of its group.
    ///   - mayStore: Whether there is room besides the limit of this buffer.
    mutating func offer(
        _ event: Event,
        replacing number: UInt64? = nil,
        isLast: Bool = false,
        mayStore: Bool = true
    ) -> Offer {
        guard !isOver else { return .closed }
        if let number, number >= firstNumber {
            events[head + Int(number - firstNumber)] = event
            return .stored(number)
        }
        if waiters.isEmpty, count >= limit || !mayStore {
            lost += 1
            guard loss == .oldest else {
                openGroups -= 1
                return .lost
            }
            _ = removeFirst()
        }
        if isLast { openGroups -= 1 }
        guard waiters.isEmpty else {
            return .delivered(waiters.removeFirst().waiter, Delivery(event: event, lost: lost))
        }
        events.append(event)
        return .stored(firstNumber + UInt64(count - 1))
    }

    /// Returns the oldest event, or registers the waiter.
    mutating func take(orWaitAs waiter: Waiter) -> Taking {
        if let event = removeFirst() {
            defer { if loss == .oldest { lost = 0 } }
            return .event(Delivery(event: event, lost: lost))
        }
        if isOver { return .ended }
        lastWaiter += 1
        waiters.append((lastWaiter, waiter))
        return .waiting(lastWaiter)
    }

    private mutating func removeFirst() -> Event? {
        guard count > 0, let event = events[head] else { return nil }
        events[head] = nil
        head += 1
        firstNumber += 1
        if head == events.count || head >= 64 && head * 2 >= events.count {
            events.removeFirst(head)
            head = 0
        }
        return event
    }

    /// Removes a waiter.
    /// - Returns: The waiter, unless it has received an event or the end already.
    mutating func cancel(_ number: UInt64) -> Waiter? {
        guard let index = waiters.firstIndex(where: { $0.number == number }) else { return nil }
        return waiters.remove(at: index).waiter
    }

    /// Lets no further group begin. Waiting events can still be taken. Idempotent.
    /// - Returns: The waiters that receive no event any more.
    mutating func end() -> [Waiter] {
        isEnding = true
        return isOver ? takeWaiters() : []
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
}
