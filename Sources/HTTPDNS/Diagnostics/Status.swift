extension HTTPDNSClient {
    /// A snapshot of a client for operators: its mappings, cache, providers, limits and kill switch.
    ///
    /// It contains names of hosts and addresses, and no secret: providers appear by their names, without URL, account
    /// or header fields. It is Codable, and `resolve-test dump --json` prints it. Times are in seconds. New versions
    /// may add members and never remove one; ``version`` grows when a member changes its meaning.
    public struct Status: Codable, Hashable, Sendable {
        /// The version of this format: 1.
        public var version = 1
        /// The version of this library.
        public var library: String
        /// The version of libcurl in use.
        public var libcurl: String
        /// The time since the client was made.
        public var uptimeSeconds: Double
        /// The state of the kill switch.
        public var killSwitch: Switch
        /// The result of the last reload; nil before the first.
        public var lastReload: Reload?
        /// The mappings in use.
        public var mappings: Mappings
        /// The cache, with its answers.
        public var cache: Cache
        /// The routes, in the order of the settings.
        public var routes: [Route]
        /// The providers, in the order of the settings.
        public var providers: [Provider]
        /// The state of the connections.
        public var connections: Connections
        /// The connections and requests by host and endpoint, the largest pools first. An endpoint that received
        /// requests stays, with its count, after its last connection has closed. The latest 1,024 such endpoints of
        /// each transport thread are kept.
        public var pools: [Pool]
        /// The records of connection attempts, unhealthy endpoints first.
        public var endpoints: [Endpoint]
        /// The limits in force.
        public var limits: Limits
        /// The counters since the client was made, by their names in `HTTPDNSResolver.Counters`.
        public var counters: [String: Int]

        private enum CodingKeys: String, CodingKey {
            case version, library, libcurl, uptimeSeconds, lastReload, mappings, cache, routes, providers
            case connections, pools, endpoints, limits, counters
            case killSwitch = "switch"
        }

        /// The default maximum number of answers, mappings, pools and endpoints, of each.
        public static let defaultLimit = 200
    }
}
