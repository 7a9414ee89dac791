// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

internal import HTTPDNSCurl
public import HTTPDNSPrimitives

extension HTTPDNSClient {
    /// The settings that a client has for all of its calls, and that one call can change for itself.
    ///
    /// ```swift
    /// configuration.timeouts.total = .seconds(10)
    /// let page = try await client.get(url) { $0.timeouts.total = .seconds(2) }
    /// ```
    ///
    /// A call has the settings in use at its start, also for its redirects and retries: a reload changes later calls.
    public struct Options: Hashable, Sendable {
        /// The time limits of a call.
        public var timeouts = HTTPDNSClient.Timeouts()
        /// The redirects that are followed. With ``HTTPDNSClient/RedirectPolicy/off`` a 3xx response is returned.
        public var redirects = HTTPDNSClient.RedirectPolicy()
        /// The conditions for sending a request again. The default is no retries.
        public var retries = HTTPDNSClient.RetryPolicy.off
        /// Whether calls with identical GET or HEAD requests in flight share one request
        /// (<doc:SendingRequests#Identical-reads-in-flight>). Leave it off when network interceptors or
        /// ``HTTPDNSClient/Configuration/computedHeaders`` add something for one caller only.
        ///
        /// It has no effect on requests with a body, interceptors, properties or a closure for interim responses: these are
        /// never shared.
        public var mergesIdenticalReads = false
        /// Whether credentials may be sent over `http`, where anyone who reads the connection can read or use them.
        ///
        /// It applies to what the client sends itself: ``HTTPDNSClient/Configuration/credentials``,
        /// ``HTTPDNSClient/Request/Options/credential`` of a call, and user information of a URL. When false, such a call fails
        /// with ``HTTPDNSClientError/Code/authenticationFailed`` before anything of its hop is sent, also after a redirect.
        ///
        /// Always allowed are connections that stay on this machine: a Unix socket, and `localhost` or a loopback address in
        /// the URL, without a proxy and without ``HTTPDNSClient/Request/Options/addresses``. Browsers trust these as well (W3C Secure
        /// Contexts). An `Authorization` field of the program, cookies and the credential of a proxy are not affected.
        public var allowsCleartextCredentials = false
        /// The rules that choose the proxy. The environment is read only when these rules say so. Queries to providers do
        /// not use it.
        public var proxy = HTTPDNSClient.Proxy.Rules.off
        /// The path of a Unix socket, at most 107 bytes, that requests use instead of any address; nil for none. Nothing is
        /// looked up, and no proxy is used, except that of a call which changes ``proxy`` alone. URL, Host, SNI and
        /// certificate check do not change. A redirect to another origin does not use the socket of a call.
        public var unixSocket: String?
        /// The networks that requests may reach, on every hop. A call narrows those of its client, and never widens them: its
        /// hops reach what both allow at the time. A request that an interceptor or a redirect hook sends narrows them too.
        public var reachableNetworks = HTTPDNSClient.ReachableNetworks.any
        /// The longest response body after decoding; nil means no limit. It also stops a decompression bomb.
        public var maximumResponseBody: HTTPDNSByteCount?
        /// The HTTP versions allowed.
        public var versions = HTTPDNSClient.AllowedVersions.automatic

        /// Creates the defaults.
        public init() {}
    }

    /// The time limits of a call and of its phases; nil means none.
    ///
    /// Those of a client must be positive. A call whose ``total`` is zero or less has timed out before it begins.
    public struct Timeouts: Hashable, Sendable {
        /// The time until the TCP connection is established.
        public var connect: Duration? = .seconds(5)
        /// The time from the TCP connection until the TLS handshake is complete.
        public var tls: Duration? = .seconds(5)
        /// The time from the last byte of the request to the first byte of the response. Interim responses (1xx) do
        /// not count.
        public var firstByte: Duration? = .seconds(30)
        /// The time between two reads of the response, or between two writes of the request body. The caller's own
        /// pauses do not count: a response body that is not read, or a stream that has no bytes yet.
        public var idle: Duration? = .seconds(30)
        /// The time from the start of a call to the last line of its response head. It includes resolving, waiting
        /// for a connection, redirects and retries.
        ///
        /// While a request body is sent, ``idle`` is the limit, and this time starts again after it.
        public var responseHead: Duration? = .seconds(60)
        /// The time for the whole call with its body, resolving included. It also ends streams and long downloads,
        /// so there is none by default.
        public var total: Duration?

        /// Creates the defaults.
        public init() {}
    }
}

extension HTTPDNSClient.Options {
    /// - Throws: ``HTTPDNSClientError`` with code `configuration`.
    func validate() throws(HTTPDNSClientError) {
        let limits = [
            ("connect", timeouts.connect), ("tls", timeouts.tls), ("firstByte", timeouts.firstByte),
            ("idle", timeouts.idle), ("responseHead", timeouts.responseHead),
        ]
        for (name, limit) in limits {
            guard let limit, limit <= .zero else { continue }
            throw .unusable(limit, timeout: name)
        }
        try redirects.validate()
        try retries.validate()
    }
}

extension TransferLimits {
    init(_ timeouts: HTTPDNSClient.Timeouts, maximumResponseBody: HTTPDNSByteCount?) {
        self.init()
        (connect, tls, firstByte, idle) = (timeouts.connect, timeouts.tls, timeouts.firstByte, timeouts.idle)
        maximumResponseBytes = maximumResponseBody?.bytes
    }
}
