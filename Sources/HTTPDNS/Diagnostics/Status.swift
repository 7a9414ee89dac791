// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

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
        /// The capabilities of libcurl; nil in the status of an older version of this library.
        public var libcurlCapabilities: LibcurlCapabilities?
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
            case version, library, libcurl, libcurlCapabilities, uptimeSeconds, lastReload, mappings, cache, routes,
                providers
            case connections, pools, endpoints, limits, counters
            case killSwitch = "switch"
        }

        /// The default maximum number of answers, mappings, pools and endpoints, of each.
        public static let defaultLimit = 200
    }
}

extension HTTPDNSClient.Status {
    /// The cache.
    public struct Cache: Codable, Hashable, Sendable {
        /// The number of answers.
        public var entries: Int
        /// The number of bytes that they take, with their share of the tables.
        public var bytes: Int
        /// The answers, by name.
        public var answers: [Answer]
        /// Whether there are more answers than the limit.
        public var isTruncated: Bool
    }

    /// A cached answer for a name.
    public struct Answer: Codable, Hashable, Sendable {
        /// The name.
        public var host: String
        /// The families that the query itself named: `v4`, `v6` or `both`; nil for those of the name's route.
        public var families: String?
        /// The addresses, IPv4 first; empty for a negative answer, and while nothing is known.
        public var addresses: [String]
        /// The source of the addresses: `provider` or `system`; nil when every query so far failed.
        public var source: String?
        /// The name of the provider.
        public var provider: String?
        /// The pattern of the route that led to the provider.
        public var route: String?
        /// The time since the query.
        public var ageSeconds: Double?
        /// The remaining time to live; negative for a stale answer.
        public var secondsLeft: Double?
        /// Whether its time to live has passed, and it may only be served while nothing newer is available.
        public var isStale: Bool
        /// The reason for a negative answer: a code of `HTTPDNSResolver.Error`.
        public var negative: String?
        /// The error of the queries since this answer: a code of `HTTPDNSResolver.Error`.
        public var failure: String?
        /// The time until the next query after that error.
        public var retryInSeconds: Double?
    }
}

extension HTTPDNSClient.Status {
    /// The limits in force.
    public struct Limits: Codable, Hashable, Sendable {
        /// The maximum number of cached answers.
        public var cacheEntries: Int
        /// The maximum number of bytes of the cache.
        public var cacheBytes: Int
        /// The shortest time that an answer is kept.
        public var minimumTimeToLiveSeconds: Double
        /// The longest time that an answer is kept.
        public var maximumTimeToLiveSeconds: Double
        /// The longest time past its time to live that an answer may be served.
        public var staleSeconds: Double
        /// The longest time for one resolution.
        public var resolutionSeconds: Double
        /// The longest time for one query to a provider while another provider is available.
        public var attemptSeconds: Double
        /// The maximum number of connections kept open for later requests, for all clients with the same trust settings
        /// on a transport.
        public var idleConnections: Int
        /// The maximum number of connections in use to one host and port; nil means no limit. For this and the next
        /// three limits, the lower one of the client and of its transport is shown, because both apply.
        public var connectionsPerHost: Int?
        /// The maximum number of connections in use for all hosts together; nil means no limit.
        public var connections: Int?
        /// The maximum number of requests that wait for a connection; nil when connections are not limited.
        public var requestsWaiting: Int?
        /// The longest time that a request waits for a connection; nil means until its deadline.
        public var queueSeconds: Double?
        /// The maximum number of requests in flight.
        public var requestsInFlight: Int
        /// The longest body of a response, in bytes; nil means no limit.
        public var responseBytes: Int?
        /// The time until the TCP connection is established; nil means no limit.
        public var connectSeconds: Double?
        /// The time from there to the end of the TLS handshake; nil means no limit.
        public var tlsSeconds: Double?
        /// The time until the first byte of the response; nil means no limit.
        public var firstByteSeconds: Double?
        /// The time between two reads or writes; nil means no limit.
        public var idleSeconds: Double?
        /// The time for the whole call; nil means no limit.
        public var totalSeconds: Double?
    }
}

extension HTTPDNSClient.Status {
    /// The mappings.
    public struct Mappings: Codable, Hashable, Sendable {
        /// A rule.
        public struct Rule: Codable, Hashable, Sendable {
            /// The key: a name or a suffix, with an optional port.
            public var key: String
            /// The action: `addresses`, `via`, `system` or `last-resort`.
            public var action: String
            /// The addresses, or the name of the target.
            public var targets: [String]
            /// The origin: `base` for the file, `overlay` for rules of the program.
            public var origin: String?
            /// The file and line of the rule.
            public var location: String?
            /// The place of the file's rule that this rule of the program replaces: its file and line, or `settings`.
            public var replaces: String?
        }

        /// A number that grows with every change of the base or the overlay.
        public var generation: UInt64
        /// A number that grows with every change of the file's rules.
        public var baseGeneration: UInt64?
        /// A number that grows with every change by the program.
        public var overlayGeneration: UInt64?
        /// The number of rules.
        public var count: Int
        /// The rules, by key.
        public var rules: [Rule]
        /// Whether there are more rules than the limit.
        public var isTruncated: Bool
    }
}

extension HTTPDNSClient.Status {
    /// A provider.
    public struct Provider: Codable, Hashable, Sendable {
        /// The name in the settings.
        public var name: String
        /// The protocol, such as `doh`.
        public var kind: String
        /// The state: `healthy`, `suspect` (an answer is overdue) or `quarantined` (it is queried as a last resort).
        public var state: String
        /// The reason for the quarantine.
        public var reason: String?
        /// The remaining time of the quarantine.
        public var backOffSeconds: Double?
        /// The mean latency of its answers.
        public var latencySeconds: Double?
        /// The 95th percentile of the latency.
        public var percentile95Seconds: Double?
        /// The number of queries in flight.
        public var inFlight: Int
        /// The number of queries that wait for one of those to end.
        public var queued: Int
        /// The number of queries sent.
        public var queries: Int
        /// The number of queries with a definite answer.
        public var successes: Int
        /// The number of failed queries.
        public var failures: Int
        /// The failures by code of `HTTPDNSProviderError`.
        public var failuresByCode: [String: Int]
    }
}

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

extension HTTPDNSClient.Status {
    /// A route.
    public struct Route: Codable, Hashable, Sendable {
        /// The names that it covers: a name, a suffix, or `*`.
        public var pattern: String
        /// The action: `providers` or `system`.
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

extension HTTPDNSClient.Status {
    /// The state of the kill switch.
    public struct Switch: Codable, Hashable, Sendable {
        /// An entry of the kill switch: everything or a route that is off.
        public struct Entry: Codable, Hashable, Sendable {
            /// The pattern of the route that is off; nil for everything.
            public var route: String?
            /// The origin of the change: `file`, `environment`, `api` or `socket`.
            public var origin: String
            /// The time since the change.
            public var seconds: Double
        }

        /// Whether the resolver as a whole is on. Single routes may be off nevertheless.
        public var isOn: Bool
        /// All entries; empty when everything is on.
        public var entries: [Entry]
        /// A number that grows with each change.
        public var generation: UInt64
    }
}
