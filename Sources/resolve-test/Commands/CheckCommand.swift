// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

#if CommandLine
internal import ArgumentParser
internal import HTTPDNS
internal import HTTPDNSConfiguration

/// `check FILE`: validate a configuration file, with line and column.
struct CheckCommand: Subcommand {
    static let configuration = CommandConfiguration(
        commandName: "check",
        abstract: "Validate a configuration file.",
        discussion: """
            Prints a summary of a valid file, with -v all of its routes and mappings. Prints each error of an invalid file on \
            a line, and exits with 2. Sends nothing.
            """
    )

    @Argument(
        help: ArgumentHelp("Configuration file; the same as --config FILE.", valueName: "FILE"),
        completion: .file()
    ) var givenFile: String?
    @Option(
        "--config",
        "FILE",
        "Configuration file; without it the one that HTTPDNS_CONFIG names.",
        completion: .file()
    )
    var configurationFile: String?

    @OptionGroup var output: OutputOptions

    func perform(on console: Console) async throws -> Int32 {
        let file = try file(console.environment)
        let configuration: HTTPDNSClient.Configuration
        do {
            configuration = try HTTPDNSConfigurationFile.load(file)
            // Creating a client detects mistakes that depend on several settings, such as a missing CA file. The client has no
            // snapshot, no names to resolve at start and no file to follow, so it opens no socket.
            var unwatched = configuration
            unwatched.source = nil
            try await HTTPDNSClient(configuration: unwatched).shutdown()
        } catch let error as HTTPDNSConfigurationFileError {
            guard !output.isJSON else { throw error }
            console.standardError.say(
                CheckReport.mistakes(error, style: console.screen(for: console.standardError).style)
            )
            return ExitStatus.usage
        }
        #if YAML
        let agent = try? HTTPDNSConfigurationFile.agent(file)
        #else
        let agent: AgentSettings? = nil
        #endif
        let report = CheckReport(
            file: file,
            configuration: configuration,
            agent: agent,
            permissions: HTTPDNSConfigurationFile.permissionsFault(file),
            skipped: HTTPDNSConfigurationFile.skippedLines(of: file)
        )
        if !output.isJSON {
            for warning in report.warnings { console.standardError.say("warning: \(PrintableText.line(warning))\n") }
        }
        try console.write(output, json: report.json().indented + "\n") { screen in
            report.text(isVerbose: output.isVerbose, screen)
        }
        return ExitStatus.done
    }

    private func file(_ environment: [String: String]) throws(CommandFailure) -> String {
        guard givenFile == nil || configurationFile == nil else {
            throw .usage("check FILE and --config FILE mean the same", hint: "leave one of them out")
        }
        guard let file = givenFile ?? configurationFile ?? environment["HTTPDNS_CONFIG"], !file.isEmpty else {
            throw .usage("Missing expected argument '<FILE>'", hint: "see resolve-test check --help")
        }
        return file
    }
}

struct CheckReport {
    var file: String
    var configuration: HTTPDNSClient.Configuration
    /// Settings that are allowed, but probably not intended.
    var warnings: [String]
    /// The lines of a hosts file that are not used.
    var skipped: [SkippedLines]

    /// - Parameter permissions: The reason that others may change the file.
    init(
        file: String,
        configuration: HTTPDNSClient.Configuration,
        agent: AgentSettings? = nil,
        permissions: String? = nil,
        skipped: [SkippedLines] = []
    ) {
        (self.file, self.configuration, self.skipped) = (file, configuration, skipped)
        let asked = configuration.resolver.routes.flatMap { route -> [String] in
            if case .providers(let names, fallback: _) = route.action { names } else { [] }
        }
        let unasked = configuration.resolver.providers.map(\.name).filter { !asked.contains($0) }
        warnings = unasked.map { "no route names the provider \($0), so it is never asked" }
        let unusable = configuration.options.proxy.unusableExceptions(in: configuration.environment)
        warnings += unusable.map { "no_proxy: the entry \"\($0)\" matches no host" }
        if let dns = agent?.dns, dns.forward == nil {
            warnings.append(
                "agent.dns has no forward: names without mapping and route are refused, so it can be no program's only name server"
            )
        }
        if agent?.varlink != nil || agent?.hook != nil || agent?.dns != nil {
            warnings += configuration.resolver.mappings.withPorts.map {
                "lookups at the agent have no port: only its proxy applies the mapping of \($0)"
            }
        }
        if let permissions { warnings.append("\(file): \(permissions)") }
    }

    private var resolver: HTTPDNSResolver.Configuration { configuration.resolver }
    private var mappings: [(key: HTTPDNSMapping.Key, mapping: HTTPDNSMapping)] {
        MappingOrder.sorted(resolver.mappings)
    }

    func text(isVerbose: Bool, _ screen: Screen) -> String {
        let parts = [
            Figures.count(resolver.providers.count, "provider"), Figures.count(resolver.routes.count, "route"),
            Figures.count(resolver.mappings.count, "mapping"),
        ]
        let unused = skipped.reduce(0) { $0 + $1.count }
        let omitted =
            unused == 0 ? "" : "\(Figures.count(unused, "line")) skipped" + (isVerbose ? "" : " (-v shows them)")
        let switched = configuration.isEnabled ? "" : "enabled: false, the system resolver answers"
        var summary = Columns()
        summary.append([PrintableText.line(file), "valid", parts.joined(separator: ", "), omitted, switched])
        var text = summary.lines(gap: 3, width: screen.width).map { $0 + "\n" }.joined()
        guard isVerbose else { return text }
        var columns = Columns()
        columns.append(["reachable", "\(configuration.reachableNetworks)"])
        columns.append(["proxy", "\(configuration.proxy)"])
        for lines in skipped {
            let more = lines.count > 1 ? ", and \(Figures.count(lines.count - 1, "more line")) like it" : ""
            columns.append([
                "skipped", PrintableText.line(lines.first.message) + more,
                PrintableText.line("\(lines.first.location)"),
            ])
        }
        for (word, blocks) in [("allow", resolver.policy.allowed), ("deny", resolver.policy.denied)]
        where !blocks.isEmpty {
            columns.append([word, blocks.map(\.description).joined(separator: ", ")])
        }
        for provider in resolver.providers {
            columns.append(["provider", provider.name, "answers \(provider.answerScope)"])
        }
        for route in resolver.routes {
            columns.append([
                "route", "\(route.pattern)", Self.action(route.action), route.location.map { "\($0)" } ?? "",
            ])
        }
        for rule in mappings {
            columns.append([
                "mapping", "\(rule.key)", MappingText.text(rule.mapping), rule.mapping.location.map { "\($0)" } ?? "",
            ])
        }
        text += columns.lines(width: screen.width - 2).map { "  \($0)\n" }.joined()
        return text
    }

    func json() -> JSONValue {
        .object([
            "file": .text(file),
            "valid": .bool(true),
            "enabled": .bool(configuration.isEnabled),
            "warnings": .array(warnings.map(JSONValue.text)),
            "reachableNetworks": .text("\(configuration.reachableNetworks)"),
            "proxy": .text("\(configuration.proxy)"),
            "allowed": .array(resolver.policy.allowed.map { .text("\($0)") }),
            "denied": .array(resolver.policy.denied.map { .text("\($0)") }),
            "providers": .array(resolver.providers.map { .text($0.name) }),
            "answerScope": .object(
                Dictionary(
                    resolver.providers.map { ($0.name, .text("\($0.answerScope)")) },
                    uniquingKeysWith: { first, _ in first }
                )
            ),
            "routes": .array(resolver.routes.map { .text("\($0.pattern)") }),
            "mappings": .array(mappings.map { .text("\($0.key)") }),
            "skipped": .array(
                skipped.map { .object(["count": .integer($0.count), "first": .text("\($0.first)")]) }
            ),
        ])
    }

    /// Returns each mistake on a line, and their number.
    static func mistakes(_ error: HTTPDNSConfigurationFileError, style: Style) -> String {
        let lines = error.issues.map { PrintableText.line("\($0)") }
        let more = error.omitted > 0 ? ", \(error.issues.count) shown" : ""
        let total = Figures.count(error.issues.count + error.omitted, "error")
        let last = "\(style.bad("resolve-test:")) \(total)\(more); the file is not used"
        return (lines + [last]).map { $0 + "\n" }.joined()
    }

    private static func action(_ action: HTTPDNSRoute.Action) -> String {
        switch action {
        case .system: "system"
        case .providers(let names, let fallback): "\(names.joined(separator: ", ")), fallback \(fallback.rawValue)"
        }
    }
}
#endif
