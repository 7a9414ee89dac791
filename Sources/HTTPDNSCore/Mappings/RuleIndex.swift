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
