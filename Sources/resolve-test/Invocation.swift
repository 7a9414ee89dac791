internal import ArgumentParser

/// One run of the program: it parses the command, performs it, and converts every outcome to output and an exit status.
struct Invocation: Sendable {
    var arguments: [String]
    var console: Console
    /// The signals that may end it.
    var interruption: Interruption?

    func run() async -> Int32 {
        do throws(CommandFailure) {
            guard let first = arguments.first else { throw .noCommand }
            if ["--help", "-h", "help"].contains(first), arguments.count == 1 {
                try console.standardOutput.write(RootHelp.text)
                return ExitStatus.done
            }
            guard first.hasPrefix("-") || first == "help" || RootCommand.names.contains(first) else {
                throw .usage(
                    "there is no command \"\(first)\": say resolve HOST, explain URL, fetch URL, compare HOST, watch HOST, check FILE, export, dump, switch or serve FILE",
                    hint: helpHint
                )
            }
            return try await perform(parse())
        } catch {
            return report(error)
        }
    }

    private func perform(_ command: any Subcommand) async throws(CommandFailure) -> Int32 {
        do {
            return try await command.perform(on: console)
        } catch {
            throw CommandFailure(error)
        }
    }

    /// Parses the command from the arguments. ArgumentParser's own texts are used for help and version.
    private func parse() throws(CommandFailure) -> any Subcommand {
        do {
            var parsed = try RootCommand.parseAsRoot(arguments)
            if let command = parsed as? any Subcommand { return command }
            guard !(parsed is RootCommand) else { throw CommandFailure.noCommand }
            // ArgumentParser's own help command, which throws its text.
            try parsed.run()
            throw CommandFailure.noCommand
        } catch let failure as CommandFailure {
            throw failure
        } catch {
            guard RootCommand.exitCode(for: error) != .success else {
                throw .information(RootCommand.fullMessage(for: error))
            }
            throw .usage(UsageError.text(RootCommand.message(for: error), arguments: arguments), hint: helpHint)
        }
    }

    private var helpHint: String {
        let name = arguments.first { argument in RootCommand.names.contains(argument) }
        return "see resolve-test \(name.map { "\($0) " } ?? "")--help"
    }

    /// Prints a failure, or the requested help.
    /// - Returns: The exit status.
    private func report(_ failure: CommandFailure) -> Int32 {
        guard failure.kind != .information else {
            do throws(CommandFailure) {
                try console.standardOutput.write(failure.message + "\n")
                return failure.exitStatus
            } catch {
                return report(error)
            }
        }
        var failure = SecretArguments(arguments).hidden(in: failure)
        failure.signalStatus = interruption?.exitStatus
        if wantsJSON {
            console.standardError.say(FailureReport.json(failure).oneLine + "\n")
        } else {
            let isVerbose = arguments.contains("-v") || arguments.contains("--verbose")
            let style = Style(terminal: console.standardError.isTerminal, environment: console.environment)
            console.standardError.say(FailureReport.text(failure, isVerbose: isVerbose, style: style))
        }
        return failure.exitStatus
    }

    /// Read from the unparsed arguments, because a usage error leaves no parsed ones.
    private var wantsJSON: Bool { arguments.prefix { $0 != "--" }.contains("--json") }
}
