public import HTTPDNSPrimitives

/// Everything that is wrong with a configuration file, up to 20 mistakes at once.
public struct ConfigurationFileError: Error, Hashable, Sendable, CustomStringConvertible {
    /// One mistake.
    public struct Mistake: Hashable, Sendable, CustomStringConvertible {
        /// File, line and column.
        public var location: SourceLocation
        /// What was found, and what is allowed.
        public var message: String
        /// How to mend it.
        public var hint: String?

        /// `file:line:column: message (hint)`.
        public var description: String { "\(location): \(message)" + (hint.map { " (\($0))" } ?? "") }
    }

    /// The mistakes, in the order of the file.
    public var mistakes: [Mistake]
    /// How many more there are than are listed.
    public var omitted: Int

    /// One line for each mistake.
    public var description: String {
        (mistakes.map(\.description) + (omitted > 0 ? ["and \(omitted) more"] : [])).joined(separator: "\n")
    }
}
