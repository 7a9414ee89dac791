// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

internal import HTTPDNSPrimitives

/// Two layers of rules in one view: for each key the overlay's rule, else the base's.
///
/// The cost of a change of the overlay does not depend on the number of rules in the base.
struct RuleIndex: Sendable {
    let base: RuleLayer
    let overlay: RuleLayer

    init(base: RuleLayer, overlay: RuleLayer = .empty) {
        self.base = base
        self.overlay = overlay
    }

    /// Whether there are no rules at all.
    var isEmpty: Bool { base.rules.isEmpty && overlay.rules.isEmpty }

    /// The rule with exactly this key.
    subscript(key: HTTPDNSMapping.Key) -> HTTPDNSMapping? {
        overlay.rules[key] ?? (overlay.hidden.contains(key) ? nil : base.rules[key])
    }

    /// The keys of `via` rules. The overlay may hide or replace those of the base.
    var viaKeys: [HTTPDNSMapping.Key] { base.viaKeys + overlay.viaKeys }

    /// Whether a rule may lead from one name to another.
    var hasVia: Bool { !base.viaKeys.isEmpty || !overlay.viaKeys.isEmpty }

    /// The rules in effect by their keys.
    var rules: [HTTPDNSMapping.Key: HTTPDNSMapping] {
        if overlay.isEmpty { return base.rules }
        var rules = base.rules
        for key in overlay.hidden { rules[key] = nil }
        rules.merge(overlay.rules) { _, overlaid in overlaid }
        return rules
    }

    /// Returns the rule that decides: exact with port, exact, then the longest suffix, with port before without.
    ///
    /// A nil port means a port that no rule names.
    func rule(for host: HTTPDNSName, port: UInt16?) -> IndexedRule? {
        if let match = match(overlay.exact(host), base.exact(host), port: port) { return match }
        guard base.hasSuffixes || overlay.hasSuffixes else { return nil }
        for zone in host.zonesAbove {
            let (above, below) = (overlay.suffix(zone), base.suffix(zone))
            if let match = match(above, below, port: port) { return match }
        }
        return nil
    }

    /// Returns the ports of rules that match `host`.
    func ports(for host: HTTPDNSName) -> Set<UInt16> { base.ports(for: host).union(overlay.ports(for: host)) }

    private func match(_ above: RuleLayer.PortRules?, _ below: RuleLayer.PortRules?, port: UInt16?) -> IndexedRule? {
        if above == nil, below == nil { return nil }
        func match(_ above: RuleLayer.Entry?, _ below: RuleLayer.Entry?) -> IndexedRule? {
            switch (above, below) {
            case (.rule(let rule), _), (nil, .rule(let rule)): rule
            default: nil
            }
        }
        if let port, let rule = match(above?.byPort[port], below?.byPort[port]) { return rule }
        return match(above?.anyPort, below?.anyPort)
    }
}

extension HTTPDNSName {
    /// The parts after each dot, longest first: `b.c`, `c` for `a.b.c`.
    var zonesAbove: some Sequence<Substring> {
        sequence(state: description.utf8[...]) { rest -> Substring? in
            guard let dot = rest.firstIndex(of: UInt8(ascii: ".")) else { return nil }
            rest = rest[rest.index(after: dot)...]
            return Substring(rest)
        }
    }
}

/// A layer of rules, indexed by name: a lookup hashes the exact name and, if there are suffix rules, the rest after each dot.
///
/// Immutable, so that it can be built without a lock.
final class RuleLayer: Sendable {
    enum Entry: Sendable {
        case rule(IndexedRule)
        /// Hides the rule of the layer below, without a rule here.
        case hidden
    }

    /// The rules for one name or suffix.
    struct PortRules: Sendable {
        var anyPort: Entry?
        var byPort: [UInt16: Entry] = [:]
    }

    static let empty = RuleLayer([:], .overlay)

    let rules: [HTTPDNSMapping.Key: HTTPDNSMapping]
    /// Keys whose rules in the layer below are not in effect.
    let hidden: Set<HTTPDNSMapping.Key>
    /// The keys whose rules lead to other names, which a change elsewhere can break.
    let viaKeys: [HTTPDNSMapping.Key]
    private let exact: [HTTPDNSName: PortRules]
    /// Keyed by the text after `*.`, as a slice, so that a lookup need not copy the rest of a name.
    private let suffixes: [Substring: PortRules]

    init(
        _ rules: [HTTPDNSMapping.Key: HTTPDNSMapping],
        _ origin: HTTPDNSMapping.Origin,
        hiding hidden: Set<HTTPDNSMapping.Key> = []
    ) {
        self.rules = rules
        self.hidden = hidden
        var exact: [HTTPDNSName: PortRules] = [:]
        var suffixes: [Substring: PortRules] = [:]
        var viaKeys: [HTTPDNSMapping.Key] = []
        exact.reserveCapacity(rules.count)
        func add(_ key: HTTPDNSMapping.Key, _ entry: Entry) {
            switch key.pattern {
            case .exact(let name): exact[name, default: PortRules()].add(entry, port: key.port)
            case .suffix(let name): suffixes[name.description[...], default: PortRules()].add(entry, port: key.port)
            case .any: break
            }
        }
        for key in hidden { add(key, .hidden) }
        for (key, mapping) in rules {
            add(key, .rule(IndexedRule(key, mapping, origin)))
            if case .via = mapping.action { viaKeys.append(key) }
        }
        self.exact = exact
        self.suffixes = suffixes
        self.viaKeys = viaKeys
    }

    var isEmpty: Bool { rules.isEmpty && hidden.isEmpty }
    var hasSuffixes: Bool { !suffixes.isEmpty }

    func exact(_ host: HTTPDNSName) -> PortRules? { exact.isEmpty ? nil : exact[host] }

    func suffix(_ zone: Substring) -> PortRules? { suffixes.isEmpty ? nil : suffixes[zone] }

    /// Returns the ports of rules that match `host`.
    func ports(for host: HTTPDNSName) -> Set<UInt16> {
        var ports = Set<UInt16>(exact(host)?.byPort.keys.map { $0 } ?? [])
        guard hasSuffixes else { return ports }
        for zone in host.zonesAbove { ports.formUnion(suffixes[zone]?.byPort.keys.map { $0 } ?? []) }
        return ports
    }
}

extension RuleLayer.PortRules {
    fileprivate mutating func add(_ entry: RuleLayer.Entry, port: UInt16?) {
        if let port { byPort[port] = entry } else { anyPort = entry }
    }
}

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
    let mostPrivateScope: HTTPDNSAddressPolicy.Scope

    init(_ key: HTTPDNSMapping.Key, _ mapping: HTTPDNSMapping, _ origin: HTTPDNSMapping.Origin) {
        self.key = key
        self.mapping = mapping
        self.origin = origin
        guard case .addresses(let targets) = mapping.action, !targets.isEmpty else {
            (answers, weights, families, mostPrivateScope) = ([], [], [], .special)
            return
        }
        families = targets.reduce(into: []) { $0.insert($1.address.family == .v4 ? .v4 : .v6) }
        mostPrivateScope = targets.map { HTTPDNSAddressPolicy.Scope(of: $0.address) }.max() ?? .special
        let applied = HTTPDNSResolver.AppliedMapping(
            key: key,
            origin: origin,
            location: mapping.location,
            targets: targets
        )
        let details = ResolutionDetails(ResolutionDetails.Fields(mapping: applied))
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

/// The answer of a rule with addresses, created once with the set of rules and passed by reference.
///
/// Most requests that a mapping decides need nothing more.
final class MappedAddresses: Sendable {
    /// The targets, in the order to try.
    private let targets: [HTTPDNSMapping.Target]
    /// The details of a resolution by the rule other than its addresses.
    let details: ResolutionDetails
    /// Nanoseconds; `Int64.max` means no expiry.
    let life: Int64
    init(_ targets: [HTTPDNSMapping.Target], details: ResolutionDetails, timeToLive: Duration?) {
        self.targets = targets
        self.details = details
        life = timeToLive?.wholeNanoseconds ?? .max
    }

    /// Returns the endpoints for a query on a port.
    func endpoints(port: UInt16) -> [HTTPDNSEndpoint] {
        targets.map { HTTPDNSEndpoint(address: $0.address, port: $0.port ?? port) }
    }
}
