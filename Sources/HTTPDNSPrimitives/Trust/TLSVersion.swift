extension HTTPDNSTrust {
    /// A version of TLS.
    public struct TLSVersion: Hashable, Sendable, Comparable, CustomStringConvertible {
        /// The minor version number, after `1.`.
        package let minor: Int

        /// TLS 1.2 (RFC 5246).
        public static let tls12 = HTTPDNSTrust.TLSVersion(minor: 2)
        /// TLS 1.3 (RFC 8446).
        public static let tls13 = HTTPDNSTrust.TLSVersion(minor: 3)

        /// The number: `1.2`, `1.3`.
        public var description: String { "1.\(minor)" }

        /// Returns whether the left version is older.
        public static func < (left: HTTPDNSTrust.TLSVersion, right: HTTPDNSTrust.TLSVersion) -> Bool {
            left.minor < right.minor
        }
    }
}
