extension HTTPDNSTrust {
    /// The certificate authorities at which a TLS server's chain must end.
    public struct Roots: Hashable, Sendable, CustomStringConvertible {
        package enum Source: Hashable, Sendable {
            case system
            case file(String)
        }

        package let source: Source

        /// The system's roots: `SSL_CERT_FILE` if set, else the first bundle that exists of Debian, RHEL or Alpine.
        public static let system = HTTPDNSTrust.Roots(source: .system)

        /// Returns the roots in a PEM file, and no others.
        public static func file(_ path: String) -> HTTPDNSTrust.Roots { HTTPDNSTrust.Roots(source: .file(path)) }

        /// `system`, or the path.
        public var description: String {
            switch source {
            case .system: "system"
            case .file(let path): path
            }
        }
    }
}
