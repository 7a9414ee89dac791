internal import ArgumentParser
internal import HTTPDNS

/// `export`: the mappings for other programs.
struct ExportCommand: Subcommand {
    static let configuration = CommandConfiguration(
        commandName: "export",
        abstract: "Print mappings as hosts lines, curl options or JSON.",
        discussion: """
            The mappings of --config and --map as they were written; nobody is asked. What a format cannot say stands \
            there as a comment. The JSON is a configuration file.
            """
    )

    @Argument(help: ArgumentHelp("A configuration file; the same as --config.", valueName: "FILE"))
    var file: String?

    @Option(help: "The format.")
    var format: ExportFormat?

    @OptionGroup
    var common: CommonOptions

    func perform(on console: Console) async throws -> Int32 {
        var common = common
        if let file {
            guard common.configurationFile == nil else {
                throw CommandFailure.usage("export FILE and --config FILE are the same", hint: "leave one out")
            }
            common.configurationFile = file
        }
        let settings = try ClientSettings(common, environment: console.environment)
        guard settings.readsFile || !common.maps.isEmpty else {
            throw CommandFailure.usage("no mappings to export", hint: "name a file, or --map HOST=ADDRESS")
        }
        let rules = MappingOrder.sorted(try HTTPDNSMappings(settings.configuration.resolver.mappings).rules)
        let format = format ?? (common.output.isJSON ? .json : .hosts)
        guard !common.output.isJSON || format == .json else {
            throw CommandFailure.usage("--json and --format \(format.rawValue) contradict each other")
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
