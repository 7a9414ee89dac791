// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

#if CommandLine
import Foundation
import Testing

@testable import ServerRig

/// Signals, as shells and nohup hand them down.
struct SignalTests {
    /// Runs a watch below a shell line, and sends it `signal` once it watches.
    private func watched(_ prefix: String, _ arguments: [String], _ signal: Int32) async throws -> CommandResult {
        let folder = try TemporaryFolder()
        let output = try folder.write("", to: "output")
        let watching = ["watch", "one.test", "--map", "one.test=127.0.0.2", "--interval", "50ms"] + arguments
        let line = "\(prefix) echo $$ > \(folder.path)/pid; exec \"$0\" \"$@\" > \(output)"
        async let run = Program.shell(line, watching)
        let seen = try await watch(output, within: .seconds(120)) {
            folder.read("output")?.contains("127.0.0.2") == true ? true : nil
        }
        #expect(seen == true)
        kill(try #require(folder.read("pid").flatMap { Int32($0.dropLast()) }), signal)
        return try await run
    }

    @Test("A signal that was ignored when the program began stays ignored", arguments: [SIGHUP, SIGINT])
    func inherited(signal: Int32) async throws {
        let run = try await watched("trap '' \(signal);", ["--for", "2s"], signal)
        #expect(run.status == 0, "\(run)")
    }

    @Test("A closed pipe is an error when SIGPIPE was ignored, and else ends the program", arguments: [true, false])
    func brokenPipe(isIgnored: Bool) async throws {
        let folder = try TemporaryFolder()
        let line =
            "\(isIgnored ? "trap '' PIPE" : ":"); mkfifo '\(folder.path)/p'; exec 3<>'\(folder.path)/p' 4>'\(folder.path)/p' "
            + "3>&-; exec \"$0\" \"$@\" >&4"
        let run = try await Program.shell(line, ["127.0.0.1"])
        #expect(run.status == (isIgnored ? 1 : 141), "\(run)")
        #expect(run.error == (isIgnored ? "resolve-test: cannot write the output: Broken pipe\n" : ""))
    }

    @Test(
        "The exit status in JSON is that of the process",
        arguments: [(SIGINT, 130), (SIGHUP, 129)] as [(Int32, Int32)]
    )
    func status(signal: Int32, status: Int32) async throws {
        let run = try await watched("", ["--json"], signal)
        #expect(run.status == status)
        #expect(run.error.contains("\"exitStatus\":\(status)"), "\(run)")
    }
}
#endif
