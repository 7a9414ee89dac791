// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

#if CommandLine
import ServerRig
import Testing

struct FailedFetchTests {
    private func fetch(_ server: RawServer, _ arguments: [String]) async throws -> CommandResult {
        try await Program.run(
            ["fetch", "http://one.test:\(server.port)/a?b", "--map", "one.test=127.0.0.1"] + arguments
        )
    }

    @Test("A failed call prints its hops so far, with -v what is known of the failed one")
    func failedCall() async throws {
        let second = try RawServer(.readHead, .hang)
        let place = "http://127.0.0.1:\(second.port)/x"
        let first = try RawServer { _ in
            [.readHead, .respond("", status: "302 Found", fields: "Location: \(place)\r\n")]
        }
        let arguments = ["-L", "--max-time", "1"]
        let brief = try await fetch(first, arguments)
        #expect(brief.status == 28 && brief.output == "", "\(brief)")
        let lines = brief.error.split(separator: "\n").map(String.init)
        #expect(lines.first == "hop 1  http://one.test:\(first.port)/a?b -> 302 \(place)", "\(brief)")
        #expect(lines.contains("hop 2  \(place) -> no response"))
        let bars = lines.drop { !$0.hasPrefix("hop 2") }.dropFirst().map { $0.dropFirst(7).prefix { $0 != " " } }
        #expect(bars.prefix(3) == ["resolve", "connect", "first"], "\(brief)")
        let end = try #require(lines.dropLast().last?.firstMatch(of: /^x failed in first-byte after ([0-9.]+) (ms|s)$/))
        let seconds = try #require(Double(end.output.1)) / (end.output.2 == "ms" ? 1000 : 1)
        #expect(seconds > 0.9 && seconds < 10)
        #expect(lines.last?.contains("first-byte: no response within the call's limit of 1 s (") == true)

        let verbose = try await fetch(first, arguments + ["-v"])
        #expect(verbose.error.contains("* connected to 127.0.0.1:\(second.port)\n> GET /x\n"), "\(verbose)")
        #expect(
            verbose.error.contains("x failed in first-byte after ") && verbose.error.contains("No response: timed-out")
        )
        // One failure has one text.
        let text = "127.0.0.1:\(second.port) first-byte: no response within the call's limit of 1 s ("
        #expect(verbose.error.contains(" failed: \(text)") && verbose.error.contains("\n  \(text)"), "\(verbose)")
        #expect(!verbose.error.contains("total time"))
        for quiet in [["-sS"], ["--json"]] {
            let result = try await fetch(first, arguments + quiet)
            #expect(result.status == 28 && result.error.split(separator: "\n").count == 1, "\(result)")
        }
    }

    @Test(
        "With -v a failed call has the TLS parameters and certificate of its connection",
        .enabled(if: ServerRig.isAvailable([.nginx]))
    )
    func failedConnection() async throws {
        let rig = try await ServerRig.shared()
        let result = try await Program.run([
            "fetch", "-v", "https://one.test:\(rig.tlsPort)/stall/30", "--max-time", "2", "--map", "one.test=127.0.0.2",
            "--cacert", rig.certificateAuthorityFile,
        ])
        #expect(result.status == 28, "\(result)")
        #expect(result.error.hasPrefix("* connected to 127.0.0.2:\(rig.tlsPort)\n* TLS: TLSv1.3, "), "\(result)")
        #expect(result.error.contains("* certificate: subject ") && result.error.contains("\n> GET /stall/30\n"))
    }
}
#endif
