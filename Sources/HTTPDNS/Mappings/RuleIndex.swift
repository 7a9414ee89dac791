internal import HTTPDNSPrimitives

/// Rules arranged for look-up by name: one hash for the exact name, one for each dot when there are suffix rules at all.
final class RuleIndex: Sendable {
    typealias Match = (key: MappingKey, mapping: HostMapping)

    /// The rules for one name or suffix.
    struct PortRules: Sendable {
        var anyPort: IndexedRule?
        var byPort: [UInt16: IndexedRule] = [:]

        func rule(for port: UInt16?) -> IndexedRule? {
            if !byPort.isEmpty, let port, let rule = byPort[port] { return rule }
            return anyPort
        }
    }

    private let exact: [HostName: PortRules]
    /// Keyed by the text after `*.`, as a slice, so that a look-up need not copy the rest of a name.
    private let suffixes: [Substring: PortRules]

    init(_ rules: [MappingKey: HostMapping]) {
        var exact: [HostName: PortRules] = [:]
        var suffixes: [Substring: PortRules] = [:]
        for (key, mapping) in rules {
            let rule = IndexedRule(key, mapping)
            switch key.pattern {
            case .exact(let name): exact[name, default: PortRules()].add(rule)
            case .suffix(let name): suffixes[name.description[...], default: PortRules()].add(rule)
            case .any: break
            }
        }
        self.exact = exact
        self.suffixes = suffixes
    }

    /// The rule that decides: exact with port, exact, then the longest suffix, with port before without.
    ///
    /// A nil port stands for a port that no rule names.
    func rule(for host: HostName, port: UInt16?) -> Match? {
        indexedRule(for: host, port: port).map { ($0.key, $0.mapping) }
    }

    /// As ``rule(for:port:)``, with what was prepared for it.
    func indexedRule(for host: HostName, port: UInt16?) -> IndexedRule? {
        if let rule = exact[host]?.rule(for: port) { return rule }
        if suffixes.isEmpty { return nil }
        for zone in host.zonesAbove {
            if let rule = suffixes[zone]?.rule(for: port) { return rule }
        }
        return nil
    }

    /// The ports that rules matching `host` name.
    func ports(for host: HostName) -> Set<UInt16> {
        var ports = Set<UInt16>(exact[host]?.byPort.keys.map { $0 } ?? [])
        for zone in host.zonesAbove { ports.formUnion(suffixes[zone]?.byPort.keys.map { $0 } ?? []) }
        return ports
    }
}

extension RuleIndex.PortRules {
    fileprivate mutating func add(_ rule: IndexedRule) {
        if let port = rule.key.port { byPort[port] = rule } else { anyPort = rule }
    }
}

extension HostName {
    /// What stands after each dot, longest first: `b.c`, `c` for `a.b.c`.
    var zonesAbove: some Sequence<Substring> {
        sequence(state: description.utf8[...]) { rest -> Substring? in
            guard let dot = rest.firstIndex(of: UInt8(ascii: ".")) else { return nil }
            rest = rest[rest.index(after: dot)...]
            return Substring(rest)
        }
    }
}
