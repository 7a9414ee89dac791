// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

#if CommandLine
internal import ArgumentParser
internal import Dispatch
internal import Foundation
internal import HTTPDNS
internal import HTTPDNSPrimitives

/// One run of the program: it parses the command, performs it, and converts every outcome to output and an exit status.
struct Invocation: Sendable {
    var arguments: [String]
    var console: Console
    /// The signals that may end it.
    var interruption: Interruption?
    /// The position of the first argument that is not UTF-8, from 1; nil without one. Swift would replace its bytes.
    var unreadable: Int?

    func run() async -> Int32 {
        do throws(CommandFailure) {
            if let unreadable {
                throw .usage(
                    "argument \(unreadable) is not UTF-8",
                    hint: "put such bytes in a file: -d @FILE, -F 'NAME=<FILE'"
                )
            }
            guard let first = arguments.first else { throw .noCommand }
            if ["--help", "-h", "help"].contains(first), arguments.count == 1 {
                try console.standardOutput.write(
                    FoldedText.text(RootHelp.text, width: console.screen(for: console.standardOutput).width)
                )
                return ExitStatus.done
            }
            if VersionReport.isWanted(arguments) {
                try console.standardOutput.write(versions + "\n")
                return ExitStatus.done
            }
            var completed = self
            completed.arguments = try ImpliedCommand.complete(arguments)
            return try await perform(completed.parse())
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
            var parsed = try RootCommand.parseAsRoot(CurlArguments.normalized(arguments))
            if let command = parsed as? any Subcommand { return command }
            guard !(parsed is RootCommand) else { throw CommandFailure.noCommand }
            // ArgumentParser's own help command, which throws its text.
            try parsed.run()
            throw CommandFailure.noCommand
        } catch let failure as CommandFailure {
            throw failure
        } catch {
            guard RootCommand.exitCode(for: error) == .success else {
                throw UnknownOption.failure(arguments, message: RootCommand.message(for: error), hint: helpHint)
                    ?? .usage(UsageError.text(RootCommand.message(for: error)), hint: helpHint)
            }
            throw information(RootCommand.fullMessage(for: error))
        }
    }

    /// Returns the information that the arguments ask for: help, versions, or the script of a shell.
    private func information(_ text: String) -> CommandFailure {
        if text == RootCommand.configuration.version { return .information(versions) }
        if text.hasPrefix("OVERVIEW:"),
            arguments.allSatisfy({ !["-h", "--help", "--help-hidden", "help"].contains($0) })
        {
            // The parser finds -h among the letters of any argument, such as -HAccept.
            return UnknownOption.failure(arguments, message: nil, hint: helpHint)
                ?? .usage("-h is combined with other letters", hint: "--help, in an argument of its own, prints help")
        }
        return .information(FishCompletion.corrected(text))
    }

    /// The versions, without the last line break.
    private var versions: String {
        let report = VersionReport()
        return wantsJSON ? report.json().indented : String(report.text().dropLast())
    }

    private var helpHint: String {
        let name = arguments.first { argument in RootCommand.names.contains(argument) }
        if name == "run", !arguments.contains("--") {
            return "the command follows --, such as: resolve-test run --map img.test=127.0.0.1 -- curl http://img.test/"
        }
        return "see resolve-test \(name.map { "\($0) " } ?? "")--help"
    }

    /// Prints a failure, or the requested help.
    /// - Returns: The exit status.
    private func report(_ failure: CommandFailure) -> Int32 {
        guard failure.kind != .information else {
            do throws(CommandFailure) {
                // Scripts for shells are information too, and stay as they are.
                let isHelp = failure.message.hasPrefix("OVERVIEW:")
                let width = isHelp ? console.screen(for: console.standardOutput).width : .max
                try console.standardOutput.write(FoldedText.text(failure.message, width: width) + "\n")
                return failure.exitStatus
            } catch {
                return report(error)
            }
        }
        guard !failure.isSilent else { return interruption?.exitStatus ?? failure.exitStatus }
        var failure = SecretArguments(arguments).hidden(in: failure)
        failure.signalStatus = interruption?.exitStatus
        if wantsJSON {
            console.standardError.say(FailureReport.json(failure).oneLine + "\n")
        } else {
            // A usage error may leave no normal form.
            let options = (try? CurlArguments.normalized(arguments)) ?? arguments
            let isVerbose = options.contains("-v") || options.contains("--verbose")
            let style = Style(terminal: console.standardError.isTerminal, environment: console.environment)
            console.standardError.say(FailureReport.text(failure, isVerbose: isVerbose, style: style))
        }
        return failure.exitStatus
    }

    /// Read from the unparsed arguments, because a usage error leaves no parsed ones.
    private var wantsJSON: Bool { arguments.prefix { $0 != "--" }.contains("--json") }
}

/// The handling of Ctrl-C and similar signals: the first cancels the work, so that temporary files are removed and connections
/// are closed; the second ends the process. A watched agent may get two at once, of its group and of its parent: none ends it.
final class Interruption: Sendable {
    private struct State {
        var received: Int32?
        var sources: [any DispatchSourceSignal] = []
    }

    private let state = Lock(State())

    /// The exit status after a signal: 130 for Ctrl-C.
    var exitStatus: Int32? { state.withLock { $0.received.map(ExitStatus.signal) } }

    func cancelOnSignal(_ work: Task<Int32, Never>, secondEnds: Bool = true) {
        for number in [SIGINT, SIGTERM, SIGHUP] {
            // The default action would end the process before the source receives the signal. A signal that was ignored before
            // the program began stays ignored: nohup and shells without job control use that.
            guard !Self.isIgnore(signal(number, SIG_IGN)) else { continue }
            state.withLock { state in
                let source = DispatchSource.makeSignalSource(signal: number, queue: .global())
                source.setEventHandler { [self] in received(number, work, secondEnds) }
                source.resume()
                state.sources.append(source)
            }
        }
    }

    private static func isIgnore(_ action: sighandler_t?) -> Bool {
        unsafeBitCast(action, to: Int.self) == unsafeBitCast(SIG_IGN, to: Int.self)
    }

    private func received(_ number: Int32, _ work: Task<Int32, Never>, _ secondEnds: Bool) {
        state.withLock { $0.received = $0.received ?? number }
        if secondEnds { signal(number, SIG_DFL) }
        work.cancel()
    }

    /// The signals whose handling the program changes.
    static let changedSignals = [SIGINT, SIGQUIT, SIGTERM, SIGHUP, SIGUSR1, SIGUSR2, SIGPIPE]

    /// Those that were ignored when the program began, as by `trap '' PIPE`: it and its children go on to ignore them. The first
    /// access must come before any of them is changed.
    static let ignoredAtStart = Set(
        changedSignals.filter { number in
            var action = sigaction()
            sigaction(number, nil, &action)
            return isIgnore(action.__sigaction_handler.sa_handler)
        }
    )

    /// Ends the program like others whose reader has gone (`| head`): no message, 141 in the shell.
    static func endAsBrokenPipe() -> Never {
        signal(SIGPIPE, SIG_DFL)
        raise(SIGPIPE)
        exit(ExitStatus.signal(SIGPIPE))
    }
}

/// The arguments that contain a password, such as `https://user:password@host/`.
///
/// An error that repeats one would appear on terminals and in logs of build servers.
struct SecretArguments {
    private let shown: [(secret: String, text: String)]

    init(_ arguments: [String]) {
        shown = arguments.compactMap { argument in
            // The value of `--doh=URL`, or the whole argument.
            // A service after `@` is a URL too; any other `@` begins the name of a file.
            let value =
                argument.hasPrefix("--")
                ? argument.drop { $0 != "=" }.dropFirst() : argument.dropFirst(argument.hasPrefix("@http") ? 1 : 0)
            guard !value.hasPrefix("@"), let at = value.lastIndex(of: "@"), value[..<at].contains(":") else {
                return nil
            }
            return (String(value), URLText.forErrors(String(value)))
        }
    }

    /// Returns the failure without the user information of any argument.
    func hidden(in failure: CommandFailure) -> CommandFailure {
        var failure = failure
        failure.message = hidden(in: failure.message)
        failure.hint = failure.hint.map(hidden)
        failure.host = failure.host.map(hidden)
        return failure
    }

    private func hidden(in text: String) -> String {
        shown.reduce(text) { $0.replacing($1.secret, with: $1.text) }
    }
}

/// The conversion of ArgumentParser's messages, which may have several lines, to one line.
enum UsageError {
    static func text(_ message: String) -> String {
        var lines = message.split(separator: "\n", omittingEmptySubsequences: true).map { line in
            line.drop { $0 == " " }
        }
        lines = lines.filter { line in
            // The command's own help contains these lines; the hint names it.
            !line.hasPrefix("Usage:") && !line.hasPrefix("help:") && !line.hasPrefix("See '")
        }
        var text = lines.map(String.init).joined(separator: " ")
        if text.hasPrefix("Error: ") { text.removeFirst("Error: ".count) }
        return text.isEmpty ? "the arguments cannot be read" : text
    }
}
#endif
