// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

public import HTTPDNSPrimitives

/// The addresses that may be dialed, by their source. The policy is applied to the exact list when it is used.
///
/// | source | public | private | loopback | special |
/// |---|---|---|---|---|
/// | provider | yes | with `answerScope` `.private` or `.loopback` | with `answerScope` `.loopback` | no |
/// | system resolver in place of a route's providers | yes | as the route's providers | as the route's providers | no |
/// | mapping, request, literal, system resolver otherwise | yes | yes | yes | no |
///
/// A provider also answers for names that attackers own, and these may point at a service inside the network (DNS rebinding).
/// So its answers must be public, unless its settings (``HTTPDNSProvider/answerScope``) allow more. Mappings, a
/// request's own addresses, the system resolver's own names and the URL's literal are the choice of the operator or the
/// caller. Special addresses lead to the cloud's credentials or to no host at all, so every source needs ``allowed`` for them.
///
/// A route can widen this for its names (``HTTPDNSRoute/allowed``), and narrow it (``HTTPDNSRoute/only``). The blocks in
/// ``denied`` are refused in every case.
public struct HTTPDNSAddressPolicy: Hashable, Sendable {
    /// Blocks that are allowed from every source.
    ///
    /// IPv4 blocks do not cover IPv4-mapped IPv6 addresses: list those separately.
    public var allowed: [HTTPDNSAddressBlock]
    /// Blocks that are refused from every source, mappings and a request's own addresses included, and for proxies.
    ///
    /// They win over ``allowed`` and ``HTTPDNSRoute/allowed``. An IPv4 block also covers its addresses inside IPv6 addresses:
    /// IPv4-compatible, IPv4-mapped and IPv4-translated ones, NAT64, 6to4 and Teredo. Names that a proxy looks up itself are
    /// not covered.
    public var denied: [HTTPDNSAddressBlock]

    /// Creates a policy.
    public init(allowed: [HTTPDNSAddressBlock] = [], denied: [HTTPDNSAddressBlock] = []) {
        self.allowed = allowed
        self.denied = denied
    }

    /// Returns the reason that `address` may not be dialed; nil when it may.
    /// - Parameters:
    ///   - address: The address that is about to be dialed.
    ///   - source: The source of the address.
    ///   - scope: The most private scope that the provider may answer (``HTTPDNSProvider/answerScope``); nil counts as public.
    ///     For an answer of the system resolver in place of a route's providers: the most public of their scopes; nil for its
    ///     other answers. Other sources do not use it.
    ///   - route: The route of the name, for every source; nil when there is none. Its ``HTTPDNSRoute/allowed`` blocks are
    ///     added to those of the policy. Its ``HTTPDNSRoute/only`` blocks hold for every source but two: a request that names
    ///     its addresses itself, and an address in the URL, which has no name.
    ///   - provider: The name of the provider, for the text.
    public func refusal(
        of address: HTTPDNSAddress,
        from source: HTTPDNSResolver.Resolution.Source,
        providerScope scope: HTTPDNSAddressPolicy.Scope?,
        route: HTTPDNSRoute? = nil,
        provider: String? = nil
    ) -> String? {
        let source = AddressSource(source: source, scope: scope, provider: provider)
        return reason(of: address, from: source, route: route)?.text(of: address)
    }

    /// Returns the reason that `address` may not be dialed, as ``refusal(of:from:providerScope:route:provider:)`` does.
    func reason(of address: HTTPDNSAddress, from source: AddressSource, route: HTTPDNSRoute?) -> AddressRefusal? {
        if let denial = deniedBlock(of: address) { return denial }
        let purpose = SpecialPurpose.of(address)
        if let purpose, purpose.scope > limit(for: source),
            !allowed.contains(where: { $0.contains(address) }),
            route?.allowed.contains(where: { $0.contains(address) }) != true
        {
            return refusal(of: purpose, from: source)
        }
        guard let route, Self.isBound(source.source, by: route), !route.only.contains(where: { $0.contains(address) })
        else {
            return nil
        }
        return refusal(by: route)
    }

    /// Returns whether every address up to `scope` may be dialed, so that single addresses need no check.
    ///
    /// False does not mean that any address is refused: separately allowed blocks are not considered.
    /// - Parameters:
    ///   - scope: The most private scope among the addresses.
    ///   - source: The source of the addresses.
    ///   - providerScope: As for ``refusal(of:from:providerScope:route:provider:)``.
    ///   - route: As for ``refusal(of:from:providerScope:route:provider:)``.
    public func admits(
        everythingOfScope scope: HTTPDNSAddressPolicy.Scope,
        from source: HTTPDNSResolver.Resolution.Source,
        providerScope: HTTPDNSAddressPolicy.Scope?,
        route: HTTPDNSRoute? = nil
    ) -> Bool {
        denied.isEmpty && scope <= limit(for: AddressSource(source: source, scope: providerScope))
            && !(route.map { Self.isBound(source, by: $0) } ?? false)
    }

    /// Returns the reason that ``denied`` refuses `address`; nil when it does not.
    package func denial(of address: HTTPDNSAddress) -> String? { deniedBlock(of: address)?.text(of: address) }

    private func deniedBlock(of address: HTTPDNSAddress) -> AddressRefusal? {
        if denied.isEmpty { return nil }
        let readings = [address] + SpecialPurpose.embeddedIPv4(in: address)
        guard let block = denied.first(where: { readings.contains(where: $0.contains) }) else { return nil }
        return AddressRefusal(
            reason: "in the block \(block) of policy.deny, which wins over every allow",
            remedy: "allow it by removing the block there"
        )
    }

    private static func isBound(_ source: HTTPDNSResolver.Resolution.Source, by route: HTTPDNSRoute) -> Bool {
        !route.only.isEmpty && source != .request && source != .literal
    }

    private func refusal(of purpose: SpecialPurpose, from source: AddressSource) -> AddressRefusal {
        guard purpose.scope != .special else {
            return AddressRefusal(
                reason: "\(purpose.text), which no source may name",
                remedy: "policy.allow, or the route's allow",
                isSetting: true
            )
        }
        let limit = limit(for: source)
        let kinds = limit == .public ? "public addresses only" : "\(limit) and more public addresses only"
        let name = source.provider.map { " \"\($0)\"" } ?? ""
        let reason =
            source.source == .system
            ? "the system resolver answered in place of providers that may answer \(kinds)"
            : "\(source.provider == nil ? "the " : "")provider\(name) may answer \(kinds)"
        return AddressRefusal(
            reason: "\(purpose.text); \(reason)",
            remedy: "answer_scope: \(purpose.scope) of the provider (answerScope in code), or policy.allow",
            isSetting: true
        )
    }

    private func refusal(by route: HTTPDNSRoute) -> AddressRefusal {
        // A route may have any number of blocks, and an error has one line.
        let shown = route.only.prefix(4).map(\.description).joined(separator: ", ")
        let more = route.only.count > 4 ? " and \(route.only.count - 4) more" : ""
        let place = route.location.map { " (\($0))" } ?? ""
        return AddressRefusal(
            reason: "outside the only blocks of route \"\(route.pattern)\"\(place): \(shown)\(more)",
            remedy: "add its block to the route's only"
        )
    }

    /// Returns the most private scope that a source may name.
    private func limit(for source: AddressSource) -> HTTPDNSAddressPolicy.Scope {
        switch source.source {
        case .provider: min(source.scope ?? .public, .loopback)
        // Without a scope the system resolver does not replace any provider.
        case .system: min(source.scope ?? .loopback, .loopback)
        default: .loopback
        }
    }
}

extension HTTPDNSAddressPolicy {
    /// Returns the most private scope whose addresses may all be dialed; nil when each must be checked.
    func admittedScope(
        from source: HTTPDNSResolver.Resolution.Source,
        providerScope: HTTPDNSAddressPolicy.Scope?,
        route: HTTPDNSRoute?
    )
        -> HTTPDNSAddressPolicy.Scope?
    {
        [.special, .loopback, .private, .public].first {
            admits(everythingOfScope: $0, from: source, providerScope: providerScope, route: route)
        }
    }
}
