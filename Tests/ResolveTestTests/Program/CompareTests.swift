// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

#if CommandLine
import ServerRig
import Testing

/// `compare` against BIND over HTTPS, nginx, and a system resolver that says what the test wants.
@Suite("resolve-test compare", .enabled(if: ServerRig.isAvailable([.nginx, .bind, .compiler])))
struct CompareTests {
    /// - Parameter system: What the system resolver says; it knows no other names.
    private func compare(
        _ arguments: [String],
        system: [String: [String]],
        isRouted: Bool = true
    ) async throws -> CommandResult {
        let rig = try await ServerRig.shared()
        let service = ["--doh", rig.dohURL, "--bootstrap", "doh.test=127.0.0.1", "--answer-scope", "loopback"]
        let provider = isRouted ? service : []
        let command = Program.command(
            ["compare", "--port", "\(rig.tlsPort)", "--cacert", rig.certificateAuthorityFile] + provider + arguments
        )
        return try await SystemAnswers.shared().run(command, answering: system)
    }

    @Test("A system answer that cannot prove the name is a suspected hijack, exit 3")
    func poisoned() async throws {
        let result = try await compare(["api.shop.test", "--probe"], system: ["api.shop.test": ["127.0.0.5"]])
        #expect(result.status == 3, "\(result)")
        #expect(result.error == "")
        #expect(
            // A second may pass before it is printed.
            result.output.withoutTimes.replacing("yes, 59 s", with: "yes, 60 s") == """
                address          HTTP-DNS       system     TLS as api.shop.test
                127.0.0.2        yes, 60 s      -          verified, N ms
                127.0.0.5        -              yes        REFUSED: certificate is for other.test
                differs, and the system answer cannot prove the name: hijack suspected

                """
        )
    }

    @Test("Two genuine answers that differ exit with 0, and with 3 when strict")
    func genuine() async throws {
        let system = ["two.test": ["127.0.0.4"]]
        let result = try await compare(["two.test", "--probe"], system: system)
        #expect(result.status == 0, "\(result)")
        #expect(result.output.hasSuffix("\ndiffers, both genuine: normal for a CDN\n"))
        #expect(result.output.contains(/127\.0\.0\.3 +yes, [0-9]+ s +- +verified/))
        #expect(result.output.contains(/127\.0\.0\.4 +- +yes +verified/))
        let strict = try await compare(["two.test", "--probe", "--strict"], system: system)
        #expect(strict.status == 3)
        #expect(strict.output.hasSuffix("\ndiffers, both genuine: normal for a CDN (--strict)\n"))
    }

    @Test("A wrong provider is distinguished from a hijacked system resolver")
    func lyingProvider() async throws {
        let result = try await compare(
            ["two.test", "--probe", "--map", "two.test=127.0.0.5"],
            system: ["two.test": ["127.0.0.3"]]
        )
        #expect(result.status == 3, "\(result)")
        #expect(
            result.output.hasSuffix(
                "\ndiffers, and the mapping answer cannot prove the name: do not trust this mapping\n"
            )
        )
    }

    @Test("A proof sends no request, so that the origins log none")
    func sendsNoRequest() async throws {
        let rig = try await ServerRig.shared()
        let mark = rig.accessLogMark()
        let name = "compare-proof.wild.test"
        let result = try await compare([name, "--probe"], system: [name: ["127.0.0.3"]])
        #expect(result.status == 0, "\(result)")
        #expect(result.output.contains(/127\.0\.0\.4 .*verified/))
        #expect(result.output.contains(/127\.0\.0\.3 .*verified/))
        // The log is written in order: once a later request stands there, an earlier one would too.
        let later = try await Program.run(
            [
                "fetch", "https://\(name):\(rig.tlsPort)/health?after-proof", "--map", "\(name)=127.0.0.3,127.0.0.4",
                "--cacert", rig.certificateAuthorityFile,
            ]
        )
        #expect(later.status == 0, "\(later)")
        let lines = try await rig.awaitAccessLog(since: mark) { $0.sni == "compare-proof.wild.test" }
        #expect(lines.map(\.target) == ["/health?after-proof"])
    }

    /// Without a probe too.
    @Test("A system answer that is a black hole is not dialed, and is suspicious")
    func blackHole() async throws {
        let result = try await compare(["two.test"], system: ["two.test": ["0.0.0.0"]])
        #expect(result.status == 3, "\(result)")
        #expect(
            result.output.contains(
                "0.0.0.0          -              yes        "
                    + "REFUSED: not dialed: 0.0.0.0 is unspecified (0.0.0.0/8), which no source may name\n"
            )
        )
    }

    /// A name that neither knows is a failure.
    @Test("Hosts keep their order, and a name that only HTTP-DNS knows is no failure")
    func several() async throws {
        let result = try await compare(["two.test", "gone.test", "api.shop.test"], system: ["two.test": ["127.0.0.3"]])
        #expect(result.status == 1, "\(result)")
        let verdicts = result.output.split(separator: "\n\n").compactMap { $0.split(separator: "\n").last }
        #expect(
            verdicts == [
                "same", "neither knows the name: nothing to compare",
                "differs: the system resolver has no address, so only HTTP-DNS answers",
            ]
        )
        #expect(result.error == "resolve-test: no verdict on 1 of 3 hosts: gone.test\n")
    }

    @Test("An address that does not answer proves nothing, and exits with 1")
    func silent() async throws {
        let result = try await compare(["two.test:1", "--probe"], system: ["two.test": ["127.0.0.3"]])
        #expect(result.status == 1, "\(result)")
        #expect(result.output.contains("no answer: Connection refused\n"))
        #expect(result.output.contains("same, and 127.0.0.3 could not be reached: nothing proved there"))
        #expect(!result.error.contains("could not be reached"), "the verdict is printed once")
    }

    @Test("A host without a route is not compared, and the error names the options")
    func unrouted() async throws {
        let result = try await compare(["two.test"], system: ["two.test": ["127.0.0.3"]], isRouted: false)
        #expect(result.status == 1, "\(result)")
        #expect(
            result.error == "resolve-test: no verdict on two.test "
                + "(--public asks public HTTP-DNS; or --doh URL, --config FILE with a route)\n"
        )
    }

    #if YAML
    @Test("A route's fallback to the system does not replace HTTP-DNS in a comparison")
    func isNeverMixed() async throws {
        let folder = try TemporaryFolder()
        let file = try folder.write(
            """
            version: 1
            providers: { dead: { kind: doh, url: https://127.0.0.9:1/dns-query, answer_scope: loopback } }
            routes: { "*": { providers: dead, fallback: system } }
            """,
            to: "httpdns.yaml"
        )
        let result = try await compare(
            ["two.test", "--config", file],
            system: ["two.test": ["127.0.0.3"]],
            isRouted: false
        )
        #expect(result.status == 1, "\(result)")
        #expect(result.output.contains("failed"))
        #expect(result.output.contains("not compared: ") && !result.error.contains("not compared: "))
    }

    @Test(
        "A route whose answers are not used yet is compared too",
        arguments: ["mode: shadow", "rollout: { percent: 0 }", "enabled: false"]
    )
    func outsideRollout(setting: String) async throws {
        let rig = try await ServerRig.shared()
        let folder = try TemporaryFolder()
        let file = try folder.write(
            """
            version: 1
            providers:
              doh:
                kind: doh
                url: "\(rig.dohURL)"
                bootstrap: [127.0.0.1]
                ca_file: "\(rig.certificateAuthorityFile)"
                answer_scope: loopback
            routes: { "*": { providers: doh, \(setting) } }
            """,
            to: "httpdns.yaml"
        )
        let result = try await compare(
            ["two.test", "--config", file],
            system: ["two.test": ["127.0.0.4"]],
            isRouted: false
        )
        #expect(result.status == 0, "\(result)")
        #expect(result.output.contains(/127\.0\.0\.3 +yes, [0-9]+ s +-/))
        #expect(result.output.contains(/127\.0\.0\.4 +- +yes/))
    }
    #endif

    @Test("In JSON each host is one line, with result and reason of each probe")
    func json() async throws {
        let result = try await compare(
            ["api.shop.test", "--probe", "--json"],
            system: ["api.shop.test": ["127.0.0.5"]]
        )
        #expect(result.status == 3, "\(result)")
        #expect(result.output.split(separator: "\n").count == 1)
        let json = try JSONObject(result.output)
        #expect(json["verdict"] == .text("system-refused"))
        #expect(json["host"] == .text("api.shop.test"))
        let (client, system): (JSONObject?, JSONObject?) = (json["client"], json["system"])
        #expect(client?.texts("addresses") == ["127.0.0.2"])
        #expect(system?.texts("addresses") == ["127.0.0.5"])
    }

    @Test(
        "Contradictory arguments are refused before any query",
        arguments: [
            (["127.0.0.1"], "\"127.0.0.1\" is an address: there is nothing to compare (give the name of a host)"),
            (["one.test", "--port", "0"], "--port 0 is out of range; allowed: 1 to 65535"),
            (
                ["one.test", "--system-fallback"],
                "compare queries HTTP-DNS and the system resolver separately, and --system-fallback mixes them "
                    + "(leave --system-fallback out)"
            ),
        ]
    )
    func usage(arguments: [String], error: String) async throws {
        let result = try await Program.run(["compare"] + arguments)
        #expect(result.status == 2)
        #expect(result.output == "")
        #expect(result.error == "resolve-test: \(error)\n")
    }
}
#endif
