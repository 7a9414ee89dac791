public import HTTPDNSPrimitives

/// How far an address reaches; a larger scope is more private.
public enum AddressScope: Int, Hashable, Comparable, Sendable {
    /// Reachable from anywhere.
    case `public`
    /// A network's own (RFC 1918, RFC 4193, RFC 6598 and the like).
    case `private`
    /// This machine's own.
    case loopback
    /// Link-local, metadata, unspecified, multicast, broadcast: needs an explicit allow from everyone.
    case special

    /// The more public scope is the smaller one.
    public static func < (left: AddressScope, right: AddressScope) -> Bool { left.rawValue < right.rawValue }

    /// The scope of an address. IPv4-mapped and NAT64 forms have the scope of the IPv4 address inside.
    public init(of address: IPAddress) { fatalError("seam") }
}

/// Which addresses may be dialled, by where they came from. It is asked at use time about the exact list.
public struct AddressPolicy: Hashable, Sendable {
    /// Blocks that are allowed whoever names them.
    public var allowed: [AddressBlock]
    /// The most private scope that providers may answer; nil means the scope of the provider's own service address.
    public var providersMayAnswer: AddressScope?

    /// Creates a policy.
    public init(allowed: [AddressBlock] = [], providersMayAnswer: AddressScope? = nil) {
        self.allowed = allowed
        self.providersMayAnswer = providersMayAnswer
    }

    /// Why `address` may not be dialled, or nil when it may.
    /// - Parameter scope: The service scope of the provider that answered; only used for provider answers.
    public func refusal(of address: IPAddress, from source: Resolution.Source, providerScope scope: AddressScope?)
        -> String?
    {
        fatalError("seam")
    }
}
