extension HTTPDNSClient.Request {
    /// The priority of a request among those that wait for a connection: the most urgent goes first, and among equals
    /// the oldest.
    ///
    /// It matters only when ``HTTPDNSClient/Configuration/Connections/perHost`` or
    /// ``HTTPDNSClient/Configuration/Connections/total`` makes requests wait. It is strict: while more urgent requests
    /// arrive, others wait, until their deadline.
    public struct Priority: RawRepresentable, Hashable, Comparable, Sendable {
        /// The urgency; higher is more urgent.
        public var rawValue: Int8

        /// Creates a priority; higher is more urgent, ``normal`` is 0.
        public init(rawValue: Int8) { self.rawValue = rawValue }

        /// The priority of background work such as prefetching: -64.
        public static let low = HTTPDNSClient.Request.Priority(rawValue: -64)
        /// The default: 0.
        public static let normal = HTTPDNSClient.Request.Priority(rawValue: 0)
        /// The priority of interactive requests: 64.
        public static let high = HTTPDNSClient.Request.Priority(rawValue: 64)

        /// Returns whether the left priority is less urgent.
        public static func < (left: HTTPDNSClient.Request.Priority, right: HTTPDNSClient.Request.Priority) -> Bool {
            left.rawValue < right.rawValue
        }
    }
}
