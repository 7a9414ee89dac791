// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

#if CommandLine
import Foundation
import Testing

@testable import ServerRig
@testable import resolve_test

/// `watch` as it is run: by scripts, on a terminal, and against a provider that changes and stops.
struct WatchTests {
    @Test(
        "A watch ends on its own, and its status is that of the last answers",
        arguments: [
            ("one.test --map one.test=127.0.0.2 --count 2 --interval 50ms", 0),
            ("one.test --map one.test=127.0.0.2 --for 500ms", 0),
            ("one.test two.test --map one.test=127.0.0.2 --doh https://127.0.0.1:1/dns-query --count 1", 1),
            ("one.test --count 0", 2), ("one.test --interval 5", 2), ("one.test --for 0s", 2), ("", 2),
            ("https://one.test/", 2),
        ] as [(String, Int32)]
    )
    func ending(_ arguments: String, status: Int32) async throws {
        let run = try await Program.run(["watch"] + arguments.split(separator: " ").map(String.init))
        #expect(run.status == status, "\(run)")
        #expect(run.error.isEmpty == (status == 0))
        #expect(run.output.contains("one.test   127.0.0.2   mapping   no expiry\n") == (status < 2))
    }

    @Test("With --json each line is an object, and a host's state is printed once")
    func json() async throws {
        let run = try await Program.run(
            ["watch", "one.test:8443", "--map", "one.test=127.0.0.2", "--json", "--count", "3", "--interval", "50ms"]
        )
        let lines = run.output.split(separator: "\n")
        #expect(run.status == 0 && lines.count == 1, "\(run)")
        let state = try JSONObject(String(lines.first ?? ""))
        #expect(state["event"] == .text("state"))
        #expect(state["host"] == .text("one.test") && state["port"] == .integer(8443))
        #expect(state.texts("addresses") == ["127.0.0.2"])
    }

    @Test("A watch of names notes that HTTPDNS_SOCKET has no effect on them", arguments: [false, true])
    func socketOfTheEnvironment(isJSON: Bool) async throws {
        let run = try await Program.run(
            ["watch", "one.test", "--map", "one.test=127.0.0.2", "--count", "1"] + (isJSON ? ["--json"] : []),
            environment: ["HTTPDNS_SOCKET": "/nonexistent/socket"]
        )
        let note = "note: HTTPDNS_SOCKET has no effect on names; --socket PATH watches them in the service\n"
        #expect(run.status == 0 && run.error == (isJSON ? "" : note), "\(run)")
        #expect(run.output.contains("127.0.0.2"))
    }

    @Test(
        "On a terminal watch redraws its table, obeys keys and restores the terminal",
        .enabled(if: Command.find("script") != nil),
        arguments: [("dq", ""), ("", "timeout --foreground -s INT 6 "), ("", "timeout --foreground -s TERM 6 ")]
    )
    func terminal(keys: String, prefix: String) async throws {
        let watch = "\(Program.path) watch one.test --map one.test=127.0.0.2,127.0.0.3 --interval 50ms --for 60s"
        let line = "stty cols 60; \(prefix)\(watch); stty -a"
        // Each key is typed once what it is about is seen. Held open behind the keys, or script would type Ctrl-D.
        let folder = try TemporaryFolder()
        let seen = try folder.write("", to: "seen")
        let awaited = ["d": "one.test.*mapping", "q": "mapping .one.test. at"]
        let typing = keys.map {
            "until grep -aq '\(awaited["\($0)"] ?? "")' \(seen); do sleep 0.05; done; printf \($0); "
        }
        let shell = "(\(typing.joined())exec sleep 8) | script -qfec '\(line)' \(seen)"
        let run = try await Command("sh", ["-c", shell], environment: ["NO_COLOR": "1", "TERM": "xterm"]).run()
        let output = run.output
        #expect(output.contains("\u{1B}[?25l") && output.contains("\u{1B}[?25h"), "\(run)")
        #expect(output.contains("q quit   r refresh   d details\u{1B}[K"))
        #expect(output.contains("one.test  127.0.0.2 +1  mapping"))
        #expect(output.contains(#/\u{1B}\[[0-9]+A/#))
        #expect(!output.contains("\u{1B}[32m") && !output.contains("\u{1B}[2m"))
        #expect(output.contains("mapping \"one.test\" at --map") == keys.contains("d"))
        let after = output.split(separator: "\u{1B}[?25h").last ?? ""
        #expect(after.contains(#/[^-]icanon/#) && after.contains(#/[^-]echo /#), "\(after)")
    }

    @Test("A terminal that moves no cursor gets lines instead of a table", .enabled(if: Command.find("script") != nil))
    func dumb() async throws {
        let line = "\(Program.path) watch one.test --map one.test=127.0.0.2 --interval 50ms --count 2"
        let run = try await Command("script", ["-qec", line, "/dev/null"], environment: ["TERM": "dumb"]).run()
        #expect(run.status == 0 && run.output.contains("one.test   127.0.0.2   mapping   no expiry"), "\(run)")
        #expect(!run.output.contains("\u{1B}"))
    }

    @Test(
        "Refreshes, zone changes and a stopped provider are reported as they happen",
        .enabled(if: ServerRig.isAvailable([.bind]))
    )
    func provider() async throws {
        let rig = try await ServerRig.start()
        let name = "watched.wild.test"
        try await rig.setRecords(name, timeToLive: 2, ["127.0.0.2"])
        let folder = try TemporaryFolder()
        let output = try folder.write("", to: "output")
        let arguments = [
            "watch", name, "--json", "--interval", "100ms", "--for", "600s", "--family", "v4", "--doh", rig.dohURL,
            "--bootstrap", "doh.test=127.0.0.1", "--answer-scope", "loopback", "--cacert", rig.certificateAuthorityFile,
        ]
        let shell = "echo $$ > \(folder.path)/pid; exec \"$0\" \"$@\" > \(output)"
        async let run = Command("sh", ["-c", shell, Program.path] + arguments).run(within: .seconds(630))

        try await Self.wait(for: #""event":"state""#, #""host":"\#(name)""#, #""addresses":["127.0.0.2"]"#, in: output)
        try await Self.wait(for: #""event":"refreshed""#, #""host":"\#(name)""#, #""provider":"doh""#, in: output)
        try await rig.setRecords(name, timeToLive: 2, ["127.0.0.3"])
        try await Self.wait(
            for: #""event":"changed""#,
            #""addresses":["127.0.0.3"]"#,
            #""previousAddresses":["127.0.0.2"]"#,
            in: output
        )
        try await Self.wait(for: #""event":"state""#, #""addresses":["127.0.0.3"]"#, #""stale":false"#, in: output)
        rig.holdBind()
        try await Self.wait(for: #""event":"served-stale""#, in: output)
        try await Self.wait(for: #""event":"state""#, #""addresses":["127.0.0.3"]"#, #""stale":true"#, in: output)
        try await Self.wait(for: #""event":"provider-quarantined""#, #""provider":"doh""#, in: output)
        let ended = try #require(folder.read("pid").flatMap { Int32($0.dropLast()) })
        kill(ended, SIGTERM)
        #expect(try await run.status == 143)
        try await rig.stop()
    }

    /// Waits for a line of the file that has all of these in it.
    private static func wait(for parts: String..., in file: String) async throws {
        let line = try await watch(file, within: .seconds(120)) {
            try LogFile(path: file).lines(since: .beginning).first { line in parts.allSatisfy { line.contains($0) } }
                .map(String.init)
        }
        _ = try #require(line, "no line with \(parts)")
    }
}
#endif
