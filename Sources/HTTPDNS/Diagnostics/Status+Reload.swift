extension HTTPDNSClient.Status {
    /// The result of the latest change of settings.
    public struct Reload: Codable, Hashable, Sendable {
        /// Whether the new settings are in force; if not, the previous ones are.
        public var isApplied: Bool
        /// The time since the change.
        public var seconds: Double
        /// The reason for a refusal, on one line: file, line, column and error.
        public var message: String?

        /// The changed settings that take effect only after a restart, by their names in the file.
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
