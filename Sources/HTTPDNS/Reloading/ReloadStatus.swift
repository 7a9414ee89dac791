extension HTTPDNSClient {
    /// The results of a client's reloads, see ``HTTPDNSClient/reloads``.
    public struct ReloadStatus: Hashable, Sendable {
        /// Settings that took effect.
        public struct Success: Hashable, Sendable {
            /// The time, in milliseconds since 1970-01-01 00:00 UTC.
            public var time: Int64
            /// The generation from which they are in force.
            public var generation: UInt64
            /// The settings that differ from those in use and take effect only after a restart, by their names in the
            /// file.
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
            /// The time at which they were last read, in milliseconds since 1970-01-01 00:00 UTC.
            public var time: Int64
            /// The errors, one line each, with file, line and column.
            public var message: String

            /// Creates a record.
            public init(time: Int64, message: String) {
                self.time = time
                self.message = message
            }
        }

        /// The file; nil for settings that came from code.
        public var source: String?
        /// Whether changes of the file are noticed automatically.
        public var isWatching: Bool
        /// Whether the file is polled every two seconds, because the system reports no changes there.
        public var isPolling = false
        /// The last settings that took effect since the client was made; nil before there were any.
        public var lastSuccess: Success?
        /// The reason why the present content of the source is not in use; nil while it is.
        public var failure: Failure?
        /// The number of times that newer settings took effect.
        public var successes: UInt64 = 0
        /// The number of times that the settings could not be used.
        public var failures: UInt64 = 0

        /// Creates the state before the first reload.
        public init(source: String? = nil, isWatching: Bool = false) {
            self.source = source
            self.isWatching = isWatching
        }
    }
}
