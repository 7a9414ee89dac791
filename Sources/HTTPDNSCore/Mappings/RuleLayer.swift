internal import HTTPDNSPrimitives

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
