// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

internal import Glibc

/// The result of a command.
public struct CommandResult: Sendable {
    /// The exit status; 128 + signal for a process that a signal ended.
    public let status: Int32
    /// Standard output.
    public let output: String
    /// Standard error.
    public let error: String
}

/// A command that runs to its end.
public struct Command: Sendable {
    /// The program: a path, or a name that is searched in PATH and the system's folders.
    public var program: String
    /// Its arguments.
    public var arguments: [String]
    /// Variables that are added to this process's environment; an empty value removes a variable.
    public var environment: [String: String] = [:]
    /// The text of its standard input.
    public var input = ""

    /// Creates a command.
    public init(_ program: String, _ arguments: [String], environment: [String: String] = [:], input: String = "") {
        self.program = program
        self.arguments = arguments
        self.environment = environment
        self.input = input
    }

    /// Returns the path of an installed program; `nil` when there is none.
    public static func find(_ name: String) -> String? {
        if name.contains("/") { return access(name, X_OK) == 0 ? name : nil }
        let path = getenv("PATH").map { String(cString: $0) } ?? ""
        // Daemons are in sbin, which is not in an ordinary user's PATH on Debian.
        return (path.split(separator: ":") + ["/usr/sbin", "/sbin", "/usr/bin", "/bin"])
            .map { "\($0)/\(name)" }
            .first { access($0, X_OK) == 0 }
    }

    /// Runs the command to its end.
    /// - Throws: ``RigError`` when the program does not exist, or still runs after `limit`; then it is killed.
    public func run(within limit: Duration = .seconds(120)) async throws -> CommandResult {
        guard let path = Command.find(program) else { throw RigError("\(program) is not installed") }
        var variables = Command.environmentOfThisProcess
        for (name, value) in environment { variables[name] = value.isEmpty ? nil : value }
        let wholeEnvironment = variables
        return try await onBlockingThread { try execute(path, wholeEnvironment, limit) }
    }

    private func execute(_ path: String, _ variables: [String: String], _ limit: Duration) throws -> CommandResult {
        // Files instead of pipes: they need no pump, and a grandchild that keeps them open blocks no reader.
        let source = try FileDescriptor.unnamedFile()
        let output = try FileDescriptor.unnamedFile()
        let error = try FileDescriptor.unnamedFile()
        let bytes = Array(input.utf8)
        guard write(source.number, bytes, bytes.count) == bytes.count else { throw SystemCallError("write") }
        lseek(source.number, 0, SEEK_SET)
        let child = try ChildProcess(
            path,
            arguments,
            environment: variables,
            input: source,
            output: output,
            error: error
        )
        let status = child.waitForExit(within: limit)
        if status == nil {
            child.send(SIGKILL)
            _ = child.waitForExit(within: .seconds(5))
        }
        let result = CommandResult(
            status: status ?? 137,
            output: String(decoding: output.contents(), as: UTF8.self),
            error: String(decoding: error.contents(), as: UTF8.self)
        )
        guard status != nil else {
            throw RigError("\(program) still ran after \(limit); its standard error: \(result.error)")
        }
        return result
    }

    private static var environmentOfThisProcess: [String: String] {
        var variables: [String: String] = [:]
        var entry = environ
        while let text = entry.pointee {
            let parts = String(cString: text).split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            if parts.count == 2 { variables[String(parts[0])] = String(parts[1]) }
            entry += 1
        }
        return variables
    }
}
