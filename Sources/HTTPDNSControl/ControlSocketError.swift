/// An error that prevented a control socket from opening.
///
/// Its description has one line.
public struct ControlSocketError: Error, Hashable, Sendable, CustomStringConvertible {
    /// The kind of failure. More kinds may be added.
    public struct Code: Hashable, Sendable, CustomStringConvertible {
        /// A short identifier from a bounded set.
        public let description: String

        /// The path is empty, contains a NUL, or is longer than the system allows (107 bytes on Linux).
        public static let invalidPath = Code(description: "invalid-path")
        /// Another process listens on the path.
        public static let inUse = Code(description: "in-use")
        /// The file at the path is not a socket of this user. It is left unchanged.
        public static let occupied = Code(description: "occupied")
        /// A system call failed. The message has the system's error text.
        public static let systemError = Code(description: "system-error")
    }

    /// The kind of failure.
    public var code: Code
    /// The path as it was given.
    public var path: String
    /// The failure, with the path.
    public var message: String
    /// The suggested action.
    public var hint: String?

    /// One line: message and hint.
    public var description: String { hint.map { "\(message) (\($0))" } ?? message }
}
