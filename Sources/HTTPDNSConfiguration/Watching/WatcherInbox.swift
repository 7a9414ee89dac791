internal import HTTPDNSCore
internal import HTTPDNSPrimitives

/// The inbox of a watcher for events and demands from other threads. Repetitions are dropped, so that it stays small.
final class WatcherInbox<Applied: Sendable>: Sendable {
    typealias Waiter = OneShot<Result<Applied, any Error>>

    struct Content: Sendable {
        var events: [FileEvent] = []
        var isTime = false
        var isDemanded = false
    }

    private struct State: Sendable {
        var content = Content()
        var waiters: [Waiter] = []
        var eventCount = 0
        var hasEnded = false

        mutating func takeEvents() -> [FileEvent] {
            defer { content.events = [] }
            return content.events
        }
    }

    private let state = Lock(State())
    private let bell: AsyncStream<Void>.Continuation
    /// A stream with an element whenever there is new content.
    let arrivals: AsyncStream<Void>

    init() { (arrivals, bell) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1)) }

    func put(_ event: FileEvent) {
        change {
            $0.eventCount += 1
            if $0.content.events.last != event { $0.content.events.append(event) }
        }
    }

    /// Takes the events that have arrived; the rest stays.
    func takeEvents() -> [FileEvent] { state.withLock { $0.takeEvents() } }

    /// Takes the events, unless more than `count` have ever arrived by now.
    func takeEvents(ifThereWere count: Int) -> [FileEvent]? {
        state.withLock { $0.eventCount == count ? $0.takeEvents() : nil }
    }

    /// The number of events that have ever arrived.
    var eventCount: Int { state.withLock { $0.eventCount } }

    func putTime() { change { $0.content.isTime = true } }

    /// Requests a reading.
    /// - Parameter waiter: Receives the result; nil for none.
    /// - Returns: false after the end.
    func demand(_ waiter: Waiter?) -> Bool {
        let isTaken = state.withLock { state in
            guard !state.hasEnded else { return false }
            state.content.isDemanded = true
            if let waiter { state.waiters.append(waiter) }
            return true
        }
        bell.yield()
        return isTaken
    }

    /// Takes the content; nil at the end.
    func take() -> Content? {
        state.withLock { state in
            guard !state.hasEnded else { return nil }
            defer { state.content = Content() }
            return state.content
        }
    }

    /// Takes the waiters for a reading that begins now.
    func takeWaiters() -> [Waiter] {
        state.withLock { state in
            defer { state.waiters = [] }
            return state.waiters
        }
    }

    func end() {
        state.withLock { $0.hasEnded = true }
        bell.finish()
    }

    private func change(_ body: (inout State) -> Void) {
        state.withLock { body(&$0) }
        bell.yield()
    }
}
