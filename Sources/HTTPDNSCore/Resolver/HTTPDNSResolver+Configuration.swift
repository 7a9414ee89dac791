// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

internal import HTTPDNSCurl
public import HTTPDNSPrimitives
public import Logging

extension HTTPDNSResolver {
    /// Settings of a resolver.
    public struct Configuration: Sendable {
        /// Limits of the cache.
        public struct Cache: Hashable, Sendable {
            /// The maximum number of names kept, at least 1.
            public var entries: Int = 4096
            /// The maximum size of all cached answers, with their share of the tables.
            public var bytes: HTTPDNSByteCount = .mebibytes(8)
            /// The minimum time that a positive answer is kept, whatever its own time to live.
            public var minimumTimeToLive: Duration = .zero
            /// The maximum time that a positive answer is kept.
            public var maximumTimeToLive: Duration = .seconds(3600)
            /// The time that addresses of the system resolver are kept, which reports no time to live.
            public var systemTimeToLive: Duration = .seconds(30)

            /// The time past its time to live that an answer may be served while no newer one is available (RFC 8767).
            ///
            /// Zero disables stale answers. A route can override it.
            public var staleLimit: Duration = .seconds(3600)
            /// The time that a query waits for a new answer before a stale one is served. While refreshing fails, it does not
            /// wait.
            public var staleAfter: Duration = .milliseconds(300)
            /// Whether an answer that is used shortly before its time to live ends is refreshed in the background.
            public var refreshesAhead = true

            /// Creates the default limits.
            public init() {}
        }

        /// The providers that routes may name.
        public var providers: [any HTTPDNSProvider] = []
        /// The providers for each pattern of names; names without a route go to the system resolver.
        public var routes: [HTTPDNSRoute] = []
        /// Zones whose names are known inside the network alone.
        ///
        /// They are sent to no provider unless a route names them, or a zone at or below theirs. The same holds without this
        /// setting for names below no top-level domain of the root zone, such as `redis.default` or `db.svc`. Single labels and
        /// names below `.local`, `.internal` and `home.arpa` need an exact route.
        public var internalZones: [HTTPDNSName] = []
        /// The initial set of mappings.
        public var mappings: [HTTPDNSMapping.Key: HTTPDNSMapping] = [:] { didSet { indexedMappings = nil } }
        /// ``mappings``, checked and indexed; nil until that is done. A change of ``mappings`` sets it to nil.
        package var indexedMappings: HTTPDNSMappings?
        /// The policy for addresses that may be dialed.
        public var policy = HTTPDNSAddressPolicy()
        /// Limits of the cache.
        public var cache = Cache()
        /// A function that overrides the lifetime of a positive answer, given its name and time to live; nil changes nothing.
        ///
        /// The limits of the cache are applied to its result. It runs outside of all locks, once for each answer.
        public var timeToLiveOverride: (@Sendable (HTTPDNSName, Duration) -> Duration)?
        /// Names that are resolved at start, so that no request waits for them later.
        public var preresolve: [HTTPDNSName] = []
        /// The file in which the cache survives a restart; nil keeps it in memory alone. ``store`` wins over it.
        public var snapshotPath: String?
        /// The store in which the cache survives a restart; nil means ``snapshotPath``, or memory alone.
        public var store: (any HTTPDNSResolutionStore)?
        /// The calendar time, used only for answers in ``store``.
        package var wallClock: WallClock = .system
        /// The query limits of each provider, by its name. Providers without an entry have the defaults.
        public var providerLimits: [String: HTTPDNSResolver.Configuration.ProviderLimits] = [:]
        /// The minimum time to wait for one provider before the next one is queried as well.
        ///
        /// The provider's own 95th percentile is used if it is larger.
        public var hedgeAfter: Duration = .milliseconds(50)
        /// The time limit of one query to one provider, while there is another provider to query.
        ///
        /// The only provider of a route has all of ``timeLimit``.
        public var attemptLimit: Duration = .seconds(1)
        /// The families to query; nil means both, but IPv6 only while this machine has a route to IPv6 addresses.
        ///
        /// A loopback address or an address on a single link does not count as such a route. The machine is checked again at
        /// most every ten seconds.
        public var families: HTTPDNSAddress.Families?
        /// Whether this machine has a route to IPv6 addresses.
        package var hasIPv6Route: @Sendable () -> Bool = RouteProbe.systemHasIPv6
        /// The time limit of one resolution in all.
        public var timeLimit: Duration = .seconds(3)
        /// The number of concurrent lookups of the system resolver before any of them waits, 1 to 1024.
        ///
        /// While lookups wait, there are more, up to 64, or this number if that is more. Each takes a thread (`getaddrinfo`
        /// blocks); a thread ends when no lookup waits. As many threads again may be blocked in lookups without a caller. A
        /// reload does not change it.
        public var systemThreads: Int = 16
        /// The maximum of ``systemThreads``.
        package static let maximumSystemThreads = 1024
        /// The clock.
        package var timeSource: any TimeSource = SystemTimeSource()
        /// The logger; nil disables logging.
        public var logger: Logger?

        /// Creates settings with the defaults above: no providers, no routes, no mappings.
        public init() {}

        /// The families whose addresses may be used.
        var usableFamilies: HTTPDNSAddress.Families { families ?? .both }
    }
}

extension HTTPDNSResolver.Configuration {
    /// The limits on queries to one provider: vendors bill queries, and refuse clients that send too many.
    public struct ProviderLimits: Hashable, Sendable {
        /// The maximum number of concurrent queries, at least 1; further queries wait in a queue. Those whose callers have
        /// used half of their time limits, shorter than ``HTTPDNSResolver/Configuration/timeLimit``, wait behind the others.
        ///
        /// While one waits, a query fails and makes room once it takes longer than 250 ms and than eight times the provider's
        /// 95th percentile. If the provider answers no other query meanwhile, it gets at least
        /// ``HTTPDNSResolver/Configuration/attemptLimit``.
        public var maximumInFlight: Int
        /// The maximum average number of queries per second, above 0, with a burst of as many; nil means no limit.
        ///
        /// A query over the budget is not sent: the next provider is queried, or a stale answer is served.
        public var queriesPerSecond: Double?

        /// Creates limits.
        public init(maximumInFlight: Int = 128, queriesPerSecond: Double? = nil) {
            self.maximumInFlight = maximumInFlight
            self.queriesPerSecond = queriesPerSecond
        }
    }
}

extension HTTPDNSResolver {
    /// An error in the settings of a resolver.
    public struct ConfigurationError: Swift.Error, Hashable, Sendable, CustomStringConvertible {
        /// The mistake, and the suggested action.
        public var message: String
        /// The position of the setting in its source.
        public var location: HTTPDNSSourceLocation?

        /// One line with location and message.
        public var description: String { (location.map { "\($0): " } ?? "") + message }
    }
}
