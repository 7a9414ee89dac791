extension HTTPDNSClient {
    /// How a client is at a moment, for operators: what it knows, whom it asks, what it is allowed to, and what is switched
    /// off.
    ///
    /// It has names of hosts and addresses, and no secret: providers are called by their names, without URL, account or
    /// header fields. It is Codable, and what `resolve-test dump --json` prints. Times are in seconds. Members come with new
    /// versions and never leave; ``version`` grows when one changes its meaning.
    public struct Status: Codable, Hashable, Sendable {
        /// The version of this form: 1.
        public var version = 1
        /// The version of this library.
        public var library: String
        /// The version of the libcurl that the process runs with.
        public var libcurl: String
        /// How long ago the client was made.
        public var uptimeSeconds: Double
        /// Whether the kill switch has something off.
        public var killSwitch: Switch
        /// What became of the last reload; nil before the first.
        public var lastReload: Reload?
        /// The mappings in use.
        public var mappings: Mappings
        /// The cache, with its answers.
        public var cache: Cache
        /// The routes, in the order of the settings.
        public var routes: [Route]
        /// The providers, in the order of the settings.
        public var providers: [Provider]
        /// How requests get to addresses.
        public var connections: Connections
        /// Connections and requests by host and endpoint, the largest pools first. An endpoint that requests were sent to
        /// stays, with its count, when its last connection has closed. The latest 1,024 such endpoints of each transport
        /// thread are kept.
        public var pools: [Pool]
        /// What connecting to addresses has shown, those in trouble first.
        public var endpoints: [Endpoint]
        /// The limits in force.
        public var limits: Limits
        /// What happened since the client was made: the numbers of `HTTPDNSResolver.Counters` by their names there.
        public var counters: [String: Int]

        private enum CodingKeys: String, CodingKey {
            case version, library, libcurl, uptimeSeconds, lastReload, mappings, cache, routes, providers
            case connections, pools, endpoints, limits, counters
            case killSwitch = "switch"
        }

        /// The most answers, mappings, pools and endpoints that are told, of each, unless more are asked for.
        public static let defaultLimit = 200
    }
}
