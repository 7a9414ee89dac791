extension HTTPDNSClient.Request {
    /// Which of the requests that wait for a connection goes first: the more urgent one, and among equals the one that came
    /// first.
    ///
    /// It counts only where ``HTTPDNSClient/Configuration/Connections/perHost`` or
    /// ``HTTPDNSClient/Configuration/Connections/total`` lets requests wait, and it is strict: as long as more urgent
    /// requests come, others wait, until their deadline.
    public struct Priority: RawRepresentable, Hashable, Comparable, Sendable {
        /// Higher is more urgent.
        public var rawValue: Int8

        /// Creates a priority; higher is more urgent, ``normal`` is 0.
        public init(rawValue: Int8) { self.rawValue = rawValue }

        /// What nobody waits for, such as prefetching: -64.
        public static let low = HTTPDNSClient.Request.Priority(rawValue: -64)
        /// The default: 0.
        public static let normal = HTTPDNSClient.Request.Priority(rawValue: 0)
        /// What somebody waits for: 64.
        public static let high = HTTPDNSClient.Request.Priority(rawValue: 64)

        /// The less urgent is the smaller one.
        public static func < (left: HTTPDNSClient.Request.Priority, right: HTTPDNSClient.Request.Priority) -> Bool {
            left.rawValue < right.rawValue
        }
    }
}
