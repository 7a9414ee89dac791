extension HTTPDNSClient {
    /// A content coding in which the body of a request can be sent (RFC 9110 section 8.4.1).
    public struct ContentCoding: Hashable, Sendable, CustomStringConvertible {
        /// The coding gzip (RFC 1952), which nearly every server can decode.
        public static let gzip = HTTPDNSClient.ContentCoding(format: .gzip)
        /// The coding that HTTP calls deflate: the format of zlib (RFC 1950). Servers disagree about it; prefer
        /// ``gzip`` where possible.
        public static let deflate = HTTPDNSClient.ContentCoding(format: .zlib)

        // One byte, because every request has room for it.
        private enum Format: UInt8 {
            case gzip, zlib
        }

        private let format: Format

        /// The name in `Content-Encoding`.
        public var description: String { name }

        var name: String {
            switch format {
            case .gzip: "gzip"
            case .zlib: "deflate"
            }
        }

        /// The parameter of zlib: the largest window (15), and 16 more for the gzip format around it.
        var windowBits: Int32 {
            switch format {
            case .gzip: 15 + 16
            case .zlib: 15
            }
        }
    }
}
