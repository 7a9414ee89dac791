internal import HTTPDNSCurl
public import HTTPDNSPrimitives
public import Logging

extension HTTPDNSResolver {
    /// Settings of a resolver.
    public struct Configuration: Sendable {
        /// Limits of the cache.
        public struct Cache: Hashable, Sendable {
            /// How many names are kept, at least 1.
            public var entries: Int = 4096
            /// How many bytes all of them may take, with their share of the tables.
            public var bytes: HTTPDNSByteCount = .mebibytes(8)
            /// The least time that a positive answer is kept, whatever its own time to live.
            public var minimumTimeToLive: Duration = .zero
            /// The longest time that a positive answer is kept.
            public var maximumTimeToLive: Duration = .seconds(3600)
            /// The time that addresses of the system resolver are kept, which reports no time to live.
            public var systemTimeToLive: Duration = .seconds(30)

            /// How long past its time to live an answer may serve while nothing newer is to be had (RFC 8767); zero never. A
            /// route can say otherwise.
            public var staleLimit: Duration = .seconds(3600)
            /// How long a question waits for a new answer before a stale one serves it. While asking fails, it does not wait.
            public var staleAfter: Duration = .milliseconds(300)
            /// Whether an answer that is used shortly before its time to live is over is asked for anew in the background.
            public var refreshesAhead = true

            /// Creates the default limits.
            public init() {}
        }

        /// The providers that routes may name.
        public var providers: [any HTTPDNSProvider] = []
        /// Who is asked about which names; a name without a route is bypassed to the system resolver.
        public var routes: [HTTPDNSRoute] = []
        /// Zones whose names are known inside the network alone: they go to no provider unless a route names them, or a zone
        /// at or below theirs. The same holds without a word for names below no top-level domain of the root zone, such as
        /// `redis.default` or `db.svc`; single labels and names below `.local`, `.internal` and `home.arpa` need an exact
        /// route.
        public var internalZones: [HTTPDNSName] = []
        /// The first set of mappings.
        public var mappings: [HTTPDNSMapping.Key: HTTPDNSMapping] = [:]
        /// Which addresses may be dialled.
        public var policy = HTTPDNSAddressPolicy()
        /// Limits of the cache.
        public var cache = Cache()
        /// Decides how long a positive answer about a name is kept, from its time to live; nil means as long as that says.
        /// The limits of the cache hold for what it returns. It runs outside of all locks, once for each answer.
        public var timeToLiveOverride: (@Sendable (HTTPDNSName, Duration) -> Duration)?
        /// Names that are resolved at start, so that nobody waits for them later.
        public var preresolve: [HTTPDNSName] = []
        /// The file in which the cache survives a restart; nil keeps it in memory alone. ``store`` wins over it.
        public var snapshotPath: String?
        /// Where the cache survives a restart; nil means ``snapshotPath``, or in memory alone.
        public var store: (any HTTPDNSResolutionStore)?
        /// The calendar time, for what is kept in ``store`` and for nothing else.
        public var wallClock: WallClock = .system
        /// How much each provider may be asked, by its name; the defaults for those without an entry.
        public var providerLimits: [String: HTTPDNSResolver.Configuration.ProviderLimits] = [:]
        /// How long one provider is waited for at least before the next one is asked as well. The provider's own 95th
        /// percentile counts where it is larger.
        public var hedgeAfter: Duration = .milliseconds(50)
        /// How long one query to one provider may take, while there is another one to ask; the only provider of a route has
        /// all of ``timeLimit``.
        public var attemptLimit: Duration = .seconds(1)
        /// The families asked for; nil means both, but IPv6 addresses only while this machine has a route to some. An address
        /// on loopback or on one link alone is no such route. The machine is looked at again at most every ten seconds.
        public var families: HTTPDNSAddress.Families?
        /// Whether this machine has a route to IPv6 addresses.
        package var hasIPv6Route: @Sendable () -> Bool = RouteProbe.systemHasIPv6
        /// How long one resolution may take in all.
        public var timeLimit: Duration = .seconds(3)
        /// The lookups of the system resolver that run concurrently before any of them waits, 1 to 1024. While lookups wait,
        /// there are more, up to 64, or this number if that is more. Each takes a thread (`getaddrinfo` blocks); a thread
        /// ends when no lookup waits. As many threads again may hang in lookups without a caller. A reload does not change
        /// it.
        public var systemThreads: Int = 16
        /// The most that ``systemThreads`` may be.
        package static let maximumSystemThreads = 1024
        /// The clock.
        public var timeSource: any TimeSource = SystemTimeSource()
        /// Where log lines go; nil means nowhere.
        public var logger: Logger?

        /// Creates settings with the defaults above: no providers, no routes, no mappings.
        public init() {}

        /// The families whose addresses may be used.
        var usableFamilies: HTTPDNSAddress.Families { families ?? .both }
    }
}
