public import CurlTransport
public import HTTPDNSPrimitives
public import HTTPTypes

/// A request as the caller, and each interceptor, sees it.
public struct ClientRequest: Sendable {
    /// The method.
    public var method: HTTPRequest.Method
    /// The absolute http or https URL, in the caller's spelling.
    public var url: String
    /// The header fields. `Host` is refused: see ``RequestOptions/hostHeader``.
    public var headerFields: HTTPFields
    /// The body.
    public var body: RequestBody
    /// Settings for this request only.
    public var options: RequestOptions

    /// Creates a request.
    public init(
        method: HTTPRequest.Method = .get,
        url: String,
        headerFields: HTTPFields = [:],
        body: RequestBody = .none,
        options: RequestOptions = RequestOptions()
    ) {
        self.method = method
        self.url = url
        self.headerFields = headerFields
        self.body = body
        self.options = options
    }
}

/// Settings for one request.
public struct RequestOptions: Hashable, Sendable {
    /// Addresses to use instead of any other source, each with an optional port: `["203.0.113.9"]`. SNI, certificate check
    /// and connection pool stay those of the URL's name.
    public var pinnedTo: [String]?
    /// Passes over mappings and providers: the system resolver answers.
    public var bypass = false
    /// The total time for the call, resolving included; nil means the client's.
    public var deadline: Duration?
    /// The families allowed; nil means the client's.
    public var families: AddressFamilies?
    /// Sent as Host instead of the URL's own. It never crosses to another hop.
    public var hostHeader: String?
    /// The longest body, after decoding; nil means the client's.
    public var maximumResponseBody: ByteCount?
    /// The HTTP versions allowed; nil means the client's.
    public var versions: HTTPVersionChoice?

    /// Creates options that change nothing.
    public init() {}
}

/// The bytes that a request carries.
public struct RequestBody: Sendable {
    package let source: RequestBodySource

    /// No body.
    public static let none = RequestBody(source: .none)
    /// These bytes. They can be sent again.
    public static func bytes(_ bytes: [UInt8]) -> RequestBody { RequestBody(source: .bytes(bytes)) }
    /// This text in UTF-8.
    public static func text(_ text: String) -> RequestBody { .bytes(Array(text.utf8)) }
    /// A stream that is read once, by the caller's side and never on the loop thread. With a nil length HTTP/1.1 uses
    /// chunked transfer coding.
    public static func stream(
        length: Int64? = nil,
        _ chunks: some AsyncSequence<[UInt8], any Error> & Sendable
    ) -> RequestBody {
        RequestBody(source: .stream(length: length, chunks))
    }

    /// Whether the body can be sent a second time.
    public var isReplayable: Bool {
        if case .stream = source { false } else { true }
    }
}
