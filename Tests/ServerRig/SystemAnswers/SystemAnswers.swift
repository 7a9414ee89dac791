internal import Glibc

/// A system resolver that says what the test wants: it runs a program with a library in front that answers look-ups from a
/// list (`Scripts/system-answers.c`). Names that are not in it do not exist; the machine's resolver is never asked.
public struct SystemAnswers: Sendable {
    private let library: String

    /// The library, compiled once per process.
    /// - Throws: ``RigError`` without a C compiler.
    public static func shared() async throws -> SystemAnswers { try await compiled.value }

    private static let compiled = Task { try await compile() }

    private static func compile() async throws -> SystemAnswers {
        SystemAnswers(library: try await PreloadedLibrary.compile("system-answers"))
    }

    /// Runs a command whose system resolver knows these names and no others.
    /// - Parameter answers: Addresses by name.
    public func run(
        _ command: Command,
        answering answers: [String: [String]],
        within limit: Duration = .seconds(60)
    ) async throws -> CommandResult {
        var command = command
        command.environment.merge(environment(answering: answers)) { $1 }
        let result = try await command.run(within: limit)
        try PreloadedLibrary.check(result)
        return result
    }

    /// The variables that make a program's system resolver know these names and no others.
    func environment(answering answers: [String: [String]]) -> [String: String] {
        // An empty value would remove the variable.
        let list = answers.map { "\($0.key)=\($0.value.joined(separator: ","))" }.joined(separator: ";") + ";"
        return ["LD_PRELOAD": library, "SYSTEM_ANSWERS": list]
    }
}
