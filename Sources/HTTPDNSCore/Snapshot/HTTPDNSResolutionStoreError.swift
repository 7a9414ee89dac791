/// An error while answers were loaded or saved. The resolver logs a warning and continues without the saved answers.
public struct HTTPDNSResolutionStoreError: Error, Hashable, Sendable, CustomStringConvertible {
    /// The kind of failure.
    public struct Code: Hashable, Sendable, CustomStringConvertible {
        /// A short identifier for logs and metric labels.
        public let description: String

        /// The store could not be reached or read.
        public static let notReadable = Code(description: "not-readable")
        /// The store could not be written. The earlier contents are still there.
        public static let notWritable = Code(description: "not-writable")
        /// The stored data is truncated, altered, or in no known format. No part of it is used.
        public static let corrupt = Code(description: "corrupt")
        /// The stored data has a format that this version does not support.
        public static let unsupportedVersion = Code(description: "unsupported-version")
        /// The stored data is larger than the limit. No part of it is used.
        public static let tooLarge = Code(description: "too-large")
        /// The stored data can be altered by others: another owner, a file that others may write, a symbolic link.
        public static let unsafePermissions = Code(description: "unsafe-permissions")
    }

    /// The kind of failure.
    public var code: Code
    /// The file concerned; nil for a store that is no file.
    public var path: String?
    /// One readable line: where, the finding, the suggested action.
    public var message: String

    /// Creates an error.
    public init(code: Code, path: String? = nil, message: String) {
        self.code = code
        self.path = path
        self.message = message
    }

    /// The message.
    public var description: String { message }
}
