/// Why answers could not be loaded or saved. It costs a warning and the saved answers, nothing more.
public struct HTTPDNSResolutionStoreError: Error, Hashable, Sendable, CustomStringConvertible {
    /// What kind of failure it was.
    public struct Code: Hashable, Sendable, CustomStringConvertible {
        /// A short word for logs and metric labels.
        public let description: String

        /// The store could not be reached or read.
        public static let notReadable = Code(description: "not-readable")
        /// The store could not be written. What was saved before is still there.
        public static let notWritable = Code(description: "not-writable")
        /// What is stored is cut off, altered, or something else altogether. Nothing of it is used.
        public static let corrupt = Code(description: "corrupt")
        /// What is stored was written in a format that this version does not know.
        public static let unsupportedVersion = Code(description: "unsupported-version")
        /// What is stored is larger than the limit. Nothing of it is used.
        public static let tooLarge = Code(description: "too-large")
        /// Somebody else can alter what is stored: another owner, a file that others may write, a symbolic link.
        public static let unsafePermissions = Code(description: "unsafe-permissions")
    }

    /// The kind of failure.
    public var code: Code
    /// The file that it is about; nil for a store that is no file.
    public var path: String?
    /// One line for people: where, what was found, what to do.
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
