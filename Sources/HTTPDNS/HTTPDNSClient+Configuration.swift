public import HTTPDNSCore
package import HTTPDNSCurl
public import HTTPDNSPrimitives
public import HTTPTypes
public import Logging

#if canImport(Glibc)
internal import Glibc
#elseif canImport(Musl)
internal import Musl
#else
internal import Darwin
#endif

extension HTTPDNSClient {
    /// Settings of a client.
    public struct Configuration: Sendable {
        /// Time limits of the phases; nil means none. Each must be positive.
        public struct Timeouts: Hashable, Sendable {
            /// Until the TCP connection stands.
            public var connect: Duration? = .seconds(5)
            /// From the TCP connection until TLS is done.
            public var tls: Duration? = .seconds(5)
            /// From the request's last byte until the answer's first one. Interim answers (1xx) are none.
            public var firstByte: Duration? = .seconds(30)
            /// Between two reads of the answer, or two writes of the request's body. The caller's own pauses do not count: a
            /// body that is not read, a stream that has nothing to give.
            public var idle: Duration? = .seconds(30)
            /// From the start of a call until its response head: resolving, waiting for a connection, redirects and retries
            /// included.
            ///
            /// While the body of a request is sent, ``idle`` bounds it, and this time starts again after it. A request with a
            /// time of its own (``HTTPDNSClient/Request/Options/deadline``) has that in its place.
            public var responseHead: Duration? = .seconds(60)
            /// The whole call with its body, resolving included. Streams and long downloads end at it, so there is none by
            /// default.
            public var total: Duration?

            /// Creates the defaults.
            public init() {}
        }

        /// How connections are made and kept.
        public struct Connections: Hashable, Sendable {
            /// After how long the next address of a request is tried as well, while the first one goes on (RFC 8305). At the
            /// same time the first one is marked as suspect. At least 10 ms.
            public var attemptDelay: Duration = .milliseconds(250)
            /// The family that is tried first where an answer has both; nil means IPv6 on a machine with a route for it, else
            /// IPv4. Without a route the IPv6 addresses of the Internet (2000::/3) are not tried then. Addresses of a mapping
            /// or a request are tried in their own order, all of them.
            public var firstFamily: HTTPDNSAddress.Family?
            /// How long a connection may be without work before it is closed; whole seconds, 1 at least. Load balancers often
            /// close theirs after 60 s, which a client learns only when it sends.
            public var idle: Duration = .seconds(60)
            /// How old a connection may become before new requests get another one; whole seconds, 2 at least. Over HTTP/2 a
            /// connection may be too busy for ever to be idle.
            public var maximumAge: Duration = .seconds(600)
            /// The time that sent bytes may go without acknowledgment before a connection is given up; 1 ms at least.
            ///
            /// A path is dead once bytes were sent again and nothing was acknowledged for this time or for
            /// `timeouts.connect`, whichever is shorter, and for 1 s at least (TCP_INFO, Linux). A server that only does not
            /// read acknowledges probes of its closed window: it is bounded by `timeouts.idle` and `timeouts.firstByte`. So
            /// the kernel's own bound (TCP_USER_TIMEOUT, RFC 5482) is the largest of this and those two; nil means its
            /// default of about 15 minutes.
            public var unacknowledged: Duration? = .seconds(30)
            /// For how long after it last stood in an answer requests stay on an address which newer answers no longer have,
            /// if it is warm: a response came from it within the last 5 s. A first change moves requests at once; they stay
            /// from the second one on within this time, for names that rotate. Zero means that each answer decides alone. It
            /// is for answers of providers and of the system resolver: changes of mappings, `pinnedTo`, the kill switch and
            /// what the policy refuses move requests at once. Only with ``selection`` `automatic` and `given`: the others
            /// spread requests, or choose by themselves.
            public var addressHold: Duration = .seconds(30)
            /// How many connections to one host and port may be in use at once, at least 1; nil means that nothing is
            /// limited. A request that finds all of them in use waits, for ``queueWait`` and until its deadline at most, and
            /// by its ``HTTPDNSClient/Request/Options/priority``.
            ///
            /// Over HTTP/1.1 a request has a connection to itself until the last byte of its response. Over HTTP/2 up to 100
            /// requests, or ``maximumStreams`` where that is less, count as one connection, from a host's first answer on. A
            /// request that races for a connection, or is hedged, counts once.
            public var perHost: Int?
            /// The same for all hosts together, at least 1.
            public var total: Int?
            /// The most requests on an HTTP/2 connection at the same time, if its server allows as many; 1 at least
            /// (CURLMOPT_MAX_CONCURRENT_STREAMS). Another connection is made when all that there are carry as many as they
            /// may, one at a time.
            public var maximumStreams = 1000
            /// How many requests may wait, for all hosts together, at least 0. One more takes the place of the least urgent
            /// one that came last, if that is less urgent than itself; else it fails with
            /// ``HTTPDNSClientError/Code/limitReached``. Nothing of either was sent.
            public var maximumQueued = 4096
            /// How long a request may wait at most; nil means until its deadline.
            public var queueWait: Duration?
            /// How requests move to other addresses when ``addressHold`` is over; like that only with ``selection``
            /// `automatic` and `given`.
            public var onAddressChange = AddressChange.moveNow

            /// Which address of several is tried first. Only with `automatic` and `given` do ``addressHold`` and
            /// ``onAddressChange`` do anything.
            public var selection = Selection.automatic
            /// After how long without an answer a request is sent once more, to its next address or, when there is none, on
            /// another connection: the first answer counts, the other sending is given up. At least 10 ms; nil means never.
            ///
            /// Only for safe methods (GET, HEAD, OPTIONS and TRACE, RFC 9110 section 9.2.1) without a stream as body: of two
            /// PUT or DELETE requests that are in flight together the older one may be executed last. Once for each request,
            /// and for a tenth of the requests in flight at a time (4 at least), so that a slow service does not get twice
            /// the load. A time near the slowest hundredth of answers suits.
            public var hedgeAfter: Duration?
            /// When an address whose server answers with errors is left for a while; nil means never.
            public var ejection: HTTPDNSClient.Configuration.OutlierEjection?
            /// How addresses are connected to without a request, to know how they stand; nil means not at all: then those in
            /// trouble are tried beside requests.
            public var activeProbing: HTTPDNSClient.Configuration.ActiveProbing?
            /// Whether ``HTTPDNSClient/Exchange/peerCertificates`` has what the server showed. It takes 2 to 8 KB for each
            /// address in use.
            public var keepsPeerCertificates = false

            /// Which address of several is tried first. Those in trouble go last, whatever it says; what a request names
            /// itself (`pinnedTo`) and the lots of a mapping with weights keep their order.
            public struct Selection: Hashable, Sendable, CustomStringConvertible {
                /// The word for it in the configuration file.
                public let description: String

                /// Mappings in their own order; other answers by turns of family, after the address that carried the last
                /// request.
                public static let automatic = Selection(description: "automatic")
                /// In the order of the answer.
                public static let given = Selection(description: "given")
                /// Each in turn.
                public static let roundRobin = Selection(description: "round_robin")
                /// By lot.
                public static let random = Selection(description: "random")
                /// The one whose answers began soonest of late. Each is tried once to begin with, and a slow one again after
                /// minutes, the later the slower it was; requests do not wait for another one's first answer from it.
                public static let fastest = Selection(description: "fastest")
            }

            /// How requests move to other addresses.
            public struct AddressChange: Hashable, Sendable, CustomStringConvertible {
                /// The word for it in the configuration file.
                public let description: String

                /// All at once: the next requests make their connections.
                public static let moveNow = AddressChange(description: "move_now")
                /// One request makes the new connection, and the others stay until it has its answer.
                public static let warmThenMove = AddressChange(description: "warm_then_move")
            }

            /// Creates the defaults.
            public init() {}
        }

        /// How connections are made and kept.
        public var connections = Connections()
        /// Mappings, providers, routes, policy, cache.
        public var resolver = HTTPDNSResolver.Configuration()
        /// Whom the client believes, and as whom it comes. Its files are read again when they change; a reload takes other
        /// settings.
        public var trust = HTTPDNSTrust()
        /// The authorities that origins' certificates must end at: those of ``trust``.
        public var trustRoots: HTTPDNSTrust.Roots {
            get { trust.roots }
            set { trust.roots = newValue }
        }
        /// Whom the client believes, and as whom it comes, for hosts that have their own settings, in place of ``trust`` as a
        /// whole. The exact name wins, then the longest suffix; `HTTPDNSRoute.Pattern.any` is ``trust`` itself, and refused
        /// here. Under a mapping `via` with `keep: [host]` the name is the other one, which certificate and SNI are for.
        ///
        /// Each of the settings has a loop, connections and TLS sessions of its own.
        public var trustByHost: [HTTPDNSRoute.Pattern: HTTPDNSTrust] = [:]
        /// Time limits.
        public var timeouts = Timeouts()
        /// Fields that requests are given which have none of the same name, such as `User-Agent`.
        public var headers = HTTPDNSClient.Configuration.DefaultHeaders()
        /// Computes more of them for each hop, in the caller's task or a child of it, never on the loop thread; they go
        /// before ``headers``, the request's own before both. Secrets among them (see ``HTTPDNSClient/RedirectPolicy``) are
        /// not sent where a redirect has led to another origin: for such hosts
        /// ``HTTPDNSClient/Configuration/DefaultHeaders/byHost`` has them. The request is the hop's, before anything is
        /// added. An error that it throws fails the call with ``HTTPDNSClientError/Code/interceptorFailed``.
        public var computedHeaders: (@Sendable (HTTPDNSClient.Request) async throws -> HTTPFields)?
        /// Which redirects are followed; ``HTTPDNSClient/Request/Options/redirects`` is one request's own.
        public var redirects = HTTPDNSClient.RedirectPolicy()
        /// Asked before each redirect is followed, in the caller's task or a child of it, never on the loop thread: it may
        /// let it be followed, refuse it or send another request. An error that it throws fails the call with
        /// ``HTTPDNSClientError/Code/interceptorFailed``. Nil means that the policy decides alone.
        public var redirectHook:
            (@Sendable (HTTPDNSClient.RedirectPolicy.Redirect) async throws -> HTTPDNSClient.RedirectPolicy.Decision)?
        /// When requests are sent again; ``HTTPDNSClient/Request/Options/retries`` is one request's own. None is, unless
        /// asked for.
        public var retries = HTTPDNSClient.RetryPolicy.never
        /// Which requests go through which proxy; ``HTTPDNSClient/Request/Options/proxy`` is one request's own. The
        /// environment is heeded only when this says so. Providers are asked without it.
        public var proxy = HTTPDNSClient.Proxy.Rules.direct
        /// The path of a Unix socket, at most 107 bytes, that all requests go to which have no proxy or socket of their own;
        /// nil for addresses. The stage has nothing to do then.
        public var unixSocket: String?
        /// The networks that requests may reach; ``HTTPDNSClient/Request/Options/reachableNetworks`` is one request's own.
        public var reachableNetworks = HTTPDNSClient.ReachableNetworks.any
        /// The network interface or address of this machine at which connections begin, those to a proxy too; nil means that
        /// the system chooses.
        public var localSource: HTTPDNSClient.Configuration.LocalSource?
        /// The longest response body, after decoding. It also stops a decompression bomb.
        public var maximumResponseBody = HTTPDNSClient.ByteLimit.unlimited
        /// The HTTP versions allowed.
        public var versions: HTTPDNSClient.AllowedVersions = .automatic
        /// How many connections are kept open for later requests, at least 1.
        public var maximumIdleConnections = 1024
        /// How many requests may be in flight at once, until the last byte of their answer, at least 1. One more fails at
        /// once with ``HTTPDNSClientError/Code/limitReached``, and nothing of it was sent.
        public var maximumRequestsInFlight = 16_384
        /// Whether the stage runs. When false every name goes to the system resolver, past mappings, providers and tags; what
        /// goes on the wire is the same. It is the file's word in the client's `HTTPDNSResolver.KillSwitch`: a reload changes
        /// it.
        ///
        /// The environment variable `HTTPDNS_DISABLED`, read once when the client is made, switches off as well: `1`, `true`
        /// and `yes` do, `0`, `false`, `no` and nothing do not.
        public var isEnabled = true
        /// Whether settings that came from a file follow the file: a change of it takes effect while the client runs. If not,
        /// ``HTTPDNSClient/reload()`` still reads it.
        public var watchesFile = true
        /// Whether the signal SIGHUP makes a client read its file again. It is for programs: a signal belongs to the process
        /// as a whole, and without this it ends it, unless something else handles it.
        public var reloadsOnHangUp = false
        /// Stages that run once per call, outermost first.
        public var applicationInterceptors: [any HTTPDNSClient.Interceptor] = []
        /// Stages that run once per hop, outermost first.
        public var networkInterceptors: [any HTTPDNSClient.Interceptor] = []
        /// The destination of log lines; nil means nowhere. The ``resolver`` logs there too, unless it has a logger of its
        /// own. At warning level are providers in quarantine, a store that fails, a configuration file that is refused and
        /// the kill switch.
        public var logger: Logger?
        /// Where trust settings are written; nothing for those of code.
        package var trustOrigins: [HTTPDNSTrust: TrustOrigin] = [:]
        /// Where the settings came from; nil for code.
        package var source: (any ConfigurationSource)?
        /// The environment, as far as it is asked.
        package var environment: @Sendable (String) -> String? = { name in
            getenv(name).map { String(cString: $0) }
        }
        /// A number from 0 to 1, for the jitter of retries.
        package var random: @Sendable () -> Double = { .random(in: 0...1) }
        /// What time it is to a `Retry-After` with a date.
        package var wallClock = WallClock.system
        /// How the loop waits for its sockets. Both drivers pass the same tests.
        package var driver: TransportConfiguration.Driver = .platformDefault

        /// Creates settings with the defaults above.
        public init() {}
    }
}

extension HTTPDNSClient.Configuration {
    /// The settings of the resolver, with what it has from the client.
    var resolverSettings: HTTPDNSResolver.Configuration {
        var settings = resolver
        settings.logger = settings.logger ?? logger
        return settings
    }

    /// - Throws: ``HTTPDNSClientError`` with code `configuration`.
    func validate() throws(HTTPDNSClientError) {
        let limits = [
            ("connect", timeouts.connect), ("tls", timeouts.tls), ("firstByte", timeouts.firstByte),
            ("idle", timeouts.idle), ("responseHead", timeouts.responseHead), ("total", timeouts.total),
        ]
        for (name, limit) in limits {
            guard let limit, limit <= .zero else { continue }
            throw .configuration(
                "timeouts.\(name) is \(limit.shortText), and nothing happens in that time",
                hint: "give a positive duration, or nil for no limit"
            )
        }
        try connections.validate()
        guard trustByHost[.any] == nil else {
            throw .configuration(
                "trustByHost has settings for \"*\"",
                hint: "what holds for all hosts is trust; write names and suffixes here"
            )
        }
        guard maximumIdleConnections >= 1 else {
            throw .configuration(
                "maximumIdleConnections is \(maximumIdleConnections)",
                hint: "1 is the least; more is better for whoever sends to several addresses"
            )
        }
        guard maximumRequestsInFlight >= 1 else {
            throw .configuration(
                "maximumRequestsInFlight is \(maximumRequestsInFlight), and nothing could be sent",
                hint: "1 is the least"
            )
        }
        guard reachableNetworks != .inherited else {
            throw .inheritedInSettings("reachableNetworks", instead: ".any is the default")
        }
        try headers.validate()
        try redirects.validate()
        try retries.validate()
        if versions == .inherited {
            throw .inheritedInSettings("versions", instead: ".automatic is the default")
        }
        if maximumResponseBody.isInherited {
            throw .inheritedInSettings("maximumResponseBody", instead: ".unlimited is the default")
        }
        try validateWaysOut()
        for trust in [trust] + trustByHost.values {
            guard case .file(let path) = trust.roots.source, access(path, R_OK) != 0 else { continue }
            let reason = String(cString: strerror(errno))
            throw .configuration(
                (trustOrigins[trust]?.prefix(.trustRootsMissing) ?? "")
                    + "the CA file \(path.escaped(limit: 200)) cannot be read: \(reason)",
                hint: "trustRoots wants a PEM file; .system takes the machine's own authorities"
            )
        }
    }
}

extension HTTPDNSClient.Configuration.OutlierEjection {
    fileprivate func validate() throws(HTTPDNSClientError) {
        let mistake: String? =
            if consecutive < 1 {
                "consecutive is \(consecutive); 1 is the least"
            } else if statuses.isEmpty || !statuses.allSatisfy((400...599).contains) {
                "statuses must be some of 400 to 599"
            } else if rest < .seconds(1) || longestRest < rest {
                "rest is \(rest.shortText) and longestRest \(longestRest.shortText); from 1s, the longest last"
            } else {
                nil
            }
        if let mistake { throw .configuration("connections.ejection: \(mistake)") }
    }
}

extension HTTPDNSClient.Configuration.ActiveProbing {
    fileprivate func validate() throws(HTTPDNSClientError) {
        guard interval >= .seconds(1), maximumAtOnce >= 1 else {
            throw .configuration(
                "connections.activeProbing: the interval is \(interval.shortText), at once \(maximumAtOnce)",
                hint: "1s and 1 are the least"
            )
        }
    }
}

extension HTTPDNSClient.Configuration.Connections {
    /// - Throws: ``HTTPDNSClientError`` with code `configuration`.
    func validate() throws(HTTPDNSClientError) {
        guard attemptDelay >= .milliseconds(10) else {
            throw .configuration(
                "connections.attemptDelay is \(attemptDelay.shortText)",
                hint: "10 ms is the least (RFC 8305 section 5); 250 ms suits nearly everybody"
            )
        }
        for (name, value, least) in [
            ("idle", idle, Duration.seconds(1)), ("maximumAge", maximumAge, .seconds(2)),
            ("unacknowledged", unacknowledged ?? .seconds(1), .milliseconds(1)), ("addressHold", addressHold, .zero),
        ] where value < least {
            throw .configuration(
                "connections.\(name) is \(value.shortText)",
                hint: "\(least.shortText) is the least"
            )
        }
        try validateAdmission()
        if let delay = hedgeAfter, delay < .milliseconds(10) {
            throw .configuration(
                "connections.hedgeAfter is \(delay.shortText)",
                hint: "10 ms is the least; a time near the slowest hundredth of answers suits"
            )
        }
        try ejection?.validate()
        try activeProbing?.validate()
    }

    private func validateAdmission() throws(HTTPDNSClientError) {
        let counts = [
            ("perHost", perHost, 1), ("total", total, 1), ("maximumStreams", maximumStreams, 1),
            ("maximumQueued", maximumQueued, 0),
        ]
        for (name, limit, least) in counts {
            guard let limit, limit < least else { continue }
            throw .configuration(
                "connections.\(name) is \(limit)",
                hint: least == 0 ? "0 lets nobody wait" : "1 is the least, nil is no limit"
            )
        }
        if let queueWait, queueWait <= .zero {
            throw .configuration(
                "connections.queueWait is \(queueWait.shortText), and nobody could wait",
                hint: "for that set maximumQueued to 0; nil means until the deadline"
            )
        }
    }
}
