internal import ArgumentParser
internal import HTTPDNS
internal import HTTPDNSConfiguration

/// `check FILE`: validate a configuration file, with line and column.
struct CheckCommand: Subcommand {
    static let configuration = CommandConfiguration(
        commandName: "check",
        abstract: "Validate a configuration file.",
        discussion: "Prints what the file sets; or each mistake on a line, and exits with 2. Nothing is sent."
    )

    @Argument(help: ArgumentHelp("The configuration file.", valueName: "FILE"))
    var file: String

    @OptionGroup
    var output: OutputOptions

    func perform(on console: Console) async throws -> Int32 {
        let configuration: HTTPDNSClient.Configuration
        do {
            configuration = try ConfigurationFile.load(file)
            // Creating a client detects mistakes that depend on several settings, such as a missing CA file. The client has no
            // snapshot, no names to resolve at start and no file to follow, so it opens no socket.
            var unwatched = configuration
            unwatched.source = nil
            try await HTTPDNSClient(configuration: unwatched).shutdown()
        } catch let error as ConfigurationFileError {
            guard !output.isJSON else { throw error }
            console.standardError.say(
                CheckReport.mistakes(error, style: console.screen(for: console.standardError).style)
            )
            return ExitStatus.usage
        }
        let report = CheckReport(
            file: file,
            configuration: configuration,
            permissions: ConfigurationFile.permissionsFault(file)
        )
        if !output.isJSON {
            for warning in report.warnings { console.standardError.say("warning: \(PrintableText.line(warning))\n") }
        }
        try console.standardOutput.write(
            output.isJSON ? report.json().indented + "\n" : report.text(isVerbose: output.isVerbose)
        )
        return ExitStatus.done
    }
}
