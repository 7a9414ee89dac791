public import HTTPDNSPrimitives

/// Everything that is wrong with a configuration file, up to 20 mistakes at once.
public struct ConfigurationFileError: Error, Hashable, Sendable, CustomStringConvertible {
    /// One mistake.
    public struct Mistake: Hashable, Sendable, CustomStringConvertible {
        /// File, line and column; without line when the file could not be read at all.
        public var location: HTTPDNSSourceLocation
        /// What was found, and what is allowed. It repeats at most 80 characters of the file, and nothing that stands
        /// where a password may stand.
        public var message: String
        /// How to mend it.
        public var hint: String?

        /// `file:line:column: message (hint)`.
        public var description: String { "\(location): \(message)" + (hint.map { " (\($0))" } ?? "") }
    }

    /// The mistakes, in the order of the file. Never empty.
    public var mistakes: [Mistake]
    /// How many more there are than are listed.
    public var omitted: Int

    /// One line for each mistake.
    public var description: String {
        (mistakes.map(\.description) + (omitted > 0 ? ["and \(counted(omitted, "more mistake"))"] : []))
            .joined(separator: "\n")
    }
}

extension ConfigurationFileError {
    /// An error with one mistake.
    init(_ file: String, _ message: String, at position: Position? = nil, hint: String? = nil) {
        let location = HTTPDNSSourceLocation(file: file, line: position?.line, column: position?.column)
        self.init(mistakes: [Mistake(location: location, message: message, hint: hint)], omitted: 0)
    }
}
