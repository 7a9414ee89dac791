// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

#if CommandLine
internal import ArgumentParser
internal import HTTPDNS

/// `export`: the mappings for other programs.
struct ExportCommand: Subcommand {
    static let configuration = CommandConfiguration(
        commandName: "export",
        abstract: "Print mappings as lines of a hosts file, curl options or JSON.",
        usage: "resolve-test export [<options>] [<FILE>]",
        discussion: """
            Prints the mappings of --config and --map as they were written, and queries no provider. Values that the format \
            does not support become comments. The JSON is a configuration file.
            """
    )

    @Argument(
        help: ArgumentHelp("Configuration file; the same as --config FILE.", valueName: "FILE"),
        completion: .file()
    ) var file: String?
    @Option("--format", "FORMAT", "Output format; hosts if left out, json with --json.") var format: ExportFormat?

    @OptionGroup var mappings: MappingOptions
    @OptionGroup var output: OutputOptions

    func perform(on console: Console) async throws -> Int32 {
        guard file == nil || mappings.configurationFile == nil else {
            throw CommandFailure.usage("export FILE and --config FILE mean the same", hint: "leave one of them out")
        }
        let path = file ?? mappings.configurationFile
        // The settings of a client, of which the others have their defaults.
        let arguments = (path.map { ["--config=\($0)"] } ?? []) + mappings.maps.map { "--map=\($0)" }
        let settings = try ClientSettings(CommonOptions.parse(arguments), environment: console.environment)
        guard settings.readsFile || !mappings.maps.isEmpty else {
            throw CommandFailure.usage("there are no mappings to export", hint: "give FILE or --map HOST=ADDRESS")
        }
        let rules = MappingOrder.sorted(try HTTPDNSMappings(settings.configuration.resolver.mappings).rules)
        let format = format ?? (output.isJSON ? .json : .hosts)
        guard !output.isJSON || format == .json else {
            throw CommandFailure.usage(
                "--json and --format \(format.rawValue) exclude each other",
                hint: "leave one of them out"
            )
        }
        try console.standardOutput.write(MappingExport(rules: rules).text(format))
        return ExitStatus.done
    }
}

/// The values of `--format`.
enum ExportFormat: String, ExpressibleByArgument, CaseIterable, Sendable {
    /// Lines of a hosts file (hosts(5)).
    case hosts
    /// `--resolve` lines, which `curl -K` reads too.
    case curl
    /// A configuration file of this project.
    case json
}

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
                lines.append("--connect-to \(name):\(port):\(first.address.bracketed):\(first.port ?? port)")
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
            "version": .integer(1),
            "mappings": .object(
                Dictionary(rules.map { ("\($0.key)", value($0.mapping)) }, uniquingKeysWith: { first, _ in first })
            ),
        ])
    }

    private func value(_ mapping: HTTPDNSMapping) -> JSONValue {
        var members: [String: JSONValue] = [:]
        switch mapping.action {
        case .addresses(let targets):
            let addresses = value(targets)
            if mapping.timeToLive == nil, case .list = addresses { return addresses }
            members["addresses"] = addresses
        case .via(let name, usesTargetIdentity: true):
            members["via"] = .object(["host": .text("\(name)"), "keep": .array([.text("host")])])
        case .via(let name, usesTargetIdentity: false):
            members["via"] = .text("\(name)")
        case .system:
            return .text("system")
        case .lastResort(let targets):
            members["last_resort"] = value(targets)
        case nil:
            return .null
        }
        if let timeToLive = mapping.timeToLive { members["ttl"] = .text(Self.duration(timeToLive)) }
        return .object(members)
    }

    /// Returns a list, or with weights an object: the order of weighted addresses has no effect.
    private func value(_ targets: [HTTPDNSMapping.Target]) -> JSONValue {
        var shares: [String: JSONValue] = [:]
        for target in targets {
            if let weight = target.weight { shares[MappingText.target(target)] = .integer(weight) }
        }
        return shares.isEmpty ? .array(targets.map { .text(MappingText.target($0)) }) : .object(shares)
    }

    /// Returns a duration in the form of the configuration file.
    private static func duration(_ duration: Duration) -> String {
        let (seconds, attoseconds) = duration.components
        return attoseconds == 0 ? "\(seconds)s" : "\(seconds * 1000 + attoseconds / 1_000_000_000_000_000)ms"
    }
}

/// The rules of a set in the order of their source, those without a line last and by name.
enum MappingOrder {
    static func sorted(_ rules: [HTTPDNSMapping.Key: HTTPDNSMapping]) -> [(
        key: HTTPDNSMapping.Key, mapping: HTTPDNSMapping
    )] {
        func order(_ key: HTTPDNSMapping.Key, _ mapping: HTTPDNSMapping) -> (line: Int, column: Int, key: String) {
            (mapping.location?.line ?? .max, mapping.location?.column ?? .max, "\(key)")
        }
        return rules.map { (key: $0.key, mapping: $0.value) }.sorted {
            order($0.key, $0.mapping) < order($1.key, $1.mapping)
        }
    }
}

/// The readable form of a rule.
enum MappingText {
    static func text(_ mapping: HTTPDNSMapping) -> String {
        switch mapping.action {
        case .addresses(let targets):
            return Self.targets(targets)
        case .via(let name, usesTargetIdentity: let usesTargetIdentity):
            return usesTargetIdentity ? "via \(name), with its SNI and certificate" : "via \(name)"
        case .system: return "system"
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
#endif
