// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

internal import Glibc
public import HTTPDNSCore
internal import HTTPDNSCurl
public import HTTPDNSPrimitives
public import HTTPTypes
public import Logging

extension HTTPDNSClient {
    /// The settings of a client.
    @dynamicMemberLookup
    public struct Configuration: Sendable {
        /// The settings that a call can change for itself. Each of their members is one of this value, too:
        /// `configuration.redirects = .off`.
        public var options = HTTPDNSClient.Options()
        /// A member of ``options``.
        public subscript<Value>(dynamicMember path: WritableKeyPath<HTTPDNSClient.Options, Value>) -> Value {
            _read { yield options[keyPath: path] }
            _modify { yield &options[keyPath: path] }
        }

        /// The settings for making and keeping connections.
        public struct Connections: Hashable, Sendable {
            /// The delay after which the next address of a request is tried as well, while the first attempt continues
            /// (RFC 8305). At the same time the first address is marked as suspect. 10 ms to 60 s.
            public var happyEyeballsDelay: Duration = .milliseconds(250)
            /// The address family that is tried first when an answer has both. Nil means IPv6 on a machine with an IPv6
            /// route, otherwise IPv4. Without a route, IPv6 addresses of the Internet (2000::/3) are then not tried.
            /// Addresses of a mapping or a request are all tried, in their own order.
            public var firstFamily: HTTPDNSAddress.Family?
            /// The time after which an unused connection is closed, in whole seconds; at least 1. It is checked at most 15 s
            /// late. Load balancers often close theirs after 60 s, and a client notices that only when it sends.
            public var idleTimeout: Duration = .seconds(60)
            /// The age after which new requests get another connection, in whole seconds; at least 2. An HTTP/2
            /// connection may be too busy ever to become idle.
            public var maximumAge: Duration = .seconds(600)
            /// The time that sent bytes may stay unacknowledged before the connection is closed; at least 1 ms.
            ///
            /// A path is dead when bytes were sent again and nothing was acknowledged for a limited time. The limit is
            /// this time or `timeouts.connect`, whichever is shorter, and at least 1 s (TCP_INFO, Linux). A server that
            /// merely does not read still acknowledges probes of its closed window: `timeouts.idle` and
            /// `timeouts.firstByte` bound it. The kernel's own limit (TCP_USER_TIMEOUT, RFC 5482) is therefore the
            /// largest of this and those two; nil means its default of about 15 minutes.
            public var tcpUserTimeout: Duration? = .seconds(30)
            /// The probes of connections that carry no data, such as those whose response is pending (SO_KEEPALIVE).
            /// They also keep the entries of NATs and firewalls alive, if ``idleTimeout`` is longer than the probes'
            /// time. `.off` switches them off.
            public var tcpKeepalive = HTTPDNSClient.Configuration.TCPKeepalive()
            /// The time for which requests stay on a warm address that newer answers no longer contain.
            ///
            /// It counts from the last answer that contained the address. An address is warm when it sent a response
            /// within the last 5 s. A first change moves requests immediately; from the second change within this time
            /// on they stay, for names that rotate. Zero means that each answer decides alone.
            ///
            /// It applies to answers of providers and of the system resolver. Changes of mappings, a request's own
            /// addresses, the kill switch and refusals by the policy move requests immediately. It applies only when
            /// ``selection`` is `automatic` or `given`: the others spread requests or choose on their own.
            public var addressStickiness: Duration = .seconds(30)
            /// The maximum number of connections to one host and port in use at the same time, at least 1; nil means no
            /// limit. A request that finds all of them in use waits, at most for ``queueWait`` and until its deadline,
            /// in the order of ``HTTPDNSClient/Request/Options/priority``. One that would probably miss its deadline,
            /// by the time that the latest requests to the host needed, waits behind all others.
            ///
            /// Over HTTP/1.1 a request occupies a connection until the last byte of its response. Over HTTP/2 up to 100
            /// requests, or ``maximumStreams`` where that is less, count as one connection, from a host's first
            /// response on. A request that races for a connection, or is hedged, counts once.
            public var maximumPerHost: Int?
            /// The maximum number of connections in use for all hosts together, at least 1; nil means no limit.
            public var maximum: Int?
            /// The maximum number of concurrent requests on an HTTP/2 connection, if its server allows as many; at
            /// least 1 (CURLMOPT_MAX_CONCURRENT_STREAMS). When all connections carry their maximum, another one is
            /// made, one at a time.
            public var maximumStreams = 1000
            /// The maximum number of waiting requests for all hosts together, at least 0. One more request displaces
            /// the least urgent one that arrived last, if that one is less urgent than itself. Otherwise it fails with
            /// ``HTTPDNSClientError/Code/limitReached``. Nothing of the displaced or refused request was sent.
            public var maximumQueued = 4096
            /// The maximum time that a request waits for a connection; nil means until its deadline.
            public var queueWait: Duration?
            /// The maximum number of connections kept open for later requests, at least 1. A transport that clients share
            /// has ``HTTPDNSLibcurlTransport/Limits/idleConnections`` in place of it.
            public var maximumIdle = 1024
            /// The number of loops. A loop is a thread that sends requests and receives responses. A client on a shared
            /// transport has the loops of ``HTTPDNSLibcurlTransport/connections``.
            ///
            /// Each origin stays on one loop until that loop worked more than 70 % of the last 50 ms with more than eight
            /// requests. Then its requests also go to other loops, with connections of their own. A loop starts when
            /// all started ones are busy: a program with little traffic has one thread. All limits hold for all loops
            /// together.
            public var loops = Loops.automatic
            /// The rule by which requests move to other addresses when ``addressStickiness`` is over. It applies only
            /// when ``selection`` is `automatic` or `given`.
            public var onAddressChange = AddressChange.moveNow

            /// The rule that chooses the address to try first. ``addressStickiness`` and ``onAddressChange`` have an
            /// effect only with `automatic` and `given`.
            public var selection = Selection.automatic
            /// The time without a response after which a request is sent a second time. 10 ms to 60 s; nil means
            /// never.
            ///
            /// The second copy goes to the next address or, when there is none, over another connection. The first
            /// response counts, and the other copy is canceled.
            ///
            /// Only safe methods (GET, HEAD, OPTIONS and TRACE, RFC 9110 section 9.2.1) without a stream as body are
            /// hedged. Of two PUT or DELETE requests in flight together, the older one might be executed last. A
            /// request is hedged once. At most a tenth of the requests in flight (at least 4) are hedged at a time: a
            /// slow service does not get twice the load. A time near the slowest hundredth of responses is suitable.
            public var hedgeAfter: Duration?
            /// The settings for avoiding an address whose server answers with errors; nil means never.
            public var ejection: HTTPDNSClient.Configuration.OutlierEjection?
            /// The settings for connecting to addresses without a request, to learn their condition. Nil means that
            /// there are no such connections, and that unhealthy addresses are tried beside requests.
            public var probing: HTTPDNSClient.Configuration.ActiveProbing?
            /// Whether ``HTTPDNSClient/Exchange/peerCertificates`` holds the certificates that the server sent. This
            /// takes 2 to 8 KB for each address in use.
            public var keepsPeerCertificates = false

            /// A rule that chooses which of several addresses is tried first. Unhealthy addresses always go last.
            /// Addresses named by the request (``HTTPDNSClient/Request/Options/addresses``) and the weighted draws of a
            /// mapping keep their order.
            public struct Selection: Hashable, Sendable, CustomStringConvertible {
                /// The value in the configuration file.
                public let description: String

                /// Addresses of mappings in their own order. Addresses of other answers alternate between families,
                /// after the address that carried the last request.
                public static let automatic = Selection(description: "automatic")
                /// The order of the answer.
                public static let given = Selection(description: "given")
                /// Each address in turn.
                public static let roundRobin = Selection(description: "round_robin")
                /// A random order.
                public static let random = Selection(description: "random")
                /// The address whose responses began soonest recently. Each address is tried once at the start. A slow
                /// one is tried again after minutes, and later the slower it was. Requests do not wait for another
                /// request's first response from it.
                public static let fastest = Selection(description: "fastest")
            }

            /// A rule for moving requests to other addresses.
            public struct AddressChange: Hashable, Sendable, CustomStringConvertible {
                /// The value in the configuration file.
                public let description: String

                /// Moves all requests immediately: the next requests make their connections.
                public static let moveNow = AddressChange(description: "move_now")
                /// Lets one request make the new connection; the others stay until that request has its response.
                public static let warmThenMove = AddressChange(description: "warm_then_move")
            }

            /// Creates the defaults.
            public init() {}
        }

        /// The settings for making and keeping connections.
        public var connections = Connections()
        /// The settings for mappings, providers, routes, policy and cache.
        public var resolver = HTTPDNSResolver.Configuration()
        /// The trust roots, key pins, TLS versions and client certificate. Files named in it are read again when they
        /// change; a reload replaces the settings.
        public var trust = HTTPDNSTrust()
        /// The trust anchors at which the certificate chains of origins must end: those of ``trust``.
        public var trustRoots: HTTPDNSTrust.Roots {
            get { trust.roots }
            set { trust.roots = newValue }
        }
        /// The trust settings of hosts with their own, replacing ``trust`` as a whole. The exact name wins, then the
        /// longest suffix. `HTTPDNSRoute.Pattern.any` is ``trust`` itself and is refused here. Under a mapping `via`
        /// with `keep: [host]` the name is the target's, which certificate and SNI use.
        ///
        /// Each set of settings has its own loop, connections and TLS sessions.
        public var trustByHost: [HTTPDNSRoute.Pattern: HTTPDNSTrust] = [:]
        /// The header fields that are added to requests without a field of the same name, such as `User-Agent`.
        public var headers = HTTPDNSClient.Configuration.DefaultHeaders()
        /// A closure that computes further header fields for each hop. It runs in the caller's task or a child of it,
        /// never on the loop thread.
        ///
        /// The request's own fields win over these, and these over ``headers``. Secrets among them (see
        /// ``HTTPDNSClient/RedirectPolicy``) are not sent after a redirect to another origin; use
        /// ``HTTPDNSClient/Configuration/DefaultHeaders/byHost`` for such hosts. The closure gets the request of the
        /// hop before any field is added. An error that it throws fails the call with
        /// ``HTTPDNSClientError/Code/interceptorFailed``.
        public var computedHeaders: (@Sendable (HTTPDNSClient.Request) async throws -> HTTPFields)?
        /// The credentials by origin; ``HTTPDNSClient/Request/Options/credential`` overrides them for one request.
        ///
        /// Scheme, host and port must be those of the request's URL. No other origin gets a credential, whatever address
        /// it has and whatever redirect leads there. A request with an `Authorization` field of its own, or with user
        /// information in its URL, uses none. Origins with `http` need ``Options/allowsCleartextCredentials``.
        public var credentials: [HTTPDNSClient.Origin: HTTPDNSClient.Credential] = [:]
        /// A closure that is called before each redirect is followed; nil means that the policy decides alone. It can
        /// allow the redirect, refuse it or send another request. It runs in the caller's task or a child of it, never
        /// on the loop thread. An error that it throws fails the call with
        /// ``HTTPDNSClientError/Code/interceptorFailed``.
        public var redirectHook:
            (@Sendable (HTTPDNSClient.RedirectPolicy.Redirect) async throws -> HTTPDNSClient.RedirectPolicy.Decision)?
        /// The budget that all retries of the client share, whatever the policy of their requests.
        public var retryBudget = HTTPDNSClient.RetryPolicy.Budget()
        /// The rule that decides whether the client has cookies, and where they are kept. The default is no cookies.
        /// ``HTTPDNSClient/Request/Options/usesCookies`` switches them off for one request.
        ///
        /// The jar's cookies are added to each hop whose request has no `Cookie` field of its own, and the `Set-Cookie`
        /// fields of each response are stored, also those of redirects and of responses that are retried.
        public var cookies = HTTPDNSClient.Configuration.Cookies.off
        /// The network interface or address of this machine that connections are bound to, also those to a proxy. Nil
        /// means that the system chooses.
        public var localSource: HTTPDNSClient.Configuration.LocalSource?
        /// The bytes of bodies per second that all requests of the client share, besides the limit of each request,
        /// ``HTTPDNSClient/Request/Options/bandwidth``.
        public var bandwidth = HTTPDNSClient.Bandwidth()
        /// The maximum number of requests in flight, at least 1. A request is in flight until the last byte of its
        /// response. One more request fails immediately with ``HTTPDNSClientError/Code/limitReached``, and nothing of
        /// it was sent. Requests that wait for a connection do not count: ``Connections/maximumQueued`` limits those.
        public var maximumRequestsInFlight = 16_384
        /// Whether the rewriter runs. When false, every name goes to the system resolver, past mappings, providers and
        /// tags; the bytes on the wire are the same. It sets the file's value in the client's
        /// `HTTPDNSResolver.KillSwitch`, and a reload changes it.
        ///
        /// The environment variable `HTTPDNS_DISABLED` also turns the rewriter off. It is read once, when the client is
        /// made: `1`, `true` and `yes` turn it off, `0`, `false`, `no` and an empty value do not.
        public var isEnabled = true
        /// Whether settings from a file follow the file: a change takes effect while the client runs. When false,
        /// ``HTTPDNSClient/reload()`` still reads the file.
        public var watchesFile = true
        /// Whether the signal SIGHUP makes the client read its file again. This is for programs: a signal concerns the
        /// whole process. Without this setting SIGHUP ends the process, unless something else handles it.
        public var reloadsOnHangUp = false
        /// The interceptors that run once per call, outermost first.
        public var applicationInterceptors: [any HTTPDNSClient.Interceptor] = []
        /// The interceptors that run once per hop, outermost first.
        public var networkInterceptors: [any HTTPDNSClient.Interceptor] = []
        /// The interceptors outside those of this client, which other clients have too: a registry of your own, or
        /// ``HTTPDNSClient/InterceptorRegistry/shared`` for that of the whole process. Nil, the default, means none.
        public var processInterceptors: HTTPDNSClient.InterceptorRegistry?
        /// The interceptor between all network interceptors of a hop and the rewriter, such as the stubs of a test; nil for
        /// none.
        package var innermost: (any HTTPDNSClient.Interceptor)?
        /// The resolver in place of the operating system's; nil for that one.
        package var systemResolver: (any SystemResolving)?
        /// The cache of responses; nil for none.
        package var responseCaching: (any ResponseCacheSource)?
        /// The handlers that answer requests for other schemes in process, by scheme: `app` for `app://settings/theme`.
        ///
        /// A handler gets the request as the last network interceptor passed it on, and returns the response. Nothing is
        /// resolved or sent, and header fields, URL and body are not checked. It runs in the caller's task or a child of
        /// it, never on the loop thread. An error that it throws fails the call with
        /// ``HTTPDNSClientError/Code/interceptorFailed``.
        ///
        /// A redirect never leads to a handler, and a redirect that a handler returns is the response of the call. A
        /// scheme without a handler fails the call with ``HTTPDNSClientError/Code/invalidURL``. Schemes are letters,
        /// digits, `+` and `-` (RFC 3986 section 3.1, without the dot); `http` and `https` are refused here.
        public var schemeHandlers: [String: @Sendable (HTTPDNSClient.Request) async throws -> HTTPDNSClient.Response] =
            [:]
        /// The logger; nil means no log. The ``resolver`` uses it as well, unless it has a logger of its own. Logged as
        /// warnings are providers in quarantine, a failing store, a refused configuration file and the kill switch.
        public var logger: Logger?
        /// The observers of the client's calls, such as a traffic monitor: see ``HTTPDNSObserver``. ``HTTPDNSClient/addObserver(_:)``
        /// adds one later.
        public var observers: [any HTTPDNSObserver] = []
        /// The settings of traces; nil without the package trait `Tracing`.
        var callTracing = Self.defaultTracing
        /// The file and line of trust settings; empty for settings made in code.
        package var trustOrigins: [HTTPDNSTrust: TrustOrigin] = [:]
        /// The source of the settings; nil for settings made in code.
        package var source: (any ConfigurationSource)?
        /// Reads a variable of the environment.
        package var environment: @Sendable (String) -> String? = { name in
            getenv(name).map { String(cString: $0) }
        }
        /// Returns a number from 0 to 1 for the jitter of retries.
        package var random: @Sendable () -> Double = { .random(in: 0...1) }
        /// The clock for a `Retry-After` with a date, and for the expiry of cookies.
        package var wallClock = WallClock.system

        /// Creates settings with the defaults above.
        public init() {}
    }
}

extension HTTPDNSClient.Configuration {
    /// Returns the settings of a client that resolves all public names by one DNS-over-HTTPS service (RFC 8484).
    ///
    /// The service becomes the provider `doh` of a route for all names. Internal names, such as those in `internal` or
    /// without a dot, stay with the system resolver.
    /// - Parameters:
    ///   - url: The service's URL, such as `https://dns.example/dns-query`.
    ///   - bootstrap: The service's addresses, in the order to try. Required unless the URL has an address in place of a
    ///     name: the name is never looked up.
    ///   - fallback: The behavior when the service has no usable answer.
    /// - Throws: ``HTTPDNSClientError`` with code `configuration` for a URL or an address that cannot be used.
    public static func doh(
        _ url: String,
        bootstrap: [String] = [],
        fallback: HTTPDNSRoute.Fallback = .off
    ) throws -> HTTPDNSClient.Configuration {
        let addresses = try bootstrap.map { text in
            guard let address = HTTPDNSAddress(text) else {
                throw HTTPDNSClientError.configuration(
                    "\"\(text.escaped(limit: 80))\" is not an address of \(url.escaped(limit: 200))",
                    hint: "give IP addresses, such as 192.0.2.53 or 2001:db8::53"
                )
            }
            return address
        }
        var configuration = HTTPDNSClient.Configuration()
        do {
            configuration.resolver.providers = [
                try HTTPDNSDoHProvider(.init(name: "doh", url: url, bootstrap: addresses))
            ]
        } catch {
            throw HTTPDNSClientError.configuration("\(error)", underlying: error)
        }
        configuration.resolver.routes = [HTTPDNSRoute(.any, .providers(["doh"], fallback: fallback))]
        return configuration
    }
}

extension HTTPDNSClient.Configuration {
    /// The settings of the resolver, with the client's logger where it has none.
    package var resolverSettings: HTTPDNSResolver.Configuration {
        var settings = resolver
        settings.logger = settings.logger ?? logger
        return settings
    }

    /// Returns the trust settings for a host: those of ``trustByHost``, or ``trust``.
    /// - Parameter name: The name in the certificate, in lower case.
    package func trust(forHost name: String) -> HTTPDNSTrust {
        HostTable(trustByHost)[ParsedURL.Host.name(name)] ?? trust
    }

    /// - Throws: ``HTTPDNSClientError`` with code `configuration`.
    func validate() throws(HTTPDNSClientError) {
        if let total = options.timeouts.total, total <= .zero { throw .unusable(total, timeout: "total") }
        try connections.validate()
        guard trustByHost[.any] == nil else {
            throw .configuration(
                "trustByHost has settings for \"*\"",
                hint: "what holds for all hosts is trust; write names and suffixes here"
            )
        }
        guard maximumRequestsInFlight >= 1 else {
            throw .configuration(
                "maximumRequestsInFlight is \(maximumRequestsInFlight), and nothing could be sent",
                hint: "1 is the least"
            )
        }
        try headers.validate()
        for (origin, credential) in credentials {
            if let fault = credential.fault {
                throw .configuration("credentials[\(origin)]: \(fault.message)", hint: fault.hint)
            }
        }
        try cookies.validate()
        try options.validate()
        try retryBudget.validate()
        try bandwidth.validate()
        try EgressSelector.validate(self)
        try SchemeHandlers.validate(schemeHandlers.keys)
        for trust in [trust] + trustByHost.values {
            if let refusal = TLSBackend.refusal(of: trust) {
                throw .configuration(refusal, hint: TLSBackend.hint)
            }
            do throws(HTTPDNSTrust.Error) {
                try trust.checkNegotiation()
            } catch {
                throw .configuration(
                    (trustOrigins[trust]?.prefix(.tlsSettingsRefused) ?? "") + "trust: \(error.message)",
                    hint: "nothing was sent; an empty list of ciphers or curves means OpenSSL's default",
                    underlying: error
                )
            }
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
