extension HTTPDNSTransfer {
    /// What is spoken with a proxy, and so who looks names up.
    public enum ProxyKind: String, Hashable, Sendable, CaseIterable, CustomStringConvertible {
        /// HTTP in clear text: CONNECT for https (RFC 9110 section 9.3.6), the whole URL as the request's target for http.
        case http
        /// The same over TLS. The proxy's certificate must prove its name.
        case https
        /// SOCKS 4, which knows IPv4 addresses only: names are looked up here.
        case socks4
        /// SOCKS 4 with names, which the proxy looks up.
        case socks4a
        /// SOCKS 5 (RFC 1928) with addresses: names are looked up here.
        case socks5
        /// SOCKS 5 with names, which the proxy looks up.
        case socks5h

        /// The URL scheme that curl has for it.
        public var description: String { rawValue }

        /// Whether HTTP is spoken with it.
        package var isHTTP: Bool { self == .http || self == .https }
        /// Whether the protocol is used with addresses only.
        package var needsAddress: Bool { self == .socks4 || self == .socks5 }
    }
}
