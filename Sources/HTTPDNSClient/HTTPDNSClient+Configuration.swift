public import CurlTransport
public import HTTPDNS
public import HTTPDNSPrimitives
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
            /// From the request's last byte until the answer's first one.
            public var firstByte: Duration? = .seconds(30)
            /// Between two reads of the answer, or two writes of the request's body. The caller's own pauses do not count: a body
            /// that is not read, a stream that has nothing to give.
            public var idle: Duration? = .seconds(30)
            /// The whole call with its body, resolving included.
            public var total: Duration? = .seconds(60)

            /// Creates the defaults.
            public init() {}
        }

        /// Mappings, providers, routes, policy, cache.
        public var resolver = ResolverConfiguration()
        /// Whom the client believes, and as whom it comes. Its files are read again when they change.
        public var trust = TrustSettings()
        /// The authorities that origins' certificates must end at: those of ``trust``.
        public var trustRoots: TrustRoots {
            get { trust.roots }
            set { trust.roots = newValue }
        }
        /// Time limits.
        public var timeouts = Timeouts()
        /// The longest body, after decoding; nil means no limit. It also stops a decompression bomb.
        public var maximumResponseBody: ByteCount?
        /// The HTTP versions allowed.
        public var versions: HTTPVersionChoice = .automatic
        /// How many connections are kept open for later requests, at least 1.
        public var maximumIdleConnections = 1024
        /// How many requests may be in flight at once, until the last byte of their answer, at least 1. One more fails at once
        /// with ``HTTPDNSClientError/Code/limitReached``, and nothing of it was sent.
        public var maximumRequestsInFlight = 16_384
        /// Whether the stage runs. When false every name goes to the system resolver, past mappings, providers and tags; what
        /// goes on the wire is the same. It is the file's word in the client's `KillSwitch`: a reload changes it.
        ///
        /// The environment variable `HTTPDNS_DISABLED`, read once when the client is made, switches off as well: `1`, `true` and
        /// `yes` do, `0`, `false`, `no` and nothing do not.
        public var isEnabled = true
        /// Whether settings that came from a file follow the file: a change of it takes effect while the client runs. If not,
        /// ``HTTPDNSClient/reload()`` still reads it.
        public var watchesFile = true
        /// Whether the signal SIGHUP makes a client read its file again. It is for programs: a signal belongs to the process
        /// as a whole, and without this it ends it, unless something else handles it.
        public var reloadsOnHangUp = false
        /// Stages that run once per call, outermost first.
        public var applicationInterceptors: [any Interceptor] = []
        /// Stages that run once per hop, outermost first.
        public var networkInterceptors: [any Interceptor] = []
        /// Where log lines go, all but one at debug and trace level; nil means nowhere. A ``resolver`` has a logger of its own.
        public var logger: Logger?
        /// Where the settings came from; nil for code.
        package var source: (any ConfigurationSource)?
        /// The environment, as far as it is asked.
        package var environment: @Sendable (String) -> String? = { name in
            getenv(name).map { String(cString: $0) }
        }
        /// How the loop waits for its sockets. Both drivers pass the same tests.
        package var driver: TransportConfiguration.Driver = .platformDefault

        /// Creates settings with the defaults above.
        public init() {}
    }
}

extension HTTPDNSClient.Configuration {
    /// - Throws: ``HTTPDNSClientError`` with code `configuration`.
    func validate() throws(HTTPDNSClientError) {
        let limits = [
            ("connect", timeouts.connect), ("tls", timeouts.tls), ("firstByte", timeouts.firstByte),
            ("idle", timeouts.idle), ("total", timeouts.total),
        ]
        for (name, limit) in limits {
            guard let limit, limit <= .zero else { continue }
            throw .configuration(
                "timeouts.\(name) is \(limit.shortText), and nothing happens in that time",
                hint: "give a positive duration, or nil for no limit"
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
        if case .file(let path) = trustRoots.source, access(path, R_OK) != 0 {
            throw .configuration(
                "the CA file \(path.escaped(limit: 200)) cannot be read: \(String(cString: strerror(errno)))",
                hint: "trustRoots wants a PEM file; .system takes the machine's own authorities"
            )
        }
    }
}
