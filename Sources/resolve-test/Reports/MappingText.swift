internal import HTTPDNSClient

/// The rules of a set in the order in which they were written, those without a line last and by name.
enum MappingOrder {
    static func sorted(_ rules: [MappingKey: HostMapping]) -> [(key: MappingKey, mapping: HostMapping)] {
        rules.map { (key: $0.key, mapping: $0.value) }.sorted { left, right in
            let (first, second) = (order(left), order(right))
            return (first.line, first.column, first.key) < (second.line, second.column, second.key)
        }
    }

    private static func order(_ rule: (key: MappingKey, mapping: HostMapping)) -> (line: Int, column: Int, key: String)
    {
        let location = rule.mapping.location
        return (location?.line ?? .max, location?.column ?? .max, "\(rule.key)")
    }
}

/// A rule in words.
enum MappingText {
    static func text(_ mapping: HostMapping) -> String {
        switch mapping.action {
        case .addresses(let targets):
            let isWeighted = Set(targets.map(\.weight)).count > 1
            return targets.map { target($0) + (isWeighted ? " (weight \($0.weight))" : "") }.joined(separator: ", ")
        case .via(let name, takesIdentity: let takesIdentity):
            return takesIdentity ? "via \(name), with its SNI and certificate" : "via \(name)"
        case .bypass: return "bypass"
        case .lastResort(let targets): return "last resort " + targets.map { target($0) }.joined(separator: ", ")
        case nil: return "not readable"
        }
    }

    /// `203.0.113.7`, `2001:db8::7`, `203.0.113.7:8443`, `[2001:db8::7]:8443`.
    static func target(_ target: HostMapping.Target) -> String {
        target.port.map { "\(Endpoint(address: target.address, port: $0))" } ?? "\(target.address)"
    }
}
