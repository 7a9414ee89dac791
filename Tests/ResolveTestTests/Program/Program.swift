// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

#if CommandLine
import Foundation
import ServerRig

/// The built program, which stands beside the test bundle.
enum Program {
    static let path = try! BuiltProduct.path("resolve-test")

    static func command(_ arguments: [String], environment: [String: String] = [:], input: String = "") -> Command {
        try! Command.resolveTest(arguments, environment: environment, input: input)
    }

    /// Runs it below a shell line, in which `$0` is the program and `$@` its arguments.
    static func shell(_ line: String, _ arguments: [String]) async throws -> CommandResult {
        try await Command("sh", ["-c", line, path] + arguments).run(within: .seconds(120))
    }

    /// Runs it as a user who owns nothing, where the tests run as root.
    static func asNobody(_ arguments: [String]) async throws -> CommandResult {
        // A copy, since the build's folder may be closed to others. Another program makes it: what this process had open for
        // writing, children that other tests start just then would hold open too, and a file that is written cannot be run.
        let copy = "/tmp/resolve-test-\(UUID().uuidString.prefix(8))"
        _ = try await Command("install", ["-m", "0755", path, copy]).run()
        defer { try? FileManager.default.removeItem(atPath: copy) }
        return try await Command("runuser", ["-u", "nobody", "--", copy] + arguments).run()
    }

    static func run(
        _ arguments: [String],
        environment: [String: String] = [:],
        input: String = ""
    ) async throws -> CommandResult {
        try await command(arguments, environment: environment, input: input).run()
    }
}

extension String {
    /// The text with measured times replaced, which differ from run to run.
    var withoutTimes: String {
        replacing(/[0-9]+(\.[0-9]+)? ms/, with: "N ms").replacing(/"seconds":[0-9.e-]+/, with: "\"seconds\":N")
    }
}
#endif
