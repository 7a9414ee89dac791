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
                defer { own = SharedOptions(options) }
                yield &options
            }
        }

        /// Whether content codings are requested and decoded. A part of a coded body cannot be decoded (RFC 9110
        /// section 14.2).
        var isDecoded: Bool {
            own?.options.decodesBody != false && !headerFields.contains { $0.name == .range }
        }

        /// The options behind a reference, because a request is passed from interceptor to interceptor.
        final class SharedOptions: Sendable {
            static let none = SharedOptions(HTTPDNSClient.Request.Options())

            let options: HTTPDNSClient.Request.Options

            init(_ options: HTTPDNSClient.Request.Options) { self.options = options }
        }

        /// The options of this request; nil for most requests, which have none.
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
