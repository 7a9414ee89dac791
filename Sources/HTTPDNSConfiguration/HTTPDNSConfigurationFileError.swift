// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

public import HTTPDNSPrimitives

/// The mistakes found in a configuration file, at most 20 per error.
public struct HTTPDNSConfigurationFileError: Error, Hashable, Sendable, CustomStringConvertible {
    /// A mistake in a configuration file.
    public struct Issue: Hashable, Sendable, CustomStringConvertible {
        /// File, line and column. The line is missing when the file could not be read at all.
        public var location: HTTPDNSSourceLocation
        /// The value that was found, and the values that are allowed.
        ///
        /// It repeats at most 80 characters of the file, and nothing from a position that can hold a password.
        public var message: String
        /// The correction, where one is known.
        public var hint: String?

        /// One line: `file:line:column: message (hint)`.
        public var description: String { "\(location): \(message)" + (hint.map { " (\($0))" } ?? "") }
    }

    /// The mistakes, in the order of the file. Never empty.
    public var issues: [Issue]
    /// The number of further mistakes that are not listed.
    public var omitted: Int

    /// One line for each mistake.
    public var description: String {
        (issues.map(\.description) + (omitted > 0 ? ["and \(counted(omitted, "more error"))"] : []))
            .joined(separator: "\n")
    }
}

extension HTTPDNSConfigurationFileError {
    /// Creates an error with one mistake.
    init(_ file: String, _ message: String, at position: Position? = nil, hint: String? = nil) {
        let location = HTTPDNSSourceLocation(file: file, line: position?.line, column: position?.column)
        self.init(issues: [Issue(location: location, message: message, hint: hint)], omitted: 0)
    }
}
