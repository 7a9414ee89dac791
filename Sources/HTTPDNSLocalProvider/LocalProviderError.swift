#if LocalProvider
/// Why a local provider cannot serve.
public struct LocalProviderError: Error, Hashable, Sendable, CustomStringConvertible {
    /// What is wrong, for programs.
    public struct Code: Hashable, Sendable, CustomStringConvertible {
        private let word: String

        /// The address and port cannot be listened on.
        public static let cannotListen = Code(word: "cannot-listen")
        /// The certificate or its key cannot be used.
        public static let badCertificate = Code(word: "bad-certificate")

        /// The code as a word.
        public var description: String { word }
    }

    /// What is wrong, for programs.
    public let code: Code
    /// What is wrong, and what to do.
    public let description: String

    init(_ code: Code, _ message: String) {
        self.code = code
        description = message
    }
}
#endif
