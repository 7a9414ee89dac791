public import HTTPDNSPrimitives

/// Which addresses may be dialled, by where they came from. It is asked at use time about the exact list.
///
/// | source | public | private | loopback | special |
/// |---|---|---|---|---|
/// | provider | yes | if the provider's own service is private or loopback | if its service is loopback | no |
/// | mapping, request, system, literal | yes | yes | yes | no |
///
/// A provider speaks for strangers: whoever controls a name there could point it at a service inside the network (DNS
/// rebinding). Mappings, `pinnedTo`, the system resolver and the URL's own literal speak for the operator or the caller.
/// Special addresses lead to the cloud's credentials or to nothing, so nobody may name them without ``allowed``.
public struct AddressPolicy: Hashable, Sendable {
    /// Blocks that are allowed whoever names them. IPv4 blocks do not cover IPv4-mapped IPv6 addresses: name those apart.
    public var allowed: [AddressBlock]
    /// The most private scope that providers may answer, in place of the rule above; nil means that rule.
    /// ``AddressScope/special`` means no more than ``AddressScope/loopback`` here.
    public var providersMayAnswer: AddressScope?

    /// Creates a policy.
    public init(allowed: [AddressBlock] = [], providersMayAnswer: AddressScope? = nil) {
        self.allowed = allowed
        self.providersMayAnswer = providersMayAnswer
    }

    /// Why `address` may not be dialled, or nil when it may.
    /// - Parameters:
    ///   - address: The address that is about to be dialled.
    ///   - source: Who named it.
    ///   - scope: The service scope of the provider that answered; only used for provider answers. Nil counts as public,
    ///     and special (a service on a link-local address) as private.
    public func refusal(
        of address: IPAddress,
        from source: Resolution.Source,
        providerScope scope: AddressScope?
    ) -> String? {
        let (addressScope, name) = SpecialPurposeBlock.classify(address)
        if addressScope == .public || addressScope <= limit(for: source, providerScope: scope) { return nil }
        if allowed.contains(where: { $0.contains(address) }) { return nil }
        let what = "\(address) is \(name ?? addressScope.description)"
        let remedy = "allow it with policy.allow or --allow \(address)"
        if addressScope == .special { return "\(what), which no source may name; \(remedy)" }
        let reason =
            providersMayAnswer.map { "providers_may_answer is \($0)" }
            ?? "the provider's own service is \(scope ?? .public), and its answers may be no more private"
        return "\(what), and \(reason); \(remedy)"
    }

    /// The most private scope that a source may name.
    fileprivate func limit(for source: Resolution.Source, providerScope: AddressScope?) -> AddressScope {
        guard source == .provider else { return .loopback }
        if let providersMayAnswer { return min(providersMayAnswer, .loopback) }
        return providerScope == .special ? .private : providerScope ?? .public
    }
}

extension AddressPolicy {
    /// The most private scope whose addresses may all be dialled; nil when each must be looked at.
    func admittedScope(from source: Resolution.Source, providerScope: AddressScope?, route: Route?) -> AddressScope? {
        limit(for: source, providerScope: providerScope)
    }
}
