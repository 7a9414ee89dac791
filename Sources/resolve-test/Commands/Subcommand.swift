internal import ArgumentParser

/// A command of the program.
protocol Subcommand: ParsableCommand, Sendable {
    /// Does the work and returns the exit status.
    func perform(on console: Console) async throws -> Int32
}
