extension HTTPDNSClient {
    /// The progress of the transfer of a body.
    public struct Progress: Hashable, Sendable, CustomStringConvertible {
        /// The bytes so far.
        public var bytes: Int64
        /// The total number of bytes; nil while it is unknown. At the end it equals ``bytes``.
        public var total: Int64?
        /// Whether the transfer is complete.
        public var isComplete: Bool

        /// Creates a report.
        public init(bytes: Int64, total: Int64?, isComplete: Bool) {
            self.bytes = bytes
            self.total = total
            self.isComplete = isComplete
        }

        /// The fraction that is done, from 0 to 1; nil while the total is unknown.
        public var fraction: Double? {
            guard !isComplete else { return 1 }
            guard let total else { return nil }
            return total > 0 ? min(1, Double(bytes) / Double(total)) : 0
        }

        /// The counts as text, such as `1024 of 4096 bytes` or `1024 bytes of an unknown number`.
        public var description: String {
            total.map { "\(bytes) of \($0) bytes" } ?? "\(bytes) bytes of an unknown number"
        }

        /// Returns a closure that calls both, the first one first.
        static func reporting(
            to first: (@Sendable (HTTPDNSClient.Progress) -> Void)?,
            and second: @escaping @Sendable (HTTPDNSClient.Progress) -> Void
        ) -> @Sendable (HTTPDNSClient.Progress) -> Void {
            guard let first else { return second }
            return { progress in
                first(progress)
                second(progress)
            }
        }
    }
}
