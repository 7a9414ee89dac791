public import CurlTransport
public import HTTPDNS
public import HTTPDNSPrimitives
public import HTTPTypes

/// Settings for one request.
public struct RequestOptions: Hashable, Sendable {
    /// Addresses to use instead of any other source, in the order to try, each with an optional port: `203.0.113.9`,
    /// `203.0.113.9:8443`, `2001:db8::9`, `[2001:db8::9]:8443`. SNI, certificate check and connection pool stay those of
    /// the URL's name. It wins over ``bypass``. Redirects to the same host go there too, if ports are not named or stay the
    /// same.
    public var pinnedTo: [String]?
    /// Passes over mappings and providers: the system resolver answers.
    public var bypass = false
    /// Through which proxy it goes; nil means as the client's settings say (``HTTPDNSClient/Configuration/proxy``). It stays with the
    /// call through its redirects.
    public var proxy: ProxyRules?
    /// The path of a Unix socket, at most 107 bytes, that it goes to in place of any address: nothing is looked up, and no proxy is
    /// asked. URL, Host, SNI and certificate check are as ever. A redirect to another origin leaves it.
    public var unixSocket: String?
    /// The total time for the call, resolving and the body included; nil means the client's.
    public var deadline: Duration?
    /// The families allowed; nil means the client's.
    public var families: AddressFamilies?
    /// Sent as Host instead of the URL's own: a host with an optional port. It does not follow a redirect.
    public var hostHeader: String?
    /// Fields of ``HTTPDNSClient/Configuration/headers`` and of the computed ones that this request goes without.
    public var withoutHeaders: Set<HTTPField.Name> = []
    /// The longest body, after decoding; nil means the client's.
    public var maximumResponseBody: ByteCount?
    /// Whether the client asks for the content codings that libcurl knows (gzip, deflate, br and zstd on Debian 12) and takes them off
    /// the body. When false it asks for none, and the body comes as it is sent, such as a `.tar.gz` of a server that calls that a
    /// content coding. A request with a `Range` field asks for none in any case: its answer is a part of what is sent.
    public var decodesBody = true
    /// The HTTP versions allowed; nil means the client's.
    public var versions: HTTPVersionChoice?
    /// Which of the requests that wait for a connection goes first.
    public var priority = RequestPriority.normal
    /// Which redirects are followed; nil means the client's policy.
    public var redirects: RedirectPolicy?
    /// When the request is sent again; nil means the client's policy. The budget is the client's in any case.
    public var retries: RetryPolicy?
    /// What places the request in a rollout by key (`Rollout.Stickiness.key`), such as a user's number; nil means the
    /// host's name.
    public var rolloutKey: String?
    /// Ends before the request's first byte goes out, see ``HTTPDNSClient/proveIdentity(of:at:timeLimit:)``.
    package var stopsBeforeSending = false
    /// With ``stopsBeforeSending``: keeps the connection, see ``HTTPDNSClient/preconnect(to:connections:options:)``.
    var keepsConnection = false

    /// Creates options that change nothing.
    public init() {}
}
