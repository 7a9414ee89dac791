extension HTTPDNSTransfer {
    /// The HTTP version that a response came over.
    public struct HTTPVersion: Hashable, Sendable, CustomStringConvertible {
        /// The name that the version goes by: `HTTP/1.1`, `HTTP/2`.
        public let description: String

        /// HTTP/1.0.
        public static let http10 = HTTPDNSTransfer.HTTPVersion(description: "HTTP/1.0")
        /// HTTP/1.1 (RFC 9112).
        public static let http11 = HTTPDNSTransfer.HTTPVersion(description: "HTTP/1.1")
        /// HTTP/2 (RFC 9113).
        public static let http2 = HTTPDNSTransfer.HTTPVersion(description: "HTTP/2")
    }
}
