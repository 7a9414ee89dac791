// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

#if CommandLine
internal import HTTPDNSPrimitives

/// The command of arguments without one: `resolve` for a name, `explain` for a URL.
///
/// Options may stand before the name or the command, if `resolve` and `explain` have them.
enum ImpliedCommand {
    /// The options that may stand before a name: `explain` has those of `resolve` that the help lists.
    private static let options = OptionNames(of: ResolveCommand.name)

    /// The number of changed letters up to which a word counts as a command with a typing error.
    static let maximumDistance = 2

    /// Returns the arguments with a command as the first of them. Arguments that begin with any other option are unchanged.
    /// - Throws: A usage failure for a word that is probably a command with a typing error: it must not become a query.
    static func complete(_ arguments: [String]) throws(CommandFailure) -> [String] {
        guard let index = wordIndex(arguments) else { return arguments }
        guard index < arguments.count else { return [ResolveCommand.name] + arguments }
        let word = arguments[index]
        if RootCommand.names.contains(word) || index == 0 && word == "help" {
            return [word] + arguments[..<index] + arguments[(index + 1)...]
        }
        if word.contains("://"), !word.hasPrefix("@") { return [ExplainCommand.name] + arguments }
        if let command = similarCommand(word) {
            let name = PrintableText.line(word)
            throw .usage(
                "there is no command \"\(name)\"; did you mean \"\(command)\"?",
                hint: "resolve-test resolve \(ShellText.quoted(name)) resolves the name; see resolve-test --help"
            )
        }
        return [ResolveCommand.name] + arguments
    }

    /// Returns the index of the first argument that is neither an option nor its value; that of the end when all are; nil when
    /// an unknown option is among those before.
    private static func wordIndex(_ arguments: [String]) -> Int? {
        var index = 0
        while index < arguments.count, arguments[index].hasPrefix("-"), arguments[index] != "--" {
            // -tHTTPS has its value attached.
            if options.flags.subtracting(["--version"]).contains(arguments[index])
                || arguments[index].hasPrefix("-t") && arguments[index].count > 2
            {
                index += 1
            } else if options.valued.contains(arguments[index]) {
                index = min(index + 2, arguments.count)
            } else if let equal = arguments[index].firstIndex(of: "="),
                options.valued.contains(String(arguments[index][..<equal]))
            {
                index += 1
            } else {
                return nil
            }
        }
        return index
    }

    /// Returns the command that a bare word probably means; nil for a word with a dot or a port, which is a name.
    private static func similarCommand(_ word: String) -> String? {
        let lowercase = word.lowercased()
        guard lowercase.allSatisfy({ $0.isASCII && ($0.isLetter || $0 == "-") }) else { return nil }
        let letters = Array(lowercase.utf8)
        let distances = RootCommand.names.map { name in
            (name: name, distance: EditDistance.between(letters, Array(name.utf8)))
        }
        guard let nearest = distances.min(by: { $0.distance < $1.distance }), nearest.distance <= maximumDistance else {
            return nil
        }
        return nearest.name
    }
}
#endif
