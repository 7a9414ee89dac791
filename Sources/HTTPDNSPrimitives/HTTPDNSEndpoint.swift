/// An address and the port to dial; the port may differ from the URL's.
public struct HTTPDNSEndpoint: Hashable, Sendable, CustomStringConvertible {
    /// The address to dial.
    public var address: HTTPDNSAddress
    /// The TCP port to dial, 1 to 65535.
    public var port: UInt16

    /// Creates an endpoint.
    public init(address: HTTPDNSAddress, port: UInt16) {
        self.address = address
        self.port = port
    }

    /// `203.0.113.7:443`, or `[2001:db8::7]:443` for IPv6 (RFC 5952 section 6).
    public var description: String {
        "\(address.bracketed):\(port)"
    }
}
