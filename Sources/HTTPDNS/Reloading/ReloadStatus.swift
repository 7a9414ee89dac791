extension HTTPDNSClient {
    /// What came of the settings that a client reads again while it runs, as ``HTTPDNSClient/reloads`` tells it.
    public struct ReloadStatus: Hashable, Sendable {
        /// Settings that took effect.
        public struct Success: Hashable, Sendable {
            /// When, in milliseconds since 1970-01-01 00:00 UTC.
            public var time: Int64
            /// From which generation on they hold.
            public var generation: UInt64
            /// Settings that differ from those in use and hold from the next start only, by their names in the file.
            public var needsRestart: [String]

            /// Creates a record.
            public init(time: Int64, generation: UInt64, needsRestart: [String] = []) {
                self.time = time
                self.generation = generation
                self.needsRestart = needsRestart
            }
        }

        /// Settings that could not be used.
        public struct Failure: Hashable, Sendable {
            /// When they were read last, in milliseconds since 1970-01-01 00:00 UTC.
            public var time: Int64
            /// What is wrong with them, a line for each mistake, with file, line and column.
            public var message: String

            /// Creates a record.
            public init(time: Int64, message: String) {
                self.time = time
                self.message = message
            }
        }

        /// The file; nil for settings that came from code.
        public var source: String?
        /// Whether changes of it are noticed without being told.
        public var isWatching: Bool
        /// Whether it is looked at every two seconds, because the system tells of no changes there.
        public var isPolling = false
        /// The last settings that took effect since the client was made; nil before there were any.
        public var lastSuccess: Success?
        /// Why what the source says now is not in use; nil while it is.
        public var failure: Failure?
        /// How often newer settings took effect.
        public var successes: UInt64 = 0
        /// How often what was read could not be used.
        public var failures: UInt64 = 0

        /// Creates the state before the first reload.
        public init(source: String? = nil, isWatching: Bool = false) {
            self.source = source
            self.isWatching = isWatching
        }
    }
}
