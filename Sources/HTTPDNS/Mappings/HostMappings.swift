internal import HTTPDNSPrimitives

/// The whole immutable set of rules, numbered by generation.
public struct HostMappings: Sendable {
    /// Grows with every change; 1 is the first set.
    public let generation: UInt64
    /// All rules.
    public let rules: [MappingKey: HostMapping]
    /// The same rules, arranged for look-up.
    let index: RuleIndex

    /// A set of rules. `generation` is set by the store that holds it.
    /// - Throws: ``MappingError`` for a rule that holds text which could not be read, `*` as a pattern, port 0, no address,
    ///   one address twice, a weight outside 1 to 1,000,000, a negative time to live, or `via` rules in a circle or in a
    ///   chain of more than 8. Of several bad rules the first by key is named.
    public init(_ rules: [MappingKey: HostMapping] = [:]) throws(MappingError) {
        let index = RuleIndex(rules)
        for (key, mapping) in rules.sorted(by: { $0.key.description < $1.key.description }) {
            if let reason = HostMappings.fault(of: key, mapping, in: index) {
                throw MappingError(key: key.description, reason: reason, location: mapping.location)
            }
        }
        self.init(rules: rules, index: index, generation: 1)
    }

    private init(rules: [MappingKey: HostMapping], index: RuleIndex, generation: UInt64) {
        self.rules = rules
        self.index = index
        self.generation = generation
    }

    /// The same rules under another number.
    func numbered(_ generation: UInt64) -> HostMappings {
        HostMappings(rules: rules, index: index, generation: generation)
    }

    /// The rule for a name on a port: exact with port, exact, then the longest suffix (with port before without).
    public func rule(for host: HostName, port: UInt16) -> (key: MappingKey, mapping: HostMapping)? {
        index.rule(for: host, port: port)
    }

    private static func fault(of key: MappingKey, _ mapping: HostMapping, in index: RuleIndex) -> String? {
        if key.pattern == .any { return MappingKey.anyRefusal }
        if let refusal = key.pattern.zone?.refusalOfRules { return refusal }
        if key.port == 0 { return "port 0 cannot be dialled; ports are 1 to 65535" }
        if let life = mapping.timeToLive, life < .zero { return "its time to live is negative" }
        switch mapping.content {
        case .invalid(let reason): return reason
        case .action(.bypass): return nil
        case .action(.via(let target, _)): return ViaChain.fault(from: key, to: target, in: index)
        case .action(.addresses(let targets)): return fault(of: targets)
        }
    }

    private static func fault(of targets: [HostMapping.Target]) -> String? {
        if targets.isEmpty { return "it has no address; give one at least, or bypass, or via" }
        var seen: Set<AddressAndPort> = []
        for target in targets {
            if target.port == 0 { return "port 0 of \(target.address) cannot be dialled; ports are 1 to 65535" }
            guard (1...WeightedOrder.maximumWeight).contains(target.weight) else {
                return "the weight of \(target.address) is \(target.weight), and weights are 1 to 1000000; "
                    + "leave the address out to send nothing there"
            }
            guard seen.insert(AddressAndPort(address: target.address, port: target.port)).inserted else {
                return "it lists \(target.address) twice; give it once, with a weight for a larger share"
            }
        }
        return nil
    }

    private struct AddressAndPort: Hashable {
        var address: IPAddress
        var port: UInt16?
    }
}
