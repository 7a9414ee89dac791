internal import HTTPDNSCore

/// Detection of `via` rules that lead back to themselves.
enum ViaCircles {
    /// Returns each circle once, as its names in order, beginning with the rule whose key is the smallest text.
    static func find(in rules: [HTTPDNSMapping.Key: HTTPDNSMapping]) -> [[HTTPDNSMapping.Key]] {
        let viaRules = rules.keys.filter { target(of: rules[$0]) != nil }
        // Two lists of the same file must not differ by the order of a dictionary.
        let starts = viaRules.map { (text: $0.description, key: $0) }.sorted { $0.text < $1.text }.map(\.key)
        var done: Set<Step> = []
        var found: Set<Set<HTTPDNSMapping.Key>> = []
        var circles: [[HTTPDNSMapping.Key]] = []
        for start in starts {
            var path: [Step] = []
            var places: [Step: Int] = [:]
            var step: Step? = Step(key: start, port: start.port)
            while let current = step, !done.contains(current) {
                if let place = places[current] {
                    let circle = path[place...].map(\.key)
                    if found.insert(Set(circle)).inserted { circles.append(circle) }
                    break
                }
                places[current] = path.count
                path.append(current)
                step = target(of: rules[current.key]).flatMap { next(for: $0, port: current.port, in: rules) }
            }
            done.formUnion(path)
        }
        return circles
    }

    /// A rule in the chain of a request to one port; nil means a port that no rule is about.
    private struct Step: Hashable {
        var key: HTTPDNSMapping.Key
        var port: UInt16?
    }

    private static func target(of rule: HTTPDNSMapping?) -> HTTPDNSName? {
        if case .via(let name, takesIdentity: _)? = rule?.action { name } else { nil }
    }

    /// Returns the rule for a name, in the order of ``HTTPDNSMappings/rule(for:port:)``.
    private static func next(for name: HTTPDNSName, port: UInt16?, in rules: [HTTPDNSMapping.Key: HTTPDNSMapping])
        -> Step?
    {
        var patterns: [HTTPDNSRoute.Pattern] = [.exact(name)]
        var rest = name.description[...]
        while let dot = rest.firstIndex(of: ".") {
            rest = rest[rest.index(after: dot)...]
            guard let suffix = try? HTTPDNSName(String(rest)) else { break }
            patterns.append(.suffix(suffix))
        }
        for pattern in patterns {
            for key in [HTTPDNSMapping.Key(pattern, port: port), HTTPDNSMapping.Key(pattern)] where rules[key] != nil {
                return Step(key: key, port: port)
            }
        }
        return nil
    }
}
