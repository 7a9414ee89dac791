// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

#if CommandLine
internal import ArgumentParser

/// An option is declared in one row: its names, the name of its value, its sentence in the help, and the property that it sets.
/// Everything else about options comes from these rows: ``OptionNames``.
extension Option {
    /// Creates an option that may be left out.
    init<T: ExpressibleByArgument>(
        _ names: String,
        _ value: String,
        _ sentence: String,
        completion: CompletionKind? = nil
    ) where Value == T? {
        self.init(name: .names(names), help: ArgumentHelp(sentence, valueName: value), completion: completion)
    }

    /// Creates an option of curl, which may be left out. Its value may begin with `-`.
    init<T: ExpressibleByArgument>(
        curl names: String,
        _ value: String,
        _ sentence: String,
        completion: CompletionKind? = nil
    ) where Value == T? {
        let help = ArgumentHelp(sentence, valueName: value)
        self.init(name: .names(names), parsing: .unconditional, help: help, completion: completion)
    }

    /// Creates an option with a default.
    init(wrappedValue: Value, _ names: String, _ value: String, _ sentence: String)
    where Value: ExpressibleByArgument {
        self.init(wrappedValue: wrappedValue, name: .names(names), help: ArgumentHelp(sentence, valueName: value))
    }

    /// Creates an option that may be repeated.
    init<T: ExpressibleByArgument>(wrappedValue: [T], _ names: String, _ value: String, _ sentence: String)
    where Value == [T] {
        self.init(wrappedValue: wrappedValue, name: .names(names), help: ArgumentHelp(sentence, valueName: value))
    }

    /// Creates an option of curl that may be repeated. Its values may begin with `-`.
    init<T: ExpressibleByArgument>(wrappedValue: [T], curl names: String, _ value: String, _ sentence: String)
    where Value == [T] {
        let help = ArgumentHelp(sentence, valueName: value)
        self.init(wrappedValue: wrappedValue, name: .names(names), parsing: .unconditionalSingleValue, help: help)
    }
}

extension Flag where Value == Bool {
    /// Creates an option without a value.
    init(wrappedValue: Bool, _ names: String, _ sentence: ArgumentHelp) {
        self.init(wrappedValue: wrappedValue, name: .names(names), help: sentence)
    }
}

extension NameSpecification {
    /// Returns the names of a text such as `-o --output`.
    fileprivate static func names(_ text: String) -> NameSpecification {
        NameSpecification(
            text.split(separator: " ").map { name in
                name.hasPrefix("--")
                    ? .customLong(String(name.dropFirst(2))) : .customShort(Character(String(name.dropFirst())))
            }
        )
    }
}

/// The names of a command's options, as its help lists them.
struct OptionNames {
    private(set) var flags: Set<String> = []
    private(set) var valued: Set<String> = []

    init(of command: String) {
        let all = RootCommand.configuration.subcommands
        guard let type = all.first(where: { $0.configuration.commandName == command }) else { return }
        let help = RootCommand.helpMessage(for: type, columns: 1000)
        for line in help.split(separator: "\n") where line.hasPrefix("  -") {
            let declared = line.dropFirst(2).split(separator: "  ", maxSplits: 1).first ?? ""
            let parts = declared.split(separator: ", ").filter { $0.hasPrefix("-") }
            let names = parts.map { String($0.prefix { $0 != " " }) }
            if declared.contains("<") { valued.formUnion(names) } else { flags.formUnion(names) }
        }
        // The help does not list the option of dig that is refused.
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
#endif
