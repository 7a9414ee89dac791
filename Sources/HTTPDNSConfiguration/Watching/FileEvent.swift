/// What the system tells about the file that is watched.
package enum FileEvent: Hashable, Sendable {
    /// Another file was moved or linked into place. It is whole.
    case replaced
    /// The file was created in its place: whoever did that has it open.
    case created
    /// The file was written to: whoever did that has it open.
    case modified
    /// A writer has closed it.
    case closed
    /// Anything else, or nobody knows: rights, removal, a folder on the way to it, lost events.
    case touched
}

/// Tells what happens to one file.
package protocol FileEvents: Sendable {
    /// From now on `handler` is called with each event, on any thread. Called once, before ``arm()``.
    func begin(_ handler: @escaping @Sendable (FileEvent) -> Void)

    /// Watches what leads to the file now: links and folders may be others than before. It may block. What happens after
    /// it began is told.
    /// - Returns: Whether events will tell of every change. If not, the file has to be looked at now and then.
    func arm() -> Bool

    /// Ends all watching. Idempotent.
    func end()
}

/// No events: for systems and file systems that tell nothing.
package struct NoFileEvents: FileEvents {
    package init() {}
    package func begin(_ handler: @escaping @Sendable (FileEvent) -> Void) {}
    package func arm() -> Bool { false }
    package func end() {}
}
