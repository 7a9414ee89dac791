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
        command.environment["LD_PRELOAD"] = library
        // An empty value would remove the variable.
        command.environment["SYSTEM_ANSWERS"] =
            answers.map { "\($0.key)=\($0.value.joined(separator: ","))" }.joined(separator: ";") + ";"
        let result = try await command.run(within: limit)
        try PreloadedLibrary.check(result)
        return result
    }
}
