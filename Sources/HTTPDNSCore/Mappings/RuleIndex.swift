internal import HTTPDNSPrimitives

/// Two sets of rules seen as one: for each key the overlay's rule, else the base's. Changing the overlay costs nothing for
/// the rules of the base, however many these are.
struct RuleIndex: Sendable {
    let base: RuleLayer
    let overlay: RuleLayer

    init(base: RuleLayer, overlay: RuleLayer = .empty) {
        self.base = base
        self.overlay = overlay
    }

    /// Whether no name can have a rule.
    var isEmpty: Bool { base.rules.isEmpty && overlay.rules.isEmpty }

    /// The rule for a key itself.
    subscript(key: HTTPDNSMapping.Key) -> HTTPDNSMapping? {
        overlay.rules[key] ?? (overlay.hidden.contains(key) ? nil : base.rules[key])
    }

    /// The keys of `via` rules. One of the base may be hidden or replaced by the overlay.
    var viaKeys: [HTTPDNSMapping.Key] { base.viaKeys + overlay.viaKeys }

    /// Whether a rule may lead from one name to another.
    var hasVia: Bool { !base.viaKeys.isEmpty || !overlay.viaKeys.isEmpty }

    /// The rules by their keys.
    var rules: [HTTPDNSMapping.Key: HTTPDNSMapping] {
        if overlay.isEmpty { return base.rules }
        var rules = base.rules
        for key in overlay.hidden { rules[key] = nil }
        rules.merge(overlay.rules) { _, overlaid in overlaid }
        return rules
    }

    /// The rule that decides: exact with port, exact, then the longest suffix, with port before without.
    ///
    /// A nil port stands for a port that no rule names.
    func rule(for host: HTTPDNSName, port: UInt16?) -> IndexedRule? {
        if let match = match(overlay.exact(host), base.exact(host), port: port) { return match }
        guard base.hasSuffixes || overlay.hasSuffixes else { return nil }
        for zone in host.zonesAbove {
            let (above, below) = (overlay.suffix(zone), base.suffix(zone))
            if let match = match(above, below, port: port) { return match }
        }
        return nil
    }

    /// The ports that rules matching `host` name.
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
    /// What stands after each dot, longest first: `b.c`, `c` for `a.b.c`.
    var zonesAbove: some Sequence<Substring> {
        sequence(state: description.utf8[...]) { rest -> Substring? in
            guard let dot = rest.firstIndex(of: UInt8(ascii: ".")) else { return nil }
            rest = rest[rest.index(after: dot)...]
            return Substring(rest)
        }
    }
}
