public import HTTPDNSCore
package import HTTPDNSCurl
public import HTTPTypes

extension HTTPDNSClient.Request {
    /// Settings for one request.
    ///
    /// Policies and limits begin as `.inherited`, which stands for the client's own. They are never optional, so `nil` and
    /// `.none` cannot be mistaken for "off": that is `.never`, `.direct` or `.unlimited`.
    public struct Options: Hashable, Sendable {
        /// Addresses to use instead of any other source, in the order to try, each with an optional port: `203.0.113.9`,
        /// `203.0.113.9:8443`, `2001:db8::9`, `[2001:db8::9]:8443`. SNI, certificate check and connection pool stay those of
        /// the URL's name. It wins over ``bypass``. Redirects to the same host go there too, if ports are not named or stay
        /// the same.
        public var pinnedTo: [String]?
        /// Passes over mappings and providers: the system resolver answers.
        public var bypass = false
        /// The rules that choose the proxy, for the redirects of the call too. ``HTTPDNSClient/Proxy/Rules/direct`` goes past
        /// the client's proxy.
        public var proxy = HTTPDNSClient.Proxy.Rules.inherited
        /// The path of a Unix socket, at most 107 bytes, that it goes to in place of any address: nothing is looked up, and
        /// no proxy is asked. URL, Host, SNI and certificate check are as ever. A redirect to another origin leaves it.
        public var unixSocket: String?
        /// The networks that the call may reach, with its redirects and retries. With
        /// ``HTTPDNSClient/ReachableNetworks/inherited`` they are those of ``HTTPDNSClient/Configuration/reachableNetworks``;
        /// any other value wins over these. It holds for the whole call: a request that an interceptor or a redirect hook
        /// sends instead can narrow it, and not widen it.
        public var reachableNetworks = HTTPDNSClient.ReachableNetworks.inherited
        /// The total time for the call, resolving and the body included. A value of its own stands in place of both
        /// ``HTTPDNSClient/Configuration/Timeouts/responseHead`` and ``HTTPDNSClient/Configuration/Timeouts/total``.
        public var deadline = HTTPDNSClient.TimeLimit.inherited
        /// The families allowed; nil means the client's.
        public var families: HTTPDNSAddress.Families?
        /// Sent as Host instead of the URL's own: a host with an optional port. It does not follow a redirect.
        public var hostHeader: String?
        /// Fields of ``HTTPDNSClient/Configuration/headers`` and of the computed ones that this request goes without.
        public var withoutHeaders: Set<HTTPField.Name> = []
        /// The longest response body, after decoding.
        public var maximumResponseBody = HTTPDNSClient.ByteLimit.inherited
        /// Whether the client asks for the content codings that libcurl knows (gzip, deflate, br and zstd on Debian 12) and
        /// takes them off the body. When false it asks for none, and the body comes as it is sent, such as a `.tar.gz` of a
        /// server that calls that a content coding. A request with a `Range` field asks for none in any case: its answer is a
        /// part of what is sent.
        public var decodesBody = true
        /// The HTTP versions allowed.
        public var versions = HTTPDNSClient.AllowedVersions.inherited
        /// Which of the requests that wait for a connection goes first.
        public var priority = HTTPDNSClient.Request.Priority.normal
        /// The redirects that are followed. With ``HTTPDNSClient/RedirectPolicy/never`` a 3xx status is the response.
        public var redirects = HTTPDNSClient.RedirectPolicy.inherited
        /// The cases in which the request is sent again. The budget is the client's in any case.
        public var retries = HTTPDNSClient.RetryPolicy.inherited
        /// What places the request in a rollout by key (`HTTPDNSRoute.Rollout.Stickiness.key`), such as a user's number; nil
        /// means the host's name. It is no place for a secret: it shows when the options are printed.
        public var rolloutKey: String?
        /// Ends before the request's first byte goes out, see ``HTTPDNSClient/proveIdentity(of:at:timeLimit:)``.
        package var stopsBeforeSending = false
        /// With ``stopsBeforeSending``: keeps the connection, see ``HTTPDNSClient/preconnect(to:connections:options:)``.
        var keepsConnection = false

        /// Creates options that change nothing.
        public init() {}
    }
}
