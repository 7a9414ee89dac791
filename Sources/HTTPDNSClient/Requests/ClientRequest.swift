public import HTTPTypes

/// A request as the caller, and each interceptor, sees it.
public struct ClientRequest: Sendable {
    /// The method. `CONNECT` is refused: it asks for a tunnel and not for a resource.
    public var method: HTTPRequest.Method
    /// The absolute http or https URL, in the caller's spelling. User information in it becomes a Basic credential for
    /// this origin, unless ``headerFields`` has an `Authorization` of its own.
    public var url: String
    /// The header fields. Refused are `Host` (see ``RequestOptions/hostHeader``) and those that frame the message or
    /// belong to one connection, because the client sets them: `Content-Length`, `Transfer-Encoding`, `Connection`,
    /// `Keep-Alive`, `Proxy-Connection`, `Upgrade`; `Trailer`, because there are no request trailers; `Proxy-Authorization`, which is for proxies
    /// (``ProxyCredential``); and `Content-Encoding` beside a body that is ``RequestBody/compressed(_:)``.
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
