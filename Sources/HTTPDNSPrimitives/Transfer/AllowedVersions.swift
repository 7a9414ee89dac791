extension HTTPDNSTransfer {
    /// The HTTP versions that a transfer may use.
    public struct AllowedVersions: Hashable, Sendable, CustomStringConvertible {
        /// The choices. A transfer treats `inherited` as `automatic`: the client replaces it before.
        package enum Kind: Hashable, Sendable {
            case inherited, automatic, http1Only, http10Only, http2Only
        }

        package let kind: Kind

        /// The client's choice, its `versions`: the default of a request's options. A client's own settings refuse this value.
        public static let inherited = HTTPDNSTransfer.AllowedVersions(kind: .inherited)
        /// HTTP/2 if TLS negotiates it (ALPN), else HTTP/1.1. Clear-text requests use HTTP/1.1.
        public static let automatic = HTTPDNSTransfer.AllowedVersions(kind: .automatic)
        /// HTTP/1.1 only.
        public static let http1Only = HTTPDNSTransfer.AllowedVersions(kind: .http1Only)
        /// HTTP/1.0 only. It has no chunked coding: a body must have a known length. Connections serve one request each.
        public static let http10Only = HTTPDNSTransfer.AllowedVersions(kind: .http10Only)
        /// HTTP/2 only.
        ///
        /// Over TLS the server has to select it (ALPN), and no request is sent to a server that does not. A server of
        /// clear-text requests is assumed to support it (RFC 9113 section 3.3).
        public static let http2Only = HTTPDNSTransfer.AllowedVersions(kind: .http2Only)

        /// The name of the choice, such as `http1Only`.
        public var description: String { "\(kind)" }

        package var isInherited: Bool { kind == .inherited }
    }
}
