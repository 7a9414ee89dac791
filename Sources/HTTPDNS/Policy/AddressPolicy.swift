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
///
/// A route can widen this for its names (``Route/allowed``), and narrow it (``Route/only``).
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
    ///   - route: The route that the name falls under, whoever answered; nil when there is none. Its ``Route/allowed`` blocks
    ///     are added to those of the policy. Its ``Route/only`` blocks hold for every source but two: a request that names its
    ///     addresses itself (`pinnedTo`) speaks for this one request alone, and an address in the URL has no name.
    public func refusal(
        of address: IPAddress,
        from source: Resolution.Source,
        providerScope scope: AddressScope?,
        route: Route? = nil
    ) -> String? {
        let purpose = SpecialPurpose.of(address)
        if let purpose, purpose.scope > limit(for: source, providerScope: scope),
            !allowed.contains(where: { $0.contains(address) }),
            route?.allowed.contains(where: { $0.contains(address) }) != true
        {
            return refusal(of: address, purpose, providerScope: scope)
        }
        guard let route, Self.isBound(source, by: route), !route.only.contains(where: { $0.contains(address) }) else {
            return nil
        }
        return refusal(of: address, by: route)
    }

    /// Whether every address up to `scope` may be dialled, so that none of them has to be looked at.
    ///
    /// False does not mean that any address is refused: blocks that are allowed apart are not considered.
    /// - Parameters:
    ///   - scope: The most private scope among the addresses.
    ///   - source: Who named them.
    ///   - providerScope: As for ``refusal(of:from:providerScope:route:)``.
    ///   - route: As for ``refusal(of:from:providerScope:route:)``.
    public func admits(
        everythingOfScope scope: AddressScope,
        from source: Resolution.Source,
        providerScope: AddressScope?,
        route: Route? = nil
    ) -> Bool {
        scope <= limit(for: source, providerScope: providerScope)
            && !(route.map { Self.isBound(source, by: $0) } ?? false)
    }

    private static func isBound(_ source: Resolution.Source, by route: Route) -> Bool {
        !route.only.isEmpty && source != .request && source != .literal
    }

    private func refusal(
        of address: IPAddress,
        _ purpose: SpecialPurpose,
        providerScope scope: AddressScope?
    ) -> String {
        let what = "\(address) is \(purpose.text)"
        let remedy = "allow it with policy.allow or --allow \(address)"
        if purpose.scope == .special { return "\(what), which no source may name; \(remedy)" }
        let reason =
            providersMayAnswer.map { "providers_may_answer is \($0)" }
            ?? "the provider's own service is \(scope ?? .public), and its answers may be no more private"
        return "\(what), and \(reason); \(remedy)"
    }

    private func refusal(of address: IPAddress, by route: Route) -> String {
        // A route may have any number of blocks, and an error stays one line.
        let shown = route.only.prefix(4).map(\.description).joined(separator: ", ")
        let more = route.only.count > 4 ? " and \(route.only.count - 4) more" : ""
        let place = route.location.map { " (\($0))" } ?? ""
        return "\(address) is outside the only blocks of route \"\(route.pattern)\"\(place): \(shown)\(more); "
            + "add its block to the route's only"
    }

    /// The most private scope that a source may name.
    private func limit(for source: Resolution.Source, providerScope: AddressScope?) -> AddressScope {
        guard source == .provider else { return .loopback }
        if let providersMayAnswer { return min(providersMayAnswer, .loopback) }
        return providerScope == .special ? .private : providerScope ?? .public
    }
}

extension AddressPolicy {
    /// The most private scope whose addresses may all be dialled; nil when each must be looked at.
    func admittedScope(from source: Resolution.Source, providerScope: AddressScope?, route: Route?) -> AddressScope? {
        [.special, .loopback, .private, .public].first {
            admits(everythingOfScope: $0, from: source, providerScope: providerScope, route: route)
        }
    }
}
