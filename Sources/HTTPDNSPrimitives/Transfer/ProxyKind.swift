extension HTTPDNSTransfer {
    /// The protocol of a proxy, which decides whether the client or the proxy looks names up.
    public enum ProxyKind: String, Hashable, Sendable, CaseIterable, CustomStringConvertible {
        /// HTTP in clear text: CONNECT for https (RFC 9110 section 9.3.6), the whole URL as the request target for http.
        case http
        /// HTTP over TLS, used in the same way. The proxy's certificate must be valid for its name.
        case https
        /// SOCKS 4, which has IPv4 addresses only: the client looks names up.
        case socks4
        /// SOCKS 4 with names, which the proxy looks up.
        case socks4a
        /// SOCKS 5 (RFC 1928) with addresses: the client looks names up.
        case socks5
        /// SOCKS 5 with names, which the proxy looks up.
        case socks5h

        /// The URL scheme that curl uses for it.
        public var description: String { rawValue }

        /// Whether the proxy protocol is HTTP.
        package var isHTTP: Bool { self == .http || self == .https }
        /// Whether the protocol is used with addresses only.
        package var needsAddress: Bool { self == .socks4 || self == .socks5 }
    }
}
