/// The key of a parameter in a record of type SVCB or HTTPS (RFC 9460 section 14.3.2); messages may contain any number.
package struct ServiceParameterKey: Hashable, Comparable, Sendable, CustomStringConvertible {
    package let number: UInt16

    package init(number: UInt16) { self.number = number }

    /// The keys that a client must support to use the record (RFC 9460 section 8).
    package static let mandatory = ServiceParameterKey(number: 0)
    /// The protocols of the service (RFC 9460 section 7.1).
    package static let alpn = ServiceParameterKey(number: 1)
    /// The exclusion of the scheme's default protocol (RFC 9460 section 7.1).
    package static let noDefaultALPN = ServiceParameterKey(number: 2)
    /// The port to connect to (RFC 9460 section 7.2).
    package static let port = ServiceParameterKey(number: 3)
    /// The IPv4 addresses of the target (RFC 9460 section 7.3).
    package static let ipv4Hint = ServiceParameterKey(number: 4)
    /// The settings of Encrypted ClientHello (RFC 9848), which this library does not support.
    package static let ech = ServiceParameterKey(number: 5)
    /// The IPv6 addresses of the target (RFC 9460 section 7.3).
    package static let ipv6Hint = ServiceParameterKey(number: 6)

    /// The supported keys. A record with any other mandatory key is invalid.
    static let implemented: Set<ServiceParameterKey> = [.alpn, .noDefaultALPN, .port, .ipv4Hint, .ipv6Hint]

    package static func < (left: ServiceParameterKey, right: ServiceParameterKey) -> Bool {
        left.number < right.number
    }

    /// The registered name; `key667` for others (RFC 9460 section 2.1).
    package var description: String {
        switch self {
        case .mandatory: "mandatory"
        case .alpn: "alpn"
        case .noDefaultALPN: "no-default-alpn"
        case .port: "port"
        case .ipv4Hint: "ipv4hint"
        case .ech: "ech"
        case .ipv6Hint: "ipv6hint"
        default: "key\(number)"
        }
    }
}
