internal import HTTPDNSPrimitives

/// Rules arranged for look-up by name: one hash for the exact name, one for each dot when there are suffix rules at all.
final class RuleIndex: Sendable {
    typealias Match = (key: MappingKey, mapping: HostMapping)

    /// The rules for one name or suffix.
    struct PortRules: Sendable {
        var anyPort: HostMapping?
        var byPort: [UInt16: HostMapping] = [:]

        func rule(for port: UInt16?) -> (port: UInt16?, mapping: HostMapping)? {
            if let port, let mapping = byPort[port] { return (port, mapping) }
            return anyPort.map { (nil, $0) }
        }
    }

    private let exact: [HostName: PortRules]
    /// Keyed by the text after `*.`, as a slice, so that a look-up need not copy the rest of a name.
    private let suffixes: [Substring: PortRules]

    init(_ rules: [MappingKey: HostMapping]) {
        var exact: [HostName: PortRules] = [:]
        var suffixes: [Substring: PortRules] = [:]
        for (key, mapping) in rules {
            switch key.pattern {
            case .exact(let name): exact[name, default: PortRules()].add(mapping, port: key.port)
            case .suffix(let name): suffixes[name.description[...], default: PortRules()].add(mapping, port: key.port)
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
        if let (rulePort, mapping) = exact[host]?.rule(for: port) {
            return (MappingKey(.exact(host), port: rulePort), mapping)
        }
        for zone in host.zonesAbove where !suffixes.isEmpty {
            if let (rulePort, mapping) = suffixes[zone]?.rule(for: port) {
                return (MappingKey(.suffix(HostName(canonical: String(zone))), port: rulePort), mapping)
            }
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
    fileprivate mutating func add(_ mapping: HostMapping, port: UInt16?) {
        if let port { byPort[port] = mapping } else { anyPort = mapping }
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
