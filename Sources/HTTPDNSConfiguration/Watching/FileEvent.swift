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
