extension HTTPDNSClient.Status {
    /// A route.
    public struct Route: Codable, Hashable, Sendable {
        /// Its names: a name, a suffix, or `*`.
        public var pattern: String
        /// What it says: `providers` or `bypass`.
        public var action: String
        /// The names of its providers, in order.
        public var providers: [String]
        /// What happens when none of them has an answer: `none` or `system`.
        public var fallback: String?
        /// Whether it counts; if not, its names take the system path.
        public var isEnabled: Bool
        /// What becomes of its providers' answers: `use`, or `shadow` to compare them only.
        public var mode: String
        /// Which share of the questions it is for, in percent; nil means all.
        public var rolloutPercent: Double?
        /// What decides who is within that share: `process` or `key`.
        public var rolloutBy: String?
        /// Questions answered with addresses of a provider within their time to live.
        public var fresh: Int
        /// Questions answered with addresses past their time to live.
        public var stale: Int
        /// Questions answered by the system resolver.
        public var system: Int
        /// Questions without addresses, by why.
        public var failures: [String: Int]
        /// Where it is written: file and line.
        public var location: String?
    }
}
