internal import HTTPDNSPrimitives
internal import Synchronization

/// Hands events to any number of listeners, to each in the same order. Without listeners an event costs one atomic load.
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

    /// Whether an event would reach anyone.
    package var hasListeners: Bool { listeners.load(ordering: .relaxed) > 0 }

    /// How many listen.
    package var listenerCount: Int { listeners.load(ordering: .relaxed) }

    /// Hands an event to everyone who listens. Never under a lock: it wakes tasks.
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

    /// Ends all iterations, once the listeners have taken what they have. Idempotent.
    package func end() {
        let waiters: [OneShot<HTTPDNSResolver.Event?>] = state.withLock { state in
            state.isEnded = true
            var waiters: [OneShot<HTTPDNSResolver.Event?>] = []
            for id in state.buffers.keys { waiters += state.buffers[id]?.end() ?? [] }
            return waiters
        }
        for waiter in waiters { waiter.deliver(nil) }
    }

    /// A new listener, who gets what happens from now on.
    func addListener(limit: Int) -> ListenerID {
        state.withLock { state in
            state.lastID += 1
            var buffer = Buffer(limit: limit)
            // Nobody can wait in it yet.
            if state.isEnded { _ = buffer.end() }
            state.buffers[state.lastID] = buffer
            listeners.wrappingAdd(1, ordering: .relaxed)
            return state.lastID
        }
    }

    /// Forgets a listener; whoever waits as it gets nil. Idempotent.
    func removeListener(_ id: ListenerID) {
        let waiters: [OneShot<HTTPDNSResolver.Event?>] = state.withLock { state in
            guard var buffer = state.buffers.removeValue(forKey: id) else { return [] }
            listeners.wrappingSubtract(1, ordering: .relaxed)
            return buffer.end()
        }
        for waiter in waiters { waiter.deliver(nil) }
    }

    /// The listener's next event; nil after the end, when it was forgotten, or when the task is cancelled.
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
                // Only who takes the waiter out of the buffer delivers, so that no event is lost between two deliveries.
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
