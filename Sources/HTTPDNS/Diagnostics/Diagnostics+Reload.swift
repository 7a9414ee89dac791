extension HTTPDNSClient.Status {
    /// What became of the last time that settings were to be changed.
    public struct Reload: Codable, Hashable, Sendable {
        /// Whether they hold; if not, those before it hold on.
        public var isApplied: Bool
        /// How long ago.
        public var seconds: Double
        /// Why they do not hold, on one line: file, line, column and mistake.
        public var message: String?

        /// Settings of it that hold from the next start only, by their names in the file.
        public var needsRestart: [String]

        /// Creates a record.
        public init(isApplied: Bool, seconds: Double, message: String? = nil, needsRestart: [String] = []) {
            self.isApplied = isApplied
            self.seconds = seconds
            self.message = message
            self.needsRestart = needsRestart
        }
    }
}
