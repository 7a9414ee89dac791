internal import HTTPDNSPrimitives

/// A rule in the index, with its prepared answers.
final class IndexedRule: Sendable {
    let key: HTTPDNSMapping.Key
    let mapping: HTTPDNSMapping
    /// The layer of the rule.
    let origin: HTTPDNSMapping.Origin
    /// One answer for each order of the targets. Empty for rules without addresses, and for more than two targets with weights,
    /// which have too many orders.
    private let answers: [MappedAddresses]
    private let weights: [UInt64]
    /// The address families of its targets.
    let families: HTTPDNSAddress.Families
    /// The most private scope among its addresses.
    let widestScope: HTTPDNSAddressPolicy.Scope

    init(_ key: HTTPDNSMapping.Key, _ mapping: HTTPDNSMapping, _ origin: HTTPDNSMapping.Origin) {
        self.key = key
        self.mapping = mapping
        self.origin = origin
        guard case .addresses(let targets) = mapping.action, !targets.isEmpty else {
            (answers, weights, families, widestScope) = ([], [], [], .special)
            return
        }
        families = targets.reduce(into: []) { $0.insert($1.address.family == .v4 ? .v4 : .v6) }
        widestScope = targets.map { HTTPDNSAddressPolicy.Scope(of: $0.address) }.max() ?? .special
        let rule = HTTPDNSResolver.AppliedMapping(
            key: key,
            origin: origin,
            location: mapping.location,
            targets: targets
        )
        let details = ResolutionDetails(ResolutionDetails.Fields(rule: rule))
        let orders: [[HTTPDNSMapping.Target]]
        if targets.count == 1 || !targets.areWeighted {
            orders = [targets]
        } else {
            orders = targets.count == 2 ? [targets, targets.reversed()] : []
        }
        answers = orders.map { MappedAddresses($0, details: details, timeToLive: mapping.timeToLive) }
        weights = targets.map(\.share)
    }

    /// Whether the rule has a prepared answer.
    var isPrepared: Bool { !answers.isEmpty }

    /// Returns the prepared answer for one query; nil when there is none.
    /// - Parameter random: As for ``WeightedOrder/arrange(_:random:)``, and called as often.
    func answer(random: (UInt64) -> UInt64) -> MappedAddresses? {
        guard answers.count > 1 else { return answers.first }
        return answers[random(weights[0] + weights[1]) < weights[0] ? 0 : 1]
    }
}
