// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

#if CommandLine
internal import ArgumentParser
internal import HTTPDNSPrimitives

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
        self.init(name: .valued(names), help: ArgumentHelp(sentence, valueName: value), completion: completion)
    }

    /// Creates an option of curl, which may be left out. Its value may begin with `-`.
    init<T: ExpressibleByArgument>(
        curl names: String,
        _ value: String,
        _ sentence: String,
        completion: CompletionKind? = nil
    ) where Value == T? {
        let help = ArgumentHelp(sentence, valueName: value)
        self.init(name: .valued(names), parsing: .unconditional, help: help, completion: completion)
    }

    /// Creates an option with a default.
    init(wrappedValue: Value, _ names: String, _ value: String, _ sentence: String)
    where Value: ExpressibleByArgument {
        self.init(wrappedValue: wrappedValue, name: .valued(names), help: ArgumentHelp(sentence, valueName: value))
    }

    /// Creates an option that may be repeated.
    init<T: ExpressibleByArgument>(wrappedValue: [T], _ names: String, _ value: String, _ sentence: String)
    where Value == [T] {
        self.init(wrappedValue: wrappedValue, name: .valued(names), help: ArgumentHelp(sentence, valueName: value))
    }

    /// Creates an option of curl that may be repeated. Its values may begin with `-`.
    init<T: ExpressibleByArgument>(wrappedValue: [T], curl names: String, _ value: String, _ sentence: String)
    where Value == [T] {
        let help = ArgumentHelp(sentence, valueName: value)
        self.init(wrappedValue: wrappedValue, name: .valued(names), parsing: .unconditionalSingleValue, help: help)
    }
}

extension Flag where Value == Bool {
    /// Creates an option without a value.
    init(wrappedValue: Bool, _ names: String, _ sentence: ArgumentHelp) {
        let isListed = sentence.visibility == .default
        self.init(wrappedValue: wrappedValue, name: .flags(names, isListed: isListed), help: sentence)
    }
}

extension NameSpecification {
    /// Returns the names of a text such as `-o --output`, of an option with a value.
    fileprivate static func valued(_ text: String) -> NameSpecification {
        OptionNames.reading?.insert(text, isFlag: false)
        return NameSpecification(elements(text))
    }

    fileprivate static func flags(_ text: String, isListed: Bool) -> NameSpecification {
        if isListed { OptionNames.reading?.insert(text, isFlag: true) }
        return NameSpecification(elements(text))
    }

    private static func elements(_ text: String) -> [Element] {
        text.split(separator: " ").map { name in
            name.hasPrefix("--")
                ? .customLong(String(name.dropFirst(2))) : .customShort(Character(String(name.dropFirst())))
        }
    }
}

/// The names of a command's options that its help lists.
///
/// They are read from the rows while the command is made. Its help has them too, and takes ten times as long.
struct OptionNames {
    fileprivate final class Reading: Sendable {
        private let names = Lock(OptionNames(flags: ["-h", "--help", "--version"], valued: []))
        var result: OptionNames { names.withLock(\.self) }

        func insert(_ text: String, isFlag: Bool) {
            let words = text.split(separator: " ").map(String.init)
            names.withLock { isFlag ? $0.flags.formUnion(words) : $0.valued.formUnion(words) }
        }

        /// Makes a value of the type, and of each group of options in it.
        func read(_ type: any ParsableArguments.Type) {
            for child in Mirror(reflecting: type.init()).children {
                if let group = child.value as? any RowGroup { read(group.type) }
            }
        }
    }

    @TaskLocal fileprivate static var reading: Reading?

    private(set) var flags: Set<String> = []
    private(set) var valued: Set<String> = []

    private init(flags: Set<String>, valued: Set<String>) {
        self.flags = flags
        self.valued = valued
    }

    init(of command: String) {
        self.init(flags: [], valued: [])
        let all = RootCommand.configuration.subcommands
        guard let type = all.first(where: { $0.configuration.commandName == command }) else { return }
        let reading = Reading()
        Self.$reading.withValue(reading) { reading.read(type) }
        self = reading.result
        // The options of dig are no rows: the value of -t may be joined, explain has no -p, and -x is refused.
        if command == ResolveCommand.name { valued.formUnion(["-t", "-p", "-x"]) }
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

private protocol RowGroup {
    var type: any ParsableArguments.Type { get }
}

extension OptionGroup: RowGroup {
    var type: any ParsableArguments.Type { Value.self }
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
