// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

internal import HTTPDNSPrimitives
internal import Synchronization

/// A broadcast of events to any number of listeners, in the same order for each. Without listeners an event costs one atomic
/// load.
package final class EventBroadcast: Sendable {
    typealias Buffer = EventBuffer<HTTPDNSResolver.Event, OneShot<HTTPDNSResolver.Event?>>
    typealias ListenerID = UInt64

    private struct State: Sendable {
        var buffers: [ListenerID: Buffer] = [:]
        var lastID: ListenerID = 0
        var isEnded = false
    }

    private let state = Lock(State())
    private let listeners = Atomic(0)

    package init() {}

    /// Whether there is a listener.
    var hasListeners: Bool { listeners.load(ordering: .relaxed) > 0 }

    /// The number of listeners.
    package var listenerCount: Int { listeners.load(ordering: .relaxed) }

    /// Sends an event to all listeners. Never under a lock: it resumes tasks.
    package func send(_ event: HTTPDNSResolver.Event) {
        guard hasListeners else { return }
        let awaited: [(OneShot<HTTPDNSResolver.Event?>, Buffer.Delivery)] = state.withLock { state in
            var awaited: [(OneShot<HTTPDNSResolver.Event?>, Buffer.Delivery)] = []
            for id in state.buffers.keys {
                if let delivery = state.buffers[id]?.offer(event) { awaited.append(delivery) }
            }
            return awaited
        }
        for (waiter, delivery) in awaited { waiter.deliver(EventBroadcast.event(of: delivery)) }
    }

    /// Ends all iterations, once the listeners have received their buffered events. Idempotent.
    package func end() {
        let waiters: [OneShot<HTTPDNSResolver.Event?>] = state.withLock { state in
            state.isEnded = true
            var waiters: [OneShot<HTTPDNSResolver.Event?>] = []
            for id in state.buffers.keys { waiters += state.buffers[id]?.end() ?? [] }
            return waiters
        }
        for waiter in waiters { waiter.deliver(nil) }
    }

    /// Adds a listener, which receives all later events.
    func addListener(limit: Int) -> ListenerID {
        state.withLock { state in
            state.lastID += 1
            var buffer = Buffer(limit: limit)
            // No task can wait in it yet.
            if state.isEnded { _ = buffer.end() }
            state.buffers[state.lastID] = buffer
            listeners.wrappingAdd(1, ordering: .relaxed)
            return state.lastID
        }
    }

    /// Removes a listener. A waiting task receives nil. Idempotent.
    func removeListener(_ id: ListenerID) {
        let waiters: [OneShot<HTTPDNSResolver.Event?>] = state.withLock { state in
            guard var buffer = state.buffers.removeValue(forKey: id) else { return [] }
            listeners.wrappingSubtract(1, ordering: .relaxed)
            return buffer.end()
        }
        for waiter in waiters { waiter.deliver(nil) }
    }

    /// Returns the listener's next event; nil after the end, after its removal, or when the task is canceled.
    func next(for id: ListenerID) async -> HTTPDNSResolver.Event? {
        if Task.isCancelled { return nil }
        let waiter = OneShot<HTTPDNSResolver.Event?>()
        let taking = state.withLock { $0.buffers[id]?.take(orWaitAs: waiter) }
        switch taking {
        case .ended, nil: return nil
        case .event(let delivery): return EventBroadcast.event(of: delivery)
        case .waiting(let number):
            return await withTaskCancellationHandler {
                await waiter.value()
            } onCancel: {
                // Only the code that removes the waiter from the buffer delivers to it, so that no event is lost between two
                // deliveries.
                state.withLock { $0.buffers[id]?.cancel(number) ?? nil }?.deliver(nil)
            }
        }
    }

    private static func event(of delivery: Buffer.Delivery) -> HTTPDNSResolver.Event {
        var event = delivery.event
        event.missedBefore = delivery.missed
        return event
    }
}

/// The buffered events of one listener, or the waiter for its next one, never both.
///
/// A value: its methods return the waiter that is to be resumed after the lock around it is released.
struct EventBuffer<Event: Sendable, Waiter: Sendable>: Sendable {
    typealias WaiterID = UInt64

    /// An event, and the number of events dropped before it.
    struct Delivery: Sendable {
        var event: Event
        var missed: Int
    }

    /// The result of a request for the next event.
    enum Taking: Sendable {
        case event(Delivery)
        /// The listener waits, under this number.
        case waiting(WaiterID)
        case ended
    }

    private let limit: Int
    private var events: [Event?] = []
    /// The index of the oldest event; the array is a ring buffer once it has reached `limit`.
    private var oldest = 0
    private var count = 0
    private var missed = 0
    private var waiters: [(id: WaiterID, waiter: Waiter)] = []
    private var lastID: WaiterID = 0
    private var isEnded = false

    /// - Parameter limit: The maximum number of events; less than 1 counts as 1.
    init(limit: Int) { self.limit = max(1, limit) }

    /// Adds an event. If the buffer is full, the oldest one is dropped.
    /// - Returns: The waiter that receives the event, if there is one.
    mutating func offer(_ event: Event) -> (Waiter, Delivery)? {
        guard !isEnded else { return nil }
        if !waiters.isEmpty { return (waiters.removeFirst().waiter, Delivery(event: event, missed: 0)) }
        if count == limit {
            events[oldest] = event
            oldest = (oldest + 1) % limit
            missed += 1
        } else if events.count < limit {
            // Not a ring buffer yet, because it was never full: it grows with its use.
            events.append(event)
            count += 1
        } else {
            events[(oldest + count) % limit] = event
            count += 1
        }
        return nil
    }

    /// Returns the oldest event, or registers the waiter.
    mutating func take(orWaitAs waiter: Waiter) -> Taking {
        if count > 0, let event = events[oldest] {
            events[oldest] = nil
            count -= 1
            oldest = (oldest + 1) % limit
            if count == 0 {
                events.removeAll(keepingCapacity: true)
                oldest = 0
            }
            defer { missed = 0 }
            return .event(Delivery(event: event, missed: missed))
        }
        if isEnded { return .ended }
        lastID += 1
        waiters.append((lastID, waiter))
        return .waiting(lastID)
    }

    /// Removes a waiter.
    /// - Returns: The waiter, unless it has received an event or the end already.
    mutating func cancel(_ id: WaiterID) -> Waiter? {
        guard let index = waiters.firstIndex(where: { $0.id == id }) else { return nil }
        return waiters.remove(at: index).waiter
    }

    /// Ends the buffer. Buffered events can still be received. Idempotent.
    /// - Returns: The waiters, which receive no event any more.
    mutating func end() -> [Waiter] {
        isEnded = true
        defer { waiters = [] }
        return waiters.map(\.waiter)
    }
}
