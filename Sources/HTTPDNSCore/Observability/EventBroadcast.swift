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
    package var hasListeners: Bool { listeners.load(ordering: .relaxed) > 0 }

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

    /// Returns the listener's next event; nil after the end, after its removal, or when the task is cancelled.
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
