// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

internal import HTTPDNSPrimitives

/// The source of addresses, as far as the address policy depends on it.
struct AddressSource: Sendable {
    var source: HTTPDNSResolver.Resolution.Source
    /// The most private scope that it may answer, see ``HTTPDNSAddressPolicy/refusal(of:from:providerScope:route:provider:)``.
    var scope: HTTPDNSAddressPolicy.Scope?
    /// The provider's name, for the text.
    var provider: String?
}

/// The address policy as it judges the answers of one lookup.
///
/// An answer of which it refuses every address is a failure of its source.
struct AnswerScreen: Sendable {
    let policy: HTTPDNSAddressPolicy
    /// The routes whose rules about addresses count, at least one element. An address is refused only by all of them.
    let routes: [HTTPDNSRoute?]

    /// Returns the refusal of an answer with these addresses; nil when one of them is allowed, or there is none.
    func refusal(of addresses: [HTTPDNSAddress], from source: AddressSource) -> AddressRefusal.Summary? {
        var refused: [(address: HTTPDNSAddress, refusal: AddressRefusal)] = []
        for address in addresses {
            guard let refusal = reason(of: address, from: source) else { return nil }
            refused.append((address, refusal))
        }
        return refused.isEmpty ? nil : AddressRefusal.summary(refused)
    }

    /// Returns whether the answer has an address that is allowed.
    func allowsPart(of answer: CachedAnswer) -> Bool {
        guard let origin = answer.origin else { return false }
        let addresses = answer.addresses + (answer.httpsRecords?.endpoints.map(\.address) ?? [])
        return addresses.contains { reason(of: $0, from: origin.terms.addressSource) == nil }
    }

    /// Returns the reason that an address is refused; nil when it is allowed.
    func reason(of address: HTTPDNSAddress, from source: AddressSource) -> AddressRefusal? {
        var first: AddressRefusal?
        for route in routes {
            guard let refusal = policy.reason(of: address, from: source, route: route) else { return nil }
            first = first ?? refusal
        }
        return first
    }
}
