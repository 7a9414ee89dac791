/// Why a control socket could not be opened.
///
/// Printed, it is one line.
public struct ControlSocketError: Error, Hashable, Sendable, CustomStringConvertible {
    /// What kind of failure it was. More may come.
    public struct Code: Hashable, Sendable, CustomStringConvertible {
        /// A short word, bounded in number.
        public let description: String

        /// The path is empty, has a NUL in it, or is longer than the system takes (107 octets on Linux).
        public static let invalidPath = Code(description: "invalid-path")
        /// Somebody listens there.
        public static let inUse = Code(description: "in-use")
        /// Something stands there that is no socket of this user, and is left alone.
        public static let occupied = Code(description: "occupied")
        /// The system refused; the message has its words.
        public static let systemError = Code(description: "system-error")
    }

    /// The kind of failure.
    public var code: Code
    /// The path that was given.
    public var path: String
    /// What happened, with the path.
    public var message: String
    /// What to do about it.
    public var hint: String?

    /// One line: message and hint.
    public var description: String { hint.map { "\(message) (\($0))" } ?? message }
}
