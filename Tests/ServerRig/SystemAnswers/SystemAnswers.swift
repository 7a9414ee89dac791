// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

internal import Glibc

/// A system resolver whose answers the test sets: a preloaded library answers a program's lookups from a list
/// (`Scripts/system-answers.c`). Other names do not exist; the machine's resolver is never asked.
public struct SystemAnswers: Sendable {
    private let library: String

    /// Returns the library, compiled once per process.
    /// - Throws: ``RigError`` without a C compiler.
    public static func shared() async throws -> SystemAnswers { try await compiled.value }

    private static let compiled = Task { try await compile() }

    private static func compile() async throws -> SystemAnswers {
        SystemAnswers(library: try await PreloadedLibrary.compile("system-answers"))
    }

    /// Runs a command whose system resolver knows only these names.
    /// - Parameter answers: The addresses by name.
    public func run(
        _ command: Command,
        answering answers: [String: [String]],
        within limit: Duration = .seconds(120)
    ) async throws -> CommandResult {
        var command = command
        command.environment.merge(environment(answering: answers)) { $1 }
        let result = try await command.run(within: limit)
        try PreloadedLibrary.check(result)
        return result
    }

    /// Returns the variables that make a program's system resolver know only these names.
    func environment(answering answers: [String: [String]]) -> [String: String] {
        // An empty value would remove the variable.
        let list = answers.map { "\($0.key)=\($0.value.joined(separator: ","))" }.joined(separator: ";") + ";"
        return ["LD_PRELOAD": library, "SYSTEM_ANSWERS": list]
    }
}
