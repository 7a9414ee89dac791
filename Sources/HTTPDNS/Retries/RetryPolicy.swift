public import HTTPTypes

extension HTTPDNSClient {
    /// When a request is sent again after it failed, or after the server said that it could not do it now.
    ///
    /// A retry is a new try of the whole call under the call's one deadline: its host is resolved anew, its redirects are
    /// followed anew. It comes after all addresses have failed; trying them one after the other is no retry. Never is a
    /// request sent twice that may have reached the server, unless its method is one of ``methods`` or it has an
    /// `Idempotency-Key`; and never one whose body is a stream of which something was read.
    public struct RetryPolicy: Hashable, Sendable {
        /// How much of the load of a client may be retries, so that a service in trouble does not get a multiple of it.
        public struct Budget: Hashable, Sendable {
            /// Retries for every 100 calls, counted over the last 10 seconds; 0 to 1,000.
            public var percent = 20
            /// Retries that each second gives besides, so that a client with few calls may retry at all; 0 to 100,000.
            public var perSecond = 10

            /// Creates the default: a fifth of the calls, and ten a second.
            public init() {}
        }

        /// How often one request is sent again at most, 0 to 100; 0 means never.
        public var limit = 2
        /// The methods of which a second time does no harm (RFC 9110 section 9.2.2). Other requests are sent again only when
        /// nothing of them can have reached the server, or when they have an `Idempotency-Key`.
        public var methods: Set<HTTPRequest.Method> = [.get, .head, .options, .trace, .put, .delete]
        /// Statuses after which such a request is sent again.
        public var statuses: Set<Int> = [408, 425, 429, 502, 503, 504]
        /// Errors after which it is: by default no connection, a broken one, and time-outs but that of the whole call.
        public var errors: Set<HTTPDNSClientError.Code> = [
            .connectFailed, .proxyUnreachable, .connectionLost, .timedOut,
        ]
        /// The first wait is a random time of at most this, each later one of at most twice as much as the one before.
        public var delay: Duration = .milliseconds(100)
        /// The longest such wait.
        public var maximumDelay: Duration = .seconds(5)
        /// The longest `Retry-After` that is waited for. With a longer one, or one beyond the call's deadline, the answer is
        /// the response at once.
        public var maximumRetryAfter: Duration = .seconds(30)
        /// What all retries of a client share. That of the client's own policy counts, also for requests with another one.
        public var budget = Budget()

        /// Creates a policy of two retries.
        public init() {}

        /// Two retries, with full jitter from 100 ms on.
        public static let standard = HTTPDNSClient.RetryPolicy()

        /// No retries.
        public static let never: HTTPDNSClient.RetryPolicy = {
            var policy = HTTPDNSClient.RetryPolicy()
            policy.limit = 0
            return policy
        }()

        /// The policy of the client, ``HTTPDNSClient/Configuration/retries``: the default of
        /// ``HTTPDNSClient/Request/Options/retries``.
        ///
        /// The settings of a client refuse it with ``HTTPDNSClientError/Code/configuration``. A request refuses a changed
        /// copy of it with ``HTTPDNSClientError/Code/invalidRequest``: a policy of one's own begins with ``init()``.
        public static let inherited: HTTPDNSClient.RetryPolicy = {
            var policy = HTTPDNSClient.RetryPolicy()
            policy.isInherited = true
            return policy
        }()

        private(set) var isInherited = false
    }
}
