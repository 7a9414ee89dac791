extension HTTPDNSClient.Status {
    /// A route.
    public struct Route: Codable, Hashable, Sendable {
        /// The names that it covers: a name, a suffix, or `*`.
        public var pattern: String
        /// The action: `providers` or `bypass`.
        public var action: String
        /// The names of its providers, in order.
        public var providers: [String]
        /// The fallback when no provider has an answer: `none` or `system`.
        public var fallback: String?
        /// Whether the route is in use; if not, its names take the system path.
        public var isEnabled: Bool
        /// The use of its providers' answers: `use`, or `shadow` to compare them only.
        public var mode: String
        /// The percentage of resolutions that it covers; nil means all.
        public var rolloutPercent: Double?
        /// The criterion for that percentage: `process` or `key`.
        public var rolloutBy: String?
        /// The resolutions answered with addresses of a provider within their time to live.
        public var fresh: Int
        /// The resolutions answered with addresses past their time to live.
        public var stale: Int
        /// The resolutions answered by the system resolver.
        public var system: Int
        /// The resolutions without addresses, by reason.
        public var failures: [String: Int]
        /// The file and line of the route.
        public var location: String?
    }
}
