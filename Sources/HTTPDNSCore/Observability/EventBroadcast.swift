// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

internal import HTTPDNSPrimitives
internal import Synchronization

/// A broadcast of events to any number of listeners, in the same order for each. Without listeners an event costs one atomic
/// load.
package final class EventBroadcast: Sendable {
    typealias Queue = EventQueue<HTTPDNSResolver.Event>

    private struct State: Sendable {
        var queues: [Queue] = []
        var isEnded = false
    }

    private let state = Lock(State())
    private let listeners = Atomic(0)

    package init() {}

    /// Whether there is a listener.
    var hasListeners: Bool { listenerCount > 0 }

    /// The number of listeners.
    package var listenerCount: Int { listeners.load(ordering: .relaxed) }

    /// Sends an event to all listeners. Never under a lock: it resumes tasks.
    package func send(_ event: HTTPDNSResolver.Event) {
        guard hasListeners else { return }
        let resumptions: [@Sendable () -> Void] = state.withLock { state in
            state.queues.compactMap { queue in
                if case .delivered(let resume) = queue.offer(event) { resume } else { nil }
            }
        }
        for resume in resumptions { resume() }
    }

    /// Ends all iterations, once the listeners have received their waiting events. Idempotent.
    package func end() {
        let queues = state.withLock { state in
            state.isEnded = true
            return state.queues
        }
        for queue in queues { queue.end() }
    }

    /// Adds a listener, which receives all later events.
    func listen(limit: Int) -> EventSubscription<HTTPDNSResolver.Event> {
        let queue = Queue(limit: limit, losing: .oldest, count: \.missedBefore)
        let isEnded = state.withLock { state in
            state.queues.append(queue)
            listeners.store(state.queues.count, ordering: .relaxed)
            return state.isEnded
        }
        if isEnded { queue.end() }
        return EventSubscription(queue) { [self] queue in remove(queue) }
    }

    /// Removes a listener. A waiting task receives nil. Idempotent.
    private func remove(_ queue: Queue) {
        state.withLock { state in
            state.queues.removeAll { $0 === queue }
            listeners.store(state.queues.count, ordering: .relaxed)
        }
        queue.close()
    }
}
