// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

internal import HTTPDNSPrimitives
internal import Synchronization

/// Two layers of rules in one view: for each key the overlay's rule, else the base's.
///
/// The cost of a change of the overlay does not depend on the number of rules in the base.
struct RuleIndex: Sendable {
    let base: RuleLayer
    var overlay = RuleLayer.empty

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
        search(host) { above, below in
            if let port, let rule = visible(above?.byPort[port], below?.byPort[port]) { return rule }
            return visible(above?.anyPort, below?.anyPort)
        }
    }

    /// Returns the rule for exactly this name when there is no overlay. It is found without a copy of the tables.
    func onlyRule(for host: HTTPDNSName, port: UInt16) -> IndexedRule? {
        overlay.isEmpty ? base.exactRule(for: host, port: port) : nil
    }

    /// Returns the ports of rules that match `host`.
    func ports(for host: HTTPDNSName) -> Set<UInt16> { base.ports(for: host).union(overlay.ports(for: host)) }

    /// Returns whether a rule decides about `host` on any port.
    func hasRule(for host: HTTPDNSName) -> Bool {
        search(host) { above, below -> IndexedRule? in
            if let rule = visible(above?.anyPort, below?.anyPort) { return rule }
            for (_, entry) in above?.byPort ?? [:] {
                if let rule = visible(entry, nil) { return rule }
            }
            for (port, entry) in below?.byPort ?? [:] {
                if let rule = visible(above?.byPort[port], entry) { return rule }
            }
            return nil
        } != nil
    }

    /// Returns the first rule that `choose` returns: for the exact name, then for the suffixes, the longest first.
    ///
    /// It is called only where there are rules, with those of the overlay and those of the base.
    @inline(__always)
    private func search(
        _ host: HTTPDNSName,
        _ choose: (_ above: RuleLayer.PortRules?, _ below: RuleLayer.PortRules?) -> IndexedRule?
    ) -> IndexedRule? {
        host.withUTF8 { name in
            let hash = host.nameHash
            if let rule = self.choose(overlay.exact, base.exact, name, hash, choose) { return rule }
            guard base.hasSuffixes || overlay.hasSuffixes else { return nil }
            var start = 0
            while let dot = name[start...].firstIndex(of: UInt8(ascii: ".")) {
                start = dot + 1
                let zone = UnsafeBufferPointer(rebasing: name[start...])
                let hash = NameHash.hash(zone)
                if let rule = self.choose(overlay.suffixes, base.suffixes, zone, hash, choose) { return rule }
            }
            return nil
        }
    }

    @inline(__always)
    private func choose(
        _ overlay: NameTable<RuleLayer.PortRules>,
        _ base: NameTable<RuleLayer.PortRules>,
        _ name: UnsafeBufferPointer<UInt8>,
        _ hash: UInt64,
        _ choose: (RuleLayer.PortRules?, RuleLayer.PortRules?) -> IndexedRule?
    ) -> IndexedRule? {
        let (above, below) = (overlay.place(of: name, hash: hash), base.place(of: name, hash: hash))
        if above == nil, below == nil { return nil }
        return choose(above.map { overlay.values[$0] }, below.map { base.values[$0] })
    }

    /// Returns the rule of two entries for one key: that of the overlay, which may also hide the base's.
    private func visible(_ above: RuleLayer.Entry?, _ below: RuleLayer.Entry?) -> IndexedRule? {
        switch (above, below) {
        case (.rule(let rule), _), (nil, .rule(let rule)): rule
        default: nil
        }
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
    let exact: NameTable<PortRules>
    /// Keyed by the name after `*.`.
    let suffixes: NameTable<PortRules>

    init(
        _ rules: [HTTPDNSMapping.Key: HTTPDNSMapping],
        _ origin: HTTPDNSMapping.Origin,
        hiding hidden: Set<HTTPDNSMapping.Key> = []
    ) {
        self.rules = rules
        self.hidden = hidden
        var exact = NameTable<PortRules>(minimumCapacity: rules.count + hidden.count)
        var suffixes = NameTable<PortRules>()
        var viaKeys: [HTTPDNSMapping.Key] = []
        func add(_ key: HTTPDNSMapping.Key, _ entry: Entry) {
            switch key.pattern {
            case .exact(let name):
                exact.change(exact.place(of: name, adding: PortRules())) { $0.add(entry, port: key.port) }
            case .suffix(let name):
                suffixes.change(suffixes.place(of: name, adding: PortRules())) { $0.add(entry, port: key.port) }
            case .any: break
            }
        }
        for key in hidden { add(key, .hidden) }
        for (key, mapping) in rules {
            WorkPace.pauseIfDue()
            add(key, .rule(IndexedRule(key, mapping, origin)))
            if case .via = mapping.action { viaKeys.append(key) }
        }
        self.exact = exact
        self.suffixes = suffixes
        self.viaKeys = viaKeys
    }

    var isEmpty: Bool { rules.isEmpty && hidden.isEmpty }

    /// The rules in the index, in no order.
    var indexed: [IndexedRule] {
        (exact.values + suffixes.values).flatMap { [$0.anyPort] + $0.byPort.values.map(Optional.some) }
            .compactMap { if case .rule(let rule)? = $0 { rule } else { nil } }
    }

    /// Returns the rule for exactly this name: the one for the port before the one for any port.
    func exactRule(for host: HTTPDNSName, port: UInt16) -> IndexedRule? {
        guard let place = exact.place(of: host) else { return nil }
        if !exact.values[place].byPort.isEmpty, case .rule(let rule)? = exact.values[place].byPort[port] { return rule }
        if case .rule(let rule)? = exact.values[place].anyPort { return rule }
        return nil
    }

    var hasSuffixes: Bool { !suffixes.isEmpty }

    /// Returns the ports of rules that match `host`.
    func ports(for host: HTTPDNSName) -> Set<UInt16> {
        var ports: Set<UInt16> = []
        if let place = exact.place(of: host) { ports.formUnion(exact.values[place].byPort.keys) }
        guard hasSuffixes else { return ports }
        for zone in host.zonesAbove {
            guard let place = suffixes.place(of: HTTPDNSName(canonical: String(zone))) else { continue }
            ports.formUnion(suffixes.values[place].byPort.keys)
        }
        return ports
    }
}

extension RuleLayer.PortRules {
    fileprivate mutating func add(_ entry: RuleLayer.Entry, port: UInt16?) {
        if let port { byPort[port] = entry } else { anyPort = entry }
    }
}

/// A rule in the index, with the checked properties of its addresses.
///
/// A resolution by the rule refers to it, and creates lists and texts when they are read.
final class IndexedRule: Sendable {
    let key: HTTPDNSMapping.Key
    let mapping: HTTPDNSMapping
    /// The layer of the rule.
    let origin: HTTPDNSMapping.Origin
    /// The addresses of the rule; empty for rules without addresses.
    let targets: [HTTPDNSMapping.Target]
    /// Nanoseconds; `Int64.max` means no expiry.
    let life: Int64
    /// The address families of its targets.
    let families: HTTPDNSAddress.Families
    /// Whether the targets have at most two orders, so that a number tells which one a query has: not for more than two
    /// targets with weights, and not without addresses.
    let isPrepared: Bool
    /// The number of the settings whose address policy allows all targets (``ResolvingSettings/number``); 0 when none is known.
    private let allowedUnder = Atomic<UInt64>(0)

    init(_ key: HTTPDNSMapping.Key, _ mapping: HTTPDNSMapping, _ origin: HTTPDNSMapping.Origin) {
        self.key = key
        self.mapping = mapping
        self.origin = origin
        life = mapping.timeToLive?.wholeNanoseconds ?? .max
        guard case .addresses(let targets) = mapping.action, !targets.isEmpty else {
            (targets, families, isPrepared) = ([], [], false)
            return
        }
        var families: HTTPDNSAddress.Families = []
        for target in targets { families.insert(target.address.family == .v4 ? .v4 : .v6) }
        self.targets = targets
        self.families = families
        isPrepared = targets.count <= 2 || !targets.areWeighted
    }

    /// Returns whether a policy allows all targets, for names without address rules of routes.
    ///
    /// The addresses are checked once for each settings, or more often where several resolvers have the rule.
    /// - Parameter number: The number of the policy's settings, which no other settings of the process have.
    func isAllowed(by policy: HTTPDNSAddressPolicy, under number: UInt64) -> Bool {
        if allowedUnder.load(ordering: .relaxed) == number { return true }
        let isAllowed = targets.allSatisfy {
            policy.refusal(of: $0.address, from: .mapping, providerScope: nil) == nil
        }
        if isAllowed { allowedUnder.store(number, ordering: .relaxed) }
        return isAllowed
    }

    /// Returns whether one query has the targets of a prepared rule in the reverse order.
    /// - Parameter random: As for ``WeightedOrder/arrange(_:random:)``, and called as often.
    func drawsReverse(random: (UInt64) -> UInt64) -> Bool {
        guard targets.count == 2, targets.areWeighted else { return false }
        return random(targets[0].share + targets[1].share) >= targets[0].share
    }

    /// Returns the endpoints for a query on a port.
    func endpoints(isReversed: Bool, port: UInt16) -> [HTTPDNSEndpoint] {
        let endpoints = targets.map { HTTPDNSEndpoint(address: $0.address, port: $0.port ?? port) }
        return isReversed ? endpoints.reversed() : endpoints
    }

    /// The record of the rule in a resolution.
    var applied: HTTPDNSResolver.AppliedMapping {
        HTTPDNSResolver.AppliedMapping(key: key, origin: origin, location: mapping.location, targets: targets)
    }
}
