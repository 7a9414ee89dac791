// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

#if CommandLine
import ArgumentParser
import Testing

@testable import resolve_test

/// The names of options that are known before the parser reads the arguments.
struct OptionNamesTests {
    @Test(
        "The names of a command's options are those that its help lists",
        arguments: RootCommand.names.sorted()
    )
    func names(command: String) throws {
        let type = try #require(RootCommand.configuration.subcommands.first { $0._commandName == command })
        var flags: Set<Substring> = []
        var valued: Set<Substring> = command == "resolve" ? ["-x"] : []  // The help does not list what is refused.
        for line in RootCommand.helpMessage(for: type, columns: 1000).split(separator: "\n") where line.hasPrefix("  -")
        {
            let declared = line.dropFirst(2).split(separator: "  ", maxSplits: 1)[0]
            let names = declared.split(separator: ", ").filter { $0.hasPrefix("-") }.map { $0.prefix { $0 != " " } }
            if declared.contains("<") { valued.formUnion(names) } else { flags.formUnion(names) }
        }
        let known = OptionNames(of: command)
        #expect(known.flags == Set(flags.map(String.init)))
        #expect(known.valued == Set(valued.map(String.init)))
    }
}
#endif
