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
        var hasEnded = false
    }

    private let state = Lock(State())
    private let bell: AsyncStream<Void>.Continuation
    /// A stream with an element whenever there is new content.
    let arrivals: AsyncStream<Void>

    init() { (arrivals, bell) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1)) }

    func put(_ event: FileEvent) {
        change { if $0.content.events.last != event { $0.content.events.append(event) } }
    }

    /// Takes the events that have arrived; the rest stays.
    func takeEvents() -> [FileEvent] {
        state.withLock { state in
            defer { state.content.events = [] }
            return state.content.events
        }
    }

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

/// An event of the system for the watched file. It is a hint: a change may cause none.
package enum FileEvent: Hashable, Sendable {
    /// Another regular file was moved into place. It is complete.
    case replaced
    /// The file was written to: its writer has it open.
    case modified
    /// A writer has closed it.
    case closed
    /// Any other change that may concern the file: it, a link or its folder was created, removed or replaced, its
    /// permissions have changed, or events were lost. The next check shows what it is.
    case touched
    /// Another name was moved into the folder, through which the path may lead. It tells nothing about the file itself.
    case movedBeside
}

/// A source of events for one file.
package protocol FileEvents: Sendable {
    /// Sets the handler, which is called with each event, on any thread. Called once, before ``arm()``.
    func begin(_ handler: @escaping @Sendable (FileEvent) -> Void)

    /// Watches the folder that has the path now, which may be another. It may block.
    /// - Returns: Whether there are events.
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
