// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

public import HTTPDNSCore
internal import HTTPDNSCurl
public import HTTPDNSPrimitives
public import HTTPTypes

extension HTTPDNSClient {
    /// A request as the caller and each interceptor see it.
    public struct Request: Sendable {
        /// The method. `CONNECT` is refused, because it asks for a tunnel and not for a resource.
        public var method: HTTPRequest.Method
        /// The absolute http or https URL, as the caller wrote it. User information in it becomes a Basic credential
        /// for this origin, unless ``headerFields`` contains `Authorization`.
        public var url: String
        /// The header fields. The client refuses fields that it sets itself:
        /// - `Host` (see ``HTTPDNSClient/Request/Options/hostHeader``),
        /// - fields that frame the message or belong to one connection: `Content-Length`, `Transfer-Encoding`,
        ///   `Connection`, `Keep-Alive`, `Proxy-Connection`, `Upgrade`,
        /// - `Trailer`, because there are no request trailers,
        /// - `Proxy-Authorization`, which is for proxies (``HTTPDNSClient/Proxy/Credential``),
        /// - `Content-Encoding` with a body that is ``HTTPDNSClient/Request/Body/compressed(_:)``.
        public var headerFields: HTTPFields
        /// The body.
        public var body: HTTPDNSClient.Request.Body
        /// The settings for this request only.
        public var options: HTTPDNSClient.Request.Options {
            _read { yield own?.options ?? SharedOptions.none.options }
            _modify {
                var options = own?.options ?? HTTPDNSClient.Request.Options()
                defer { changeOwn { $0.options = options } }
                yield &options
            }
        }

        /// Whether content codings are requested and decoded. A part of a coded body cannot be decoded (RFC 9110
        /// section 14.2).
        package var isDecoded: Bool {
            own?.options.decodesBody != false && !headerFields.contains { $0.name == .range }
        }

        /// The options and the closures behind a reference, because a request is passed from interceptor to interceptor.
        final class SharedOptions: Sendable {
            static let none = SharedOptions(OwnSettings())

            let settings: OwnSettings

            init(_ settings: OwnSettings) { self.settings = settings }

            var options: HTTPDNSClient.Request.Options { _read { yield settings.options } }
            var onInterimResponse: (@Sendable (HTTPDNSClient.InterimResponse) -> Void)? { settings.onInterimResponse }
            var observer: (@Sendable (HTTPDNSClient.RequestEvent) async -> Void)? { settings.observer }
            var interceptors: InterceptorChain { settings.interceptors }
            var properties: [ObjectIdentifier: StoredProperty] { settings.properties }
        }

        /// The settings of one request that most requests do not have.
        struct OwnSettings: Sendable {
            var options = HTTPDNSClient.Request.Options()
            var onInterimResponse: (@Sendable (HTTPDNSClient.InterimResponse) -> Void)?
            var observer: (@Sendable (HTTPDNSClient.RequestEvent) async -> Void)?
            var interceptors = InterceptorChain()
            var properties: [ObjectIdentifier: StoredProperty] = [:]
        }

        mutating func changeOwn(_ change: (inout OwnSettings) -> Void) {
            var settings = own?.settings ?? OwnSettings()
            change(&settings)
            own = SharedOptions(settings)
        }

        /// The options of this request; nil for most requests, which have none.
        var own: SharedOptions?

        /// Creates a request.
        public init(
            method: HTTPRequest.Method = .get,
            url: String,
            headerFields: HTTPFields = [:],
            body: HTTPDNSClient.Request.Body = .none,
            options: HTTPDNSClient.Request.Options
        ) {
            self.init(method: method, url: url, headerFields: headerFields, body: body)
            changeOwn { $0.options = options }
        }

        /// Creates a request with the default options, `HTTPDNSClient.Request.Options()`.
        public init(
            method: HTTPRequest.Method = .get,
            url: String,
            headerFields: HTTPFields = [:],
            body: HTTPDNSClient.Request.Body = .none
        ) {
            self.method = method
            self.url = url
            self.headerFields = headerFields
            self.body = body
        }
    }
}

extension HTTPDNSClient.Request {
    /// Settings for one request.
    ///
    /// Policies and limits default to `.inherited`, the client's own. They are never optional, so `nil` and `.none`
    /// cannot be mistaken for "off": that is `.off` or `.unlimited`.
    public struct Options: Hashable, Sendable {
        /// The source of the addresses that the request connects to.
        ///
        /// ```swift
        /// request.options.addresses = .only(["203.0.113.9", "[2001:db8::9]:8443"])
        /// ```
        ///
        /// SNI, certificate check and connection pool remain those of the URL's name.
        public var addresses = HTTPDNSClient.Request.Options.Addresses.automatic
        /// The rules that choose the proxy, also for the redirects of the call. ``HTTPDNSClient/Proxy/Rules/off``
        /// uses none.
        public var proxy = HTTPDNSClient.Proxy.Rules.inherited
        /// The path of a Unix socket, at most 107 bytes, that the request uses instead of any address. Nothing is
        /// looked up, and no proxy is used. URL, Host, SNI and certificate check do not change. A redirect to another
        /// origin does not use the socket.
        public var unixSocket: String?
        /// The networks that the call may reach, with its redirects and retries: those among the client's
        /// (``HTTPDNSClient/Configuration/reachableNetworks``) that are also in this. No value widens the client's.
        ///
        /// The limit covers the whole call: a request that an interceptor or a redirect hook sends instead can narrow
        /// it, but not widen it.
        public var reachableNetworks = HTTPDNSClient.ReachableNetworks.any
        /// The total time for the call, including resolving and the body. A value of its own replaces both
        /// ``HTTPDNSClient/Configuration/Timeouts/responseHead`` and ``HTTPDNSClient/Configuration/Timeouts/total``.
        public var timeout = HTTPDNSClient.TimeLimit.inherited
        /// The allowed address families; nil means the client's.
        public var families: HTTPDNSAddress.Families?
        /// The value of the Host field instead of the URL's own: a host with an optional port. A redirect within
        /// the origin keeps it, as in curl; one to another origin does not.
        public var hostHeader: String?
        /// The fields of ``HTTPDNSClient/Configuration/headers`` and of the computed ones that are left out of this
        /// request. With `Accept` in it, the `Accept: */*` of requests without such a field is left out, too.
        public var withoutHeaders: Set<HTTPField.Name> = []
        /// Whether the call uses the client's jar (``HTTPDNSClient/Configuration/cookies``). When false, no cookie is
        /// added to its requests and none of its responses is stored.
        public var usesCookies = true
        /// The longest response body, after decoding.
        public var maximumResponseBody = HTTPDNSClient.ByteLimit.inherited
        /// The bytes of the bodies per second, of each request of the call. The limit that all requests of the client share
        /// (``HTTPDNSClient/Configuration/bandwidth``) applies too.
        public var bandwidth = HTTPDNSClient.Bandwidth()
        /// The longest time for which a body over HTTP/1.1 waits until the server asks for it, with the field
        /// `Expect: 100-continue` (RFC 9110 section 10.1.1). The body is sent when the time has passed. Zero, the default,
        /// sends it with the head.
        ///
        /// A server that refuses the request before its body saves sending it. A response 417 repeats the request without
        /// the field, once and if the body can be sent again. A field of the request's own waits for one second.
        public var continueTimeout: Duration = .zero
        /// Whether the client requests content codings (gzip and deflate, and br and zstd where libbrotlidec and libzstd are
        /// installed) and decodes the body. An `Accept-Encoding` field of the request replaces the client's. When false, it requests none, and the body arrives as it was sent, such as a
        /// `.tar.gz` that the server labels with a content coding. A request with a `Range` field never requests any:
        /// its response is a part of the coded body.
        public var decodesBody = true
        /// The allowed HTTP versions.
        public var versions = HTTPDNSClient.AllowedVersions.inherited
        /// The priority of the request among those that wait for a connection.
        public var priority = HTTPDNSClient.Request.Priority.normal
        /// The redirects that are followed. With ``HTTPDNSClient/RedirectPolicy/off`` a 3xx response is returned.
        public var redirects = HTTPDNSClient.RedirectPolicy.inherited
        /// The conditions for sending the request again.
        public var retries = HTTPDNSClient.RetryPolicy.inherited
        /// Whether the call shares a request in flight with calls whose requests are identical. With
        /// ``HTTPDNSClient/Request/Options/Toggle/inherited`` it is
        /// ``HTTPDNSClient/Configuration/mergesIdenticalReads``.
        ///
        /// It has no effect on methods other than GET and HEAD, and on requests with a body, interceptors, properties or a
        /// closure for interim responses: these are never shared.
        public var mergesIdenticalReads = HTTPDNSClient.Request.Options.Toggle.inherited
        /// The credential for the origin of the request's URL. With ``HTTPDNSClient/Credential/inherited`` it is that of
        /// ``HTTPDNSClient/Configuration/credentials``, and with ``HTTPDNSClient/Credential/off`` a 401 response is
        /// returned.
        ///
        /// It is used for this origin only. After a redirect to another origin, that origin's credential in the settings
        /// is used, if there is one. A request with an `Authorization` field, or with user information in its URL, uses no
        /// credential.
        public var credential = HTTPDNSClient.Credential.inherited
        /// The key of the request in a rollout by key (`HTTPDNSRoute.Rollout.Stickiness.key`), such as a user's number.
        /// Nil means the name of the host. Do not put a secret here: the value appears when the options are printed.
        public var rolloutKey: String?
        /// Whether the call ends before the first byte of the request is sent, see
        /// ``HTTPDNSClient/proveIdentity(of:at:timeLimit:)``.
        package var stopsBeforeSending = false
        /// Whether the connection is kept with ``stopsBeforeSending``, see
        /// ``HTTPDNSClient/preconnect(to:connections:options:)``.
        var keepsConnection = false
        /// Whether the body of a response over HTTP/1.1 keeps its chunked coding.
        package var keepsChunks = false
        /// Whether the response has ``HTTPDNSClient/Response/sentFields``.
        var notesSentFields = false

        /// Creates options that change nothing.
        public init() {}
    }
}

extension HTTPDNSClient.Request.Options {
    /// A setting of a request that replaces a Boolean setting of the client, or inherits it.
    public struct Toggle: Hashable, Sendable, CustomStringConvertible {
        private enum Content: String {
            case inherited, on, off
        }

        private let content: Content

        /// The setting of the client. This is the default.
        public static let inherited = HTTPDNSClient.Request.Options.Toggle(content: .inherited)
        /// True, whatever the client has.
        public static let on = HTTPDNSClient.Request.Options.Toggle(content: .on)
        /// False, whatever the client has.
        public static let off = HTTPDNSClient.Request.Options.Toggle(content: .off)

        /// The value: `inherited`, `on` or `off`.
        public var description: String { content.rawValue }

        /// Returns the setting in force.
        func isOn(inheriting client: @autoclosure () -> Bool) -> Bool {
            switch content {
            case .inherited: client()
            case .on: true
            case .off: false
            }
        }
    }

    /// The source of the addresses that a request connects to.
    public struct Addresses: Hashable, Sendable, CustomStringConvertible {
        enum Content: Hashable {
            case automatic
            case system
            case only([HTTPDNSClient.Request.Target])
        }

        let content: Content

        private init(content: Content) { self.content = content }

        /// Mappings, the cache, the providers of the name's route, and the system resolver if the route allows it. This
        /// is the default.
        public static var automatic: HTTPDNSClient.Request.Options.Addresses {
            HTTPDNSClient.Request.Options.Addresses(content: .automatic)
        }
        /// The system resolver. Mappings, routes and providers are skipped. Redirects of the call use it too.
        public static var system: HTTPDNSClient.Request.Options.Addresses {
            HTTPDNSClient.Request.Options.Addresses(content: .system)
        }
        /// Returns these addresses and no others, in the order of the attempts. Nothing is looked up. An empty list fails
        /// the call with ``HTTPDNSClientError/Code/invalidRequest``.
        ///
        /// Redirects to the same host use these addresses too, if the addresses name no port or the redirect keeps the
        /// port. Other redirects are ``automatic``.
        public static func only(_ targets: [HTTPDNSClient.Request.Target]) -> HTTPDNSClient.Request.Options.Addresses {
            HTTPDNSClient.Request.Options.Addresses(content: .only(targets))
        }

        /// `automatic`, `system`, or the addresses with commas between them.
        public var description: String {
            switch content {
            case .automatic: "automatic"
            case .system: "system"
            case .only(let targets): targets.map(\.description).joined(separator: ", ")
            }
        }

        /// The request's own addresses; nil when it has none.
        var targets: [HTTPDNSClient.Request.Target]? {
            if case .only(let targets) = content { targets } else { nil }
        }
    }
}

extension HTTPDNSClient.Request {
    /// An address to connect to, with an optional port: `203.0.113.9`, `203.0.113.9:8443`, `2001:db8::9`,
    /// `[2001:db8::9]:8443`.
    ///
    /// Text that is not an address is kept, and fails the call with ``HTTPDNSClientError/Code/invalidRequest``. So a list
    /// from a file or a command line needs no check of its own: `texts.map(HTTPDNSClient.Request.Target.init(_:))`.
    public struct Target: Hashable, Sendable, ExpressibleByStringInterpolation, CustomStringConvertible {
        private enum Content: Hashable {
            case address(HTTPDNSAddress, port: UInt16?)
            case invalid(AddressTextError)
        }

        private let content: Content

        /// Creates a target. Without a port it is the URL's.
        public init(_ address: HTTPDNSAddress, port: UInt16? = nil) { content = .address(address, port: port) }

        /// Creates a target from an address with an optional port.
        public init(_ text: String) {
            do {
                let parsed = try AddressText(text)
                content = .address(parsed.address, port: parsed.port)
            } catch {
                content = .invalid(error)
            }
        }

        /// Creates a target from an address with an optional port.
        public init(stringLiteral text: String) { self.init(text) }

        /// The address with its port, if it has one; else the text that is not an address.
        public var description: String {
            switch content {
            case .address(let address, port: let port?): HTTPDNSEndpoint(address: address, port: port).description
            case .address(let address, port: nil): address.description
            case .invalid(let error): error.text
            }
        }

        /// The port; nil for the URL's.
        var port: UInt16? {
            if case .address(_, port: let port) = content { port } else { nil }
        }

        /// Returns the endpoint for a URL with this port.
        /// - Throws: ``AddressTextError``.
        func endpoint(port: UInt16) throws(AddressTextError) -> HTTPDNSEndpoint {
            switch content {
            case .address(let address, port: let own): return HTTPDNSEndpoint(address: address, port: own ?? port)
            case .invalid(let error): throw error
            }
        }
    }
}

extension HTTPDNSClient.Request {
    /// The priority of a request among those that wait for a connection: the most urgent goes first, and among equals
    /// the oldest.
    ///
    /// It matters only when ``HTTPDNSClient/Configuration/Connections/maximumPerHost`` or
    /// ``HTTPDNSClient/Configuration/Connections/maximum`` makes requests wait. It is strict: while more urgent
    /// requests arrive, others wait, until their deadline.
    public struct Priority: RawRepresentable, Hashable, Comparable, Sendable {
        /// The urgency; higher is more urgent.
        public var rawValue: Int8

        /// Creates a priority; higher is more urgent, ``normal`` is 0.
        public init(rawValue: Int8) { self.rawValue = rawValue }

        /// The priority of background work such as prefetching: -64.
        public static let low = HTTPDNSClient.Request.Priority(rawValue: -64)
        /// The default: 0.
        public static let normal = HTTPDNSClient.Request.Priority(rawValue: 0)
        /// The priority of interactive requests: 64.
        public static let high = HTTPDNSClient.Request.Priority(rawValue: 64)

        /// Returns whether the left priority is less urgent.
        public static func < (left: HTTPDNSClient.Request.Priority, right: HTTPDNSClient.Request.Priority) -> Bool {
            left.rawValue < right.rawValue
        }
    }
}
