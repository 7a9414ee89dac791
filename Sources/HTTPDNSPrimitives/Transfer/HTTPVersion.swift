extension HTTPDNSTransfer {
    /// The HTTP version of a response.
    public struct HTTPVersion: Hashable, Sendable, CustomStringConvertible {
        /// The name of the version, such as `HTTP/1.1` or `HTTP/2`.
        public let description: String

        /// HTTP/1.0.
        public static let http10 = HTTPDNSTransfer.HTTPVersion(description: "HTTP/1.0")
        /// HTTP/1.1 (RFC 9112).
        public static let http11 = HTTPDNSTransfer.HTTPVersion(description: "HTTP/1.1")
        /// HTTP/2 (RFC 9113).
        public static let http2 = HTTPDNSTransfer.HTTPVersion(description: "HTTP/2")
    }
}
