// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

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

/// An event of the system for the watched file.
package enum FileEvent: Hashable, Sendable {
    /// Another file was moved into place, or linked under the name. It is complete.
    case replaced
    /// The file was created in place: its writer has it open.
    case created
    /// The file was written to: its writer has it open.
    case modified
    /// A writer has closed it.
    case closed
    /// Any other change of the present or previous file: permissions, removal.
    case touched
    /// A link or a folder in the path was replaced, or events were lost. The file and its writers are unknown until the next
    /// check.
    case diverted
}

/// A source of events for one file.
package protocol FileEvents: Sendable {
    /// Sets the handler, which is called with each event, on any thread. Called once, before ``arm()``.
    func begin(_ handler: @escaping @Sendable (FileEvent) -> Void)

    /// Watches the present links and folders of the path, which may have changed. It may block. Changes after its start cause
    /// events.
    /// - Returns: Whether every change causes an event. If not, the file has to be checked at an interval.
    func arm() -> Bool

    /// Calls the handler for all changes until now that were not reported yet. It may block, and returns after those calls.
    func catchUp()

    /// Stops watching. Idempotent.
    func end()

    /// Waits until watching has stopped and nothing of it is left. Call it after ``end()``.
    func ended() async
}

/// No events: for systems and file systems that send none.
package struct NoFileEvents: FileEvents {
    package init() {}
    package func begin(_ handler: @escaping @Sendable (FileEvent) -> Void) {}
    package func arm() -> Bool { false }
    package func catchUp() {}
    package func end() {}
    package func ended() async {}
}
