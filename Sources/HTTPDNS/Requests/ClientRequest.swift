public import HTTPTypes

extension HTTPDNSClient {
    /// A request as the caller, and each interceptor, sees it.
    public struct Request: Sendable {
        /// The method. `CONNECT` is refused: it asks for a tunnel and not for a resource.
        public var method: HTTPRequest.Method
        /// The absolute http or https URL, in the caller's spelling. User information in it becomes a Basic credential for
        /// this origin, unless ``headerFields`` has an `Authorization` of its own.
        public var url: String
        /// The header fields. Refused are `Host` (see ``HTTPDNSClient/Request/Options/hostHeader``) and those that frame the
        /// message or belong to one connection, because the client sets them: `Content-Length`, `Transfer-Encoding`,
        /// `Connection`, `Keep-Alive`, `Proxy-Connection`, `Upgrade`; `Trailer`, because there are no request
        /// trailers; `Proxy-Authorization`, which is for proxies (``HTTPDNSClient/Proxy/Credential``); and
        /// `Content-Encoding` beside a body that is ``HTTPDNSClient/Request/Body/compressed(_:)``.
        public var headerFields: HTTPFields
        /// The body.
        public var body: HTTPDNSClient.Request.Body
        /// Settings for this request only.
        public var options: HTTPDNSClient.Request.Options {
            _read { yield own?.options ?? SharedOptions.none.options }
            _modify {
                var options = own?.options ?? HTTPDNSClient.Request.Options()
                defer { own = SharedOptions(options) }
                yield &options
            }
        }

        /// Whether content codings are asked for and taken off: a part of a coded body cannot be decoded (RFC 9110 section
        /// 14.2).
        var isDecoded: Bool {
            own?.options.decodesBody != false && !headerFields.contains { $0.name == .range }
        }

        /// Behind a reference, because a request is passed from stage to stage.
        final class SharedOptions: Sendable {
            static let none = SharedOptions(HTTPDNSClient.Request.Options())

            let options: HTTPDNSClient.Request.Options

            init(_ options: HTTPDNSClient.Request.Options) { self.options = options }
        }

        /// The settings of a request that has any, which most have not.
        private(set) var own: SharedOptions?

        /// Creates a request.
        public init(
            method: HTTPRequest.Method = .get,
            url: String,
            headerFields: HTTPFields = [:],
            body: HTTPDNSClient.Request.Body = .none,
            options: HTTPDNSClient.Request.Options
        ) {
            self.init(method: method, url: url, headerFields: headerFields, body: body)
            own = SharedOptions(options)
        }

        /// Creates a request with the settings of `HTTPDNSClient.Request.Options()`.
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
