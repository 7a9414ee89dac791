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
        /// The options of the call, which are the client's with the changes of this request. A request that is not part of
        /// a call yet has the defaults in place of the client's.
        public var options: HTTPDNSClient.Request.Options {
            _read { yield own?.options ?? SharedOptions.none.options }
        }

        /// Changes the options of the call that this request begins, or of the request that an interceptor passes on.
        /// - Parameter change: Receives the client's options, once, at the start of the call. In an interceptor it receives
        ///   those of the request, immediately. Each reading of ``options`` before the call runs it too.
        public mutating func changeOptions(_ change: @escaping HTTPDNSClient.Request.Options.Change) {
            changeOwn { own in
                own.changes.append(change)
                if own.isResolved { change(&own.options) }
            }
        }

        /// Whether the request may have a stored response: GET or HEAD without a body.
        var isRead: Bool { (method == .get || method == .head) && body.isEmpty }

        /// Whether content codings are requested and decoded. A part of a coded body cannot be decoded (RFC 9110
        /// section 14.2).
        package var isDecoded: Bool {
            own?.options.decodesBody != false && !headerFields.contains { $0.name == .range }
        }

        /// The taker of the connection's socket, see ``HTTPDNSClient/connectedSocket(to:port:)``.
        var handedSocket: HandedSocket? {
            own?.callOptions.stopsBeforeSending == true ? self[HandedSocket.self] : nil
        }

        /// The options and the closures behind a reference, because a request is passed from interceptor to interceptor.
        final class SharedOptions: Sendable {
            static let none = SharedOptions(HTTPDNSClient.Request.Options())

            let settings: OwnSettings

            init(_ settings: OwnSettings) { self.settings = settings }

            /// Creates the options of a call without anything else.
            convenience init(_ options: HTTPDNSClient.Request.Options) {
                self.init(OwnSettings(options: options, isResolved: true))
            }

            /// The options without the rest of a request.
            var optionsAlone: SharedOptions { settings.hasOptionsAlone ? self : SharedOptions(settings.options) }
            /// Whether the options are those of a call.
            var isResolved: Bool { settings.isResolved }
            /// The options of the call; before the call, those that it would have with default settings of the client.
            var options: HTTPDNSClient.Request.Options {
                _read {
                    if isResolved { yield settings.options } else { yield settings.resolved(from: .none).options }
                }
            }
            /// The options of a call that has begun.
            var callOptions: HTTPDNSClient.Request.Options { _read { yield settings.options } }
            /// The options of a call that has begun, which a client has too.
            var shared: HTTPDNSClient.Options { _read { yield settings.options.shared } }
            var onInterimResponse: (@Sendable (HTTPDNSClient.InterimResponse) -> Void)? { settings.onInterimResponse }
            var observer: (@Sendable (HTTPDNSClient.RequestEvent) async -> Void)? { settings.observer }
            var interceptors: InterceptorChain { settings.interceptors }
            var properties: [ObjectIdentifier: StoredProperty] { settings.properties }
        }

        /// The settings of one request that most requests do not have.
        struct OwnSettings: Sendable {
            var options = HTTPDNSClient.Request.Options()
            /// The changes of the options of a call. A request that begins another call makes them again.
            var changes: [HTTPDNSClient.Request.Options.Change] = []
            /// Whether ``options`` are those of a call, with all changes.
            var isResolved = false
            var onInterimResponse: (@Sendable (HTTPDNSClient.InterimResponse) -> Void)?
            var observer: (@Sendable (HTTPDNSClient.RequestEvent) async -> Void)?
            var interceptors = InterceptorChain()
            var properties: [ObjectIdentifier: StoredProperty] = [:]

            var hasOptionsAlone: Bool {
                changes.isEmpty && onInterimResponse == nil && observer == nil && interceptors.isEmpty
                    && properties.isEmpty
            }

            /// Returns the settings with the options of a call in place of changes.
            consuming func resolved(from base: SharedOptions) -> OwnSettings {
                options = base.options
                isResolved = true
                for change in changes { change(&options) }
                return self
            }
        }

        /// Returns the request with the options of a call.
        /// - Parameter base: The options of the client, or of the call that the request becomes a part of.
        consuming func resolved(from base: SharedOptions) -> HTTPDNSClient.Request {
            guard own?.isResolved != true else { return self }
            own = own.map { SharedOptions($0.settings.resolved(from: base)) } ?? base.optionsAlone
            return self
        }

        /// The request without the options of the call that it was a part of, for a call of its own.
        var beginningCall: HTTPDNSClient.Request {
            guard own?.isResolved == true else { return self }
            var request = self
            request.changeOwn { $0.isResolved = false }
            return request
        }

        mutating func changeOwn(_ change: (inout OwnSettings) -> Void) {
            var settings = own?.settings ?? OwnSettings()
            change(&settings)
            own = SharedOptions(settings)
        }

        /// The options of this request; nil for most requests, which have those of the client.
        var own: SharedOptions?

        /// Creates a request.
        ///
        /// ```swift
        /// let request = HTTPDNSClient.Request(url: url) { $0.timeouts.total = .seconds(2) }
        /// ```
        /// - Parameters:
        ///   - method: The method.
        ///   - url: The absolute http or https URL.
        ///   - headerFields: The header fields.
        ///   - body: The body.
        ///   - change: A closure that changes the client's options for the call, see ``changeOptions(_:)``.
        public init(
            method: HTTPRequest.Method = .get,
            url: String,
            headerFields: HTTPFields = [:],
            body: HTTPDNSClient.Request.Body = .none,
            _ change: HTTPDNSClient.Request.Options.Change? = nil
        ) {
            self.method = method
            self.url = url
            self.headerFields = headerFields
            self.body = body
            if let change { changeOptions(change) }
        }

        /// Creates a request with the options of a call, whatever those of the client.
        init(
            method: HTTPRequest.Method = .get,
            url: String,
            headerFields: HTTPFields = [:],
            body: HTTPDNSClient.Request.Body = .none,
            options: HTTPDNSClient.Request.Options
        ) {
            self.init(method: method, url: url, headerFields: headerFields, body: body)
            own = SharedOptions(options)
        }
    }
}

// The settings of one request that most requests do not have.
extension HTTPDNSClient.Request {
    /// A closure that receives the events of this call, with its redirects and retries; nil for none, which is the default.
    ///
    /// It gets the events as ``HTTPDNSObserver/observe(_:)`` of an observer of all kinds does.
    ///
    /// The first request of the call decides: an observer that an interceptor sets has no effect.
    public var observer: (@Sendable (HTTPDNSClient.RequestEvent) async -> Void)? {
        get { own?.observer }
        set { changeOwn { $0.observer = newValue } }
    }

    /// A closure that receives the interim responses (1xx) to this request; nil drops them, which is the default.
    ///
    /// It is called in a task of its own, never on the loop thread and never under a lock. It is called for one response at
    /// a time, in the order of arrival, and for each hop of the call: redirects and retries have their own. Each of its
    /// calls returns before the final response, or the error, of its hop is delivered, so a slow closure delays that. The
    /// call does not wait for the closure when its task is canceled or its time limit has passed. At most 64 responses
    /// wait for a slow closure; more are dropped.
    ///
    /// A request that is hedged may report the responses to both copies. A status of 101 is not interim here: it ends the
    /// call with ``HTTPDNSClientError/Code/protocolViolation``.
    public var onInterimResponse: (@Sendable (HTTPDNSClient.InterimResponse) -> Void)? {
        get { own?.onInterimResponse }
        set { changeOwn { $0.onInterimResponse = newValue } }
    }

    /// The interceptors of this call alone that run once per call, inside those of the client. The list is read when the
    /// call begins: one that an interceptor changes has no effect.
    public var applicationInterceptors: [any HTTPDNSClient.Interceptor] {
        get { own?.interceptors.application.map(\.interceptor) ?? [] }
        set { changeOwn { own in own.interceptors.application = Self.entries(newValue) } }
    }

    /// The interceptors of this call alone that run once per hop, inside those of the client. The list is read when the call
    /// begins: one that an interceptor changes has no effect.
    public var networkInterceptors: [any HTTPDNSClient.Interceptor] {
        get { own?.interceptors.network.map(\.interceptor) ?? [] }
        set { changeOwn { own in own.interceptors.network = Self.entries(newValue) } }
    }

    private static func entries(_ interceptors: [any HTTPDNSClient.Interceptor]) -> [InterceptorEntry] {
        var entries: [InterceptorEntry] = []
        for interceptor in interceptors { entries.add(InterceptorEntry(interceptor)) }
        return entries
    }

    /// The value of a property; nil for none.
    public subscript<Property: HTTPDNSClient.RequestProperty>(property: Property.Type) -> Property.Value? {
        get { own?.properties[ObjectIdentifier(property)]?.value as? Property.Value }
        set {
            changeOwn { own in
                own.properties[ObjectIdentifier(property)] = newValue.map { value in
                    StoredProperty(value: value, followsRedirects: property.followsRedirects)
                }
            }
        }
    }

    /// Removes the properties that do not follow redirects.
    mutating func removePropertiesOfHop() {
        guard let own, own.properties.contains(where: { !$0.value.followsRedirects }) else { return }
        changeOwn { own in own.properties = own.properties.filter(\.value.followsRedirects) }
    }
}

extension HTTPDNSClient.Request {
    /// The options of one call: those of the client, which the call may change, and others that only a call has.
    @dynamicMemberLookup
    public struct Options: Hashable, Sendable {
        /// A change of the client's options for one call.
        public typealias Change = @Sendable (inout HTTPDNSClient.Request.Options) -> Void

        /// The options that a client has too. Each of their members is one of this value: `$0.redirects = .off`.
        public var shared: HTTPDNSClient.Options
        /// A member of ``shared``.
        public subscript<Value>(dynamicMember path: WritableKeyPath<HTTPDNSClient.Options, Value>) -> Value {
            _read { yield shared[keyPath: path] }
            _modify { yield &shared[keyPath: path] }
        }
        /// The source of the addresses that the request connects to.
        ///
        /// ```swift
        /// $0.addresses = .only(["203.0.113.9", "[2001:db8::9]:8443"])
        /// ```
        ///
        /// SNI, certificate check and connection pool remain those of the URL's name.
        public var addresses = HTTPDNSClient.Request.Options.Addresses.automatic
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
        /// The priority of the request among those that wait for a connection.
        public var priority = HTTPDNSClient.Request.Priority.normal
        /// The credential for the origin of the request's URL. Nil means that of
        /// ``HTTPDNSClient/Configuration/credentials``; with ``HTTPDNSClient/Credential/off`` a 401 response is returned.
        ///
        /// It is used for this origin only. After a redirect to another origin, that origin's credential in the settings
        /// is used, if there is one. A request with an `Authorization` field, or with user information in its URL, uses no
        /// credential.
        public var credential: HTTPDNSClient.Credential?
        /// The key of the request in a rollout by key (`HTTPDNSRoute.Rollout.Stickiness.key`), such as a user's number.
        /// Nil means the name of the host. Do not put a secret here: the value appears when the options are printed.
        public var rolloutKey: String?
        /// The Unix socket of the client.
        private(set) var clientSocket: String?
        /// Whether the call ends before the first byte of the request is sent, see
        /// ``HTTPDNSClient/proveIdentity(of:at:timeLimit:)``.
        package var stopsBeforeSending = false
        /// Whether the connection is kept with ``stopsBeforeSending``, see
        /// ``HTTPDNSClient/preconnect(to:connections:_:)``.
        var keepsConnection = false
        /// Whether the body of a response over HTTP/1.1 keeps its chunked coding.
        package var keepsChunks = false
        /// Whether the response has ``HTTPDNSClient/Response/sentFields``.
        var notesSentFields = false

        /// Creates the options of a client with the default settings.
        public init() { shared = HTTPDNSClient.Options() }

        /// Creates the options of a call that changes nothing.
        init(_ shared: HTTPDNSClient.Options) {
            self.shared = shared
            clientSocket = shared.unixSocket
        }

        /// Whether nothing here changes the query for the host.
        var leavesQuery: Bool {
            if case .automatic = addresses.content { families == nil && rolloutKey == nil } else { false }
        }

        /// Removes what belongs to one origin.
        mutating func forgetOrigin(keepsAddresses: Bool = false) {
            hostHeader = nil
            if shared.unixSocket != nil { shared.unixSocket = clientSocket }
            if !keepsAddresses, addresses.targets != nil { addresses = .automatic }
            if credential?.isOff != true { credential = nil }
        }
    }
}

extension HTTPDNSClient.Request.Options {
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

// Requests and responses hold passwords, tokens and cookies. Their printed, interpolated, dumped or reflected form
// shows method, URL, status and field names, and nothing of a value or a body.
extension HTTPDNSClient.Request: HTTPDNSRedacted {
    /// The method, the URL without user information and query, and the names of the header fields.
    public var description: String {
        "\(method.rawValue) \(URLText.forErrors(url)), \(headerFields.namesText), \(body)"
    }
}

extension HTTPFields {
    /// The names of the fields, for texts without their values.
    var namesText: String {
        isEmpty ? "no fields" : "fields " + map(\.name.rawName).joined(separator: ", ")
    }
}
