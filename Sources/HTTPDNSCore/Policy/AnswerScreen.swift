// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

internal import HTTPDNSPrimitives

/// The address policy as it judges the answers of one lookup.
///
/// An answer of which it refuses every address is a failure of its source.
struct AnswerScreen: Sendable {
    let policy: HTTPDNSAddressPolicy
    /// The routes whose rules about addresses count, at least one element. An address is refused only by all of them.
    let routes: [HTTPDNSRoute?]

    /// Returns the refusal of an answer with these addresses; nil when one of them is allowed, or there is none.
    func refusal(
        of addresses: [HTTPDNSAddress],
        from source: HTTPDNSResolver.Resolution.Source,
        providerScope: HTTPDNSAddressPolicy.Scope?,
        provider: String?
    ) -> AddressRefusal.Summary? {
        var refused: [(address: HTTPDNSAddress, refusal: AddressRefusal)] = []
        for address in addresses {
            guard let refusal = reason(of: address, from: source, providerScope: providerScope, provider: provider)
            else { return nil }
            refused.append((address, refusal))
        }
        return refused.isEmpty ? nil : AddressRefusal.summary(refused)
    }

    /// Returns whether the answer has an address that is allowed.
    func allowsPart(of answer: CachedAnswer) -> Bool {
        guard let origin = answer.origin else { return false }
        let addresses = answer.addresses + (answer.httpsRecords?.endpoints.map(\.address) ?? [])
        return addresses.contains { address in
            reason(
                of: address,
                from: origin.source,
                providerScope: origin.providerScope,
                provider: origin.provider
            ) == nil
        }
    }

    /// Returns the reason that an address is refused; nil when it is allowed.
    func reason(
        of address: HTTPDNSAddress,
        from source: HTTPDNSResolver.Resolution.Source,
        providerScope: HTTPDNSAddressPolicy.Scope?,
        provider: String?
    ) -> AddressRefusal? {
        var first: AddressRefusal?
        for route in routes {
            let refusal = policy.reason(
                of: address,
                from: source,
                providerScope: providerScope,
                route: route,
                provider: provider
            )
            guard let refusal else { return nil }
            first = first ?? refusal
        }
        return first
    }
}
