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
