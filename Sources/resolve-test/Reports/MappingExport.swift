internal import HTTPDNS

/// The rules in the formats of other programs.
struct MappingExport {
    var rules: [(key: HTTPDNSMapping.Key, mapping: HTTPDNSMapping)]

    func text(_ format: ExportFormat) -> String {
        switch format {
        case .hosts: lines(of: hosts)
        case .curl: lines(of: curl)
        case .json: json.indented + "\n"
        }
    }

    private func lines(of format: (HTTPDNSMapping.Key, HTTPDNSMapping) -> [String]) -> String {
        guard !rules.isEmpty else { return "# no mappings\n" }
        return rules.flatMap { format($0.key, $0.mapping) }.map { $0 + "\n" }.joined()
    }

    /// Returns lines with an address and a name; a hosts file has neither ports nor patterns nor weights.
    private func hosts(_ key: HTTPDNSMapping.Key, _ mapping: HTTPDNSMapping) -> [String] {
        guard case .addresses(let targets) = mapping.action else {
            return [comment(key, mapping, "has no addresses of its own")]
        }
        guard case .exact(let name) = key.pattern else {
            return [comment(key, mapping, "a hosts file has no patterns")]
        }
        guard key.port == nil else { return [comment(key, mapping, "a hosts file has no ports")] }
        let width = targets.map { $0.address.description.count }.max() ?? 0
        return targets.map { target in
            let line = "\(target.address.description.padded(to: width))  \(name)"
            let port = target.port.map { "port \($0) is lost" }
            let remarks = [port, target.weight.map { "weight \($0)" }].compactMap { $0 }
            return remarks.isEmpty ? line : "\(line)  # \(remarks.joined(separator: ", "))"
        }
    }

    /// Returns `--resolve HOST:PORT:ADDRESS[,ADDRESS]`, or `--connect-to` if the dialed port is another one.
    private func curl(_ key: HTTPDNSMapping.Key, _ mapping: HTTPDNSMapping) -> [String] {
        guard case .addresses(let targets) = mapping.action else {
            return [comment(key, mapping, "has no addresses of its own")]
        }
        guard case .exact(let name) = key.pattern else { return [comment(key, mapping, "curl has no patterns")] }
        let weights = targets.filter { $0.weight != nil }.map { MappingText.weighted($0) }
        var lines = weights.isEmpty ? [] : ["# \(key): \(weights.joined(separator: ", "))"]
        // curl requires a port; a rule without one is exported for those of http and https.
        for port in key.port.map({ [$0] }) ?? [80, 443] {
            if let first = targets.first, targets.contains(where: { ($0.port ?? port) != port }) {
                if targets.count > 1 { lines.append("# \(key): --connect-to takes one address, the first") }
                let dialled = first.port ?? port
                lines.append("--connect-to \(name):\(port):\(first.address.bracketed):\(dialled)")
            } else {
                let addresses = targets.map(\.address.bracketed).joined(separator: ",")
                lines.append("--resolve \(name):\(port):\(addresses)")
            }
        }
        return lines
    }

    private func comment(_ key: HTTPDNSMapping.Key, _ mapping: HTTPDNSMapping, _ reason: String) -> String {
        "# \(key): \(MappingText.text(mapping)) (\(reason))"
    }

    /// A whole configuration file, which gives the same rules when it is read again.
    private var json: JSONValue {
        .object([
            ("version", .integer(1)),
            ("mappings", .object(rules.map { ("\($0.key)", value($0.mapping)) })),
        ])
    }

    private func value(_ mapping: HTTPDNSMapping) -> JSONValue {
        var members: [(name: String, value: JSONValue)] = []
        switch mapping.action {
        case .addresses(let targets):
            let addresses = value(targets)
            if mapping.timeToLive == nil, case .array = addresses { return addresses }
            members.append(("addresses", addresses))
        case .via(let name, takesIdentity: true):
            members.append(("via", .object([("host", .text("\(name)")), ("keep", .array([.text("host")]))])))
        case .via(let name, takesIdentity: false):
            members.append(("via", .text("\(name)")))
        case .bypass:
            return .text("bypass")
        case .lastResort(let targets):
            members.append(("last_resort", value(targets)))
        case nil:
            return .null
        }
        if let timeToLive = mapping.timeToLive { members.append(("ttl", .text(Self.duration(timeToLive)))) }
        return .object(members)
    }

    /// Returns a list, or with weights an object.
    private func value(_ targets: [HTTPDNSMapping.Target]) -> JSONValue {
        let shares = targets.compactMap { target in
            target.weight.map { (name: MappingText.target(target), value: JSONValue.integer($0)) }
        }
        return shares.isEmpty ? .array(targets.map { .text(MappingText.target($0)) }) : .object(shares)
    }

    /// Returns a duration in the form of the configuration file.
    private static func duration(_ duration: Duration) -> String {
        let (seconds, attoseconds) = duration.components
        return attoseconds == 0 ? "\(seconds)s" : "\(seconds * 1000 + attoseconds / 1_000_000_000_000_000)ms"
    }
}
