internal import ArgumentParser
internal import HTTPDNS

/// `explain URL`: the rewritten request; nothing is sent to the origin.
struct ExplainCommand: Subcommand {
    static let configuration = CommandConfiguration(
        commandName: "explain",
        abstract: "Show where a request would go and why.",
        discussion: "The name is resolved, which may ask a provider; nothing is sent to the origin."
    )

    @Argument(help: ArgumentHelp("An http or https URL.", valueName: "URL"))
    var url: String

    @OptionGroup
    var common: CommonOptions

    func perform(on console: Console) async throws -> Int32 {
        let settings = try ClientSettings(common, environment: console.environment)
        let options = settings.requestOptions(common)
        let (rewritten, wayOut) = try await settings.withClient { client in
            let rewritten = try await client.rewrite(url, options: options)
            return (rewritten, try client.wayOut(of: rewritten, options: options))
        }

        console.note(settings.remarks(on: [rewritten.resolution]), unless: common.output.isJSON)
        let report = ExplainReport(
            rewrite: try RewriteView(rewritten, wayOut: wayOut),
            providerKinds: settings.providerKinds,
            certificateAuthorityFile: common.certificateAuthorityFile,
            isVerbose: common.output.isVerbose,
            reachableNetworks: settings.configuration.reachableNetworks
        )
        let output = console.standardOutput
        try output.write(
            common.output.isJSON ? report.json().indented + "\n" : report.text(console.screen(for: output))
        )
        return ExitStatus.done
    }
}
