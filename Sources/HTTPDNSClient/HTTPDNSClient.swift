public import CurlTransport
public import HTTPDNS
public import HTTPDNSPrimitives
public import HTTPTypes
public import Logging

/// An HTTP client whose requests reach the addresses that mappings and HTTP-DNS providers give, under their own names.
public final class HTTPDNSClient: Sendable {
    /// Settings of a client.
    public struct Configuration: Sendable {
        /// Time limits of the phases; nil means none.
        public struct Timeouts: Hashable, Sendable {
            /// Until the TCP connection stands.
            public var connect: Duration? = .seconds(5)
            /// From the TCP connection until TLS is done.
            public var tls: Duration? = .seconds(5)
            /// From the request's sending until the answer's first byte.
            public var firstByte: Duration? = .seconds(30)
            /// Between two reads of the answer.
            public var idle: Duration? = .seconds(30)
            /// The whole call with its body, resolving included.
            public var total: Duration? = .seconds(60)

            /// Creates the defaults.
            public init() {}
        }

        /// Mappings, providers, routes, policy, cache.
        public var resolver = ResolverConfiguration()
        /// The authorities that origins' certificates must end at.
        public var trustRoots: TrustRoots = .system
        /// Time limits.
        public var timeouts = Timeouts()
        /// The longest body, after decoding; nil means no limit.
        public var maximumResponseBody: ByteCount?
        /// The HTTP versions allowed.
        public var versions: HTTPVersionChoice = .automatic
        /// How many connections are kept open for later requests.
        public var maximumIdleConnections = 1024
        /// Whether the stage runs; when false every name goes to the system resolver.
        public var isEnabled = true
        /// Stages that run once per call, outermost first.
        public var applicationInterceptors: [any Interceptor] = []
        /// Stages that run once per hop, outermost first.
        public var networkInterceptors: [any Interceptor] = []
        /// Where log lines go; nil means nowhere.
        public var logger: Logger?

        /// Creates settings with the defaults above.
        public init() {}
    }

    /// The mappings, which can be changed at any time.
    public var mappings: MappingStore { fatalError("seam") }

    /// Creates a client. Nothing is sent until the first request.
    /// - Throws: ``HTTPDNSClientError`` with code `configuration`.
    public init(configuration: Configuration = Configuration()) async throws { fatalError("seam") }

    /// Sends a request and returns at the head of its response.
    /// - Throws: ``HTTPDNSClientError``, `CancellationError`.
    public func execute(_ request: ClientRequest) async throws -> ClientResponse { fatalError("seam") }

    /// Sends a request that a stage, of this client or another, has already rewritten. While its tag holds it goes to the
    /// addresses in it; afterwards it is rewritten anew.
    /// - Throws: ``HTTPDNSClientError``, `CancellationError`.
    public func execute(
        _ rewritten: RewrittenRequest,
        method: HTTPRequest.Method = .get,
        headerFields: HTTPFields = [:],
        body: RequestBody = .none,
        options: RequestOptions = RequestOptions()
    ) async throws -> ClientResponse { fatalError("seam") }

    /// Runs the stage alone: resolves, and sends nothing to the origin.
    /// - Throws: ``HTTPDNSClientError``, `CancellationError`.
    public func rewrite(_ url: String, options: RequestOptions = RequestOptions()) async throws -> RewrittenRequest {
        fatalError("seam")
    }

    /// Resolves a name, as the stage would.
    /// - Throws: ``HTTPDNSClientError``, `CancellationError`.
    public func resolve(_ host: String, port: UInt16 = 443, options: RequestOptions = RequestOptions()) async throws
        -> Resolution
    { fatalError("seam") }

    /// Refuses new requests, lets those in flight end for `duration`, cuts the rest. Idempotent.
    public func shutdown(drainingFor duration: Duration = .zero) async throws { fatalError("seam") }
}
