/// What the system tells about the file that is watched.
package enum FileEvent: Hashable, Sendable {
    /// Another file was moved into place, or got the name as a further one. It is whole.
    case replaced
    /// The file was created in its place: whoever did that has it open.
    case created
    /// The file was written to: whoever did that has it open.
    case modified
    /// A writer has closed it.
    case closed
    /// Anything else about the file that is or was there: rights, removal.
    case touched
    /// A link or a folder on the way to it is another one, or events were lost: which file it is now, and whether somebody
    /// writes to it, nobody knows before the next look.
    case diverted
}

/// Tells what happens to one file.
package protocol FileEvents: Sendable {
    /// From now on `handler` is called with each event, on any thread. Called once, before ``arm()``.
    func begin(_ handler: @escaping @Sendable (FileEvent) -> Void)

    /// Watches what leads to the file now: links and folders may be others than before. It may block. What happens after
    /// it began is told.
    /// - Returns: Whether events will tell of every change. If not, the file has to be looked at now and then.
    func arm() -> Bool

    /// Calls the handler with what happened until now and was not told yet. It may block, and returns after those calls.
    func catchUp()

    /// Ends all watching. Idempotent.
    func end()

    /// Waits for the end of all watching, after which nothing of it is left. To be called after ``end()``.
    func ended() async
}

/// No events: for systems and file systems that tell nothing.
package struct NoFileEvents: FileEvents {
    package init() {}
    package func begin(_ handler: @escaping @Sendable (FileEvent) -> Void) {}
    package func arm() -> Bool { false }
    package func catchUp() {}
    package func end() {}
    package func ended() async {}
}
