internal import HTTPDNS

/// The rules of a set in the order of their source, those without a line last and by name.
enum MappingOrder {
    static func sorted(_ rules: [HTTPDNSMapping.Key: HTTPDNSMapping]) -> [(
        key: HTTPDNSMapping.Key, mapping: HTTPDNSMapping
    )] {
        rules.map { (key: $0.key, mapping: $0.value) }.sorted { left, right in
            let (first, second) = (order(left), order(right))
            return (first.line, first.column, first.key) < (second.line, second.column, second.key)
        }
    }

    private static func order(_ rule: (key: HTTPDNSMapping.Key, mapping: HTTPDNSMapping)) -> (
        line: Int, column: Int, key: String
    ) {
        let location = rule.mapping.location
        return (location?.line ?? .max, location?.column ?? .max, "\(rule.key)")
    }
}

/// The readable form of a rule.
enum MappingText {
    static func text(_ mapping: HTTPDNSMapping) -> String {
        switch mapping.action {
        case .addresses(let targets):
            return Self.targets(targets)
        case .via(let name, takesIdentity: let takesIdentity):
            return takesIdentity ? "via \(name), with its SNI and certificate" : "via \(name)"
        case .bypass: return "bypass"
        case .lastResort(let targets): return "last resort " + Self.targets(targets)
        case nil: return "not readable"
        }
    }

    private static func targets(_ targets: [HTTPDNSMapping.Target]) -> String {
        targets.map { target($0) + ($0.weight.map { " (weight \($0))" } ?? "") }.joined(separator: ", ")
    }

    /// Returns `203.0.113.7:8443 weight 5`.
    static func weighted(_ target: HTTPDNSMapping.Target) -> String {
        Self.target(target) + (target.weight.map { " weight \($0)" } ?? "")
    }

    /// Returns `203.0.113.7`, `2001:db8::7`, `203.0.113.7:8443`, `[2001:db8::7]:8443`.
    static func target(_ target: HTTPDNSMapping.Target) -> String {
        target.port.map { "\(HTTPDNSEndpoint(address: target.address, port: $0))" } ?? "\(target.address)"
    }
}
