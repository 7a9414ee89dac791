// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

internal import ArgumentParser

/// The error for an option that the command does not have.
///
/// The option is repeated by its name alone: what follows may be a password, as in `-uadmin:secret`.
enum UnknownOption {
    /// Returns the failure for the first option that the command of the arguments does not have.
    ///
    /// - Parameter message: The text of the argument parser; nil when it found no mistake.
    /// - Returns: The failure; nil when every option is known.
    static func failure(_ arguments: [String], message: String?, hint: String) -> CommandFailure? {
        let arguments = (try? CurlArguments.normalized(arguments)) ?? arguments
        let command = arguments.first.flatMap { RootCommand.names.contains($0) ? $0 : nil }
        let known = OptionNames(of: command ?? ResolveCommand.name)
        guard let option = known.firstUnknown(in: command == nil ? arguments[...] : arguments.dropFirst()) else {
            return nil
        }
        // fetch has options that its help does not list.
        if command == FetchCommand.configuration.commandName, message?.contains("'\(option)") == false { return nil }
        if [nil, ResolveCommand.name, ExplainCommand.name].contains(command), OptionNames(of: "fetch").contains(option)
        {
            return .usage("Unknown option '\(option)', which fetch has", hint: "did you mean resolve-test fetch ...?")
        }
        if command == nil {
            return .usage(
                "Unknown option '\(option)'; options follow the command: resolve-test COMMAND \(option)",
                hint: hint
            )
        }
        // The parser's text has a suggestion, but it repeats a value that is attached.
        if let message, message.contains("Unknown option '\(option)'") {
            return .usage(UsageError.text(message), hint: hint)
        }
        return .usage("Unknown option '\(option)'", hint: hint)
    }
}

/// The options of a command, as its help lists them.
private struct OptionNames {
    private var flags: Set<String> = []
    private var valued: Set<String> = []

    init(of command: String) {
        let all = RootCommand.configuration.subcommands
        guard let type = all.first(where: { $0.configuration.commandName == command }) else { return }
        for line in RootCommand.helpMessage(for: type, columns: 1000).split(separator: "\n") where line.hasPrefix("  -")
        {
            let declared = line.dropFirst(2).split(separator: "  ", maxSplits: 1).first ?? ""
            let names = declared.split(separator: ", ").map { String($0.prefix { $0 != " " }) }
            if declared.contains("<") { valued.formUnion(names) } else { flags.formUnion(names) }
        }
        if command == "fetch" { valued.formUnion(CurlArguments.fetchOptions.union(CurlArguments.requestOptions)) }
        if command == ResolveCommand.name { valued.insert("-x") }
    }

    func contains(_ name: String) -> Bool { flags.contains(name) || valued.contains(name) }

    /// Returns the name of the first option that the command does not have; nil when it has all.
    func firstUnknown(in arguments: ArraySlice<String>) -> String? {
        var rest = arguments
        while let argument = rest.popFirst(), argument != "--" {
            guard argument.hasPrefix("-"), argument.count > 1 else { continue }
            let name = String(argument.hasPrefix("--") ? argument.prefix { $0 != "=" } : argument.prefix(2))
            guard contains(name) else { return PrintableText.line(name) }
            if valued.contains(name), argument == name { _ = rest.popFirst() }
        }
        return nil
    }
}
