#if LocalProvider
/// An error that prevents a local provider from serving.
public struct LocalProviderError: Error, Hashable, Sendable, CustomStringConvertible {
    /// The kind of error, for programs.
    public struct Code: Hashable, Sendable, CustomStringConvertible {
        private let word: String

        /// The address and port cannot be listened on.
        public static let cannotListen = Code(word: "cannot-listen")
        /// The certificate or its key cannot be used.
        public static let badCertificate = Code(word: "bad-certificate")

        /// The code as text.
        public var description: String { word }
    }

    /// The kind of error, for programs.
    public let code: Code
    /// The mistake, and the suggested action.
    public let description: String

    init(_ code: Code, _ message: String) {
        self.code = code
        description = message
    }
}
#endif
