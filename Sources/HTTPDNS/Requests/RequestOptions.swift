public import HTTPDNSCore
package import HTTPDNSCurl
public import HTTPTypes

extension HTTPDNSClient.Request {
    /// Settings for one request.
    ///
    /// Policies and limits default to `.inherited`, the client's own. They are never optional, so `nil` and `.none`
    /// cannot be mistaken for "off": that is `.never`, `.direct` or `.unlimited`.
    public struct Options: Hashable, Sendable {
        /// The addresses to use instead of any other source, in the order of the attempts. Each has an optional port:
        /// `203.0.113.9`, `203.0.113.9:8443`, `2001:db8::9`, `[2001:db8::9]:8443`.
        ///
        /// SNI, certificate check and connection pool remain those of the URL's name. It wins over ``bypass``.
        /// Redirects to the same host use these addresses too, if the addresses name no port or the redirect keeps the
        /// port.
        public var pinnedTo: [String]?
        /// Whether the request bypasses mappings and providers: the system resolver answers.
        public var bypass = false
        /// The rules that choose the proxy, also for the redirects of the call. ``HTTPDNSClient/Proxy/Rules/direct``
        /// bypasses the client's proxy.
        public var proxy = HTTPDNSClient.Proxy.Rules.inherited
        /// The path of a Unix socket, at most 107 bytes, that the request uses instead of any address. Nothing is
        /// looked up, and no proxy is used. URL, Host, SNI and certificate check do not change. A redirect to another
        /// origin does not use the socket.
        public var unixSocket: String?
        /// The networks that the call may reach, with its redirects and retries. With
        /// ``HTTPDNSClient/ReachableNetworks/inherited`` they are those of
        /// ``HTTPDNSClient/Configuration/reachableNetworks``, and any other value wins over these.
        ///
        /// The limit covers the whole call: a request that an interceptor or a redirect hook sends instead can narrow
        /// it, but not widen it.
        public var reachableNetworks = HTTPDNSClient.ReachableNetworks.inherited
        /// The total time for the call, including resolving and the body. A value of its own replaces both
        /// ``HTTPDNSClient/Configuration/Timeouts/responseHead`` and ``HTTPDNSClient/Configuration/Timeouts/total``.
        public var deadline = HTTPDNSClient.TimeLimit.inherited
        /// The allowed address families; nil means the client's.
        public var families: HTTPDNSAddress.Families?
        /// The value of the Host field instead of the URL's own: a host with an optional port. It does not follow a
        /// redirect.
        public var hostHeader: String?
        /// The fields of ``HTTPDNSClient/Configuration/headers`` and of the computed ones that are left out of this
        /// request.
        public var withoutHeaders: Set<HTTPField.Name> = []
        /// The longest response body, after decoding.
        public var maximumResponseBody = HTTPDNSClient.ByteLimit.inherited
        /// Whether the client requests the content codings that libcurl supports (gzip, deflate, br and zstd on Debian
        /// 12) and decodes the body. When false, it requests none, and the body arrives as it was sent, such as a
        /// `.tar.gz` that the server labels with a content coding. A request with a `Range` field never requests any:
        /// its response is a part of the coded body.
        public var decodesBody = true
        /// The allowed HTTP versions.
        public var versions = HTTPDNSClient.AllowedVersions.inherited
        /// The priority of the request among those that wait for a connection.
        public var priority = HTTPDNSClient.Request.Priority.normal
        /// The redirects that are followed. With ``HTTPDNSClient/RedirectPolicy/never`` a 3xx response is returned.
        public var redirects = HTTPDNSClient.RedirectPolicy.inherited
        /// The conditions for sending the request again. The budget is always the client's.
        public var retries = HTTPDNSClient.RetryPolicy.inherited
        /// The key of the request in a rollout by key (`HTTPDNSRoute.Rollout.Stickiness.key`), such as a user's number.
        /// Nil means the name of the host. Do not put a secret here: the value appears when the options are printed.
        public var rolloutKey: String?
        /// Whether the call ends before the first byte of the request is sent, see
        /// ``HTTPDNSClient/proveIdentity(of:at:timeLimit:)``.
        package var stopsBeforeSending = false
        /// Whether the connection is kept with ``stopsBeforeSending``, see
        /// ``HTTPDNSClient/preconnect(to:connections:options:)``.
        var keepsConnection = false

        /// Creates options that change nothing.
        public init() {}
    }
}
