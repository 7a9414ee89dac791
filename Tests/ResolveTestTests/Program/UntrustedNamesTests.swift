// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

#if CommandLine
import ServerRig
import Testing

/// The program beside names whose owners point them into the network, and with a file that limits what is reached.
@Suite("Names that lead to internal addresses", .enabled(if: ServerRig.isAvailable([.compiler])))
struct UntrustedNamesTests {
    private func run(_ arguments: [String], system: [String: [String]]) async throws -> CommandResult {
        try await SystemAnswers.shared().run(Program.command(arguments), answering: system)
    }

    /// With the dot no search list of `resolv.conf` applies, so the system resolver may have another answer.
    @Test("Every command asks the system resolver for a name with its final dot")
    func finalDot() async throws {
        let system = ["svc.test.": ["127.0.0.2"], "svc.test": ["127.0.0.3"]]
        for (name, address, other) in [("svc.test.", "127.0.0.2", "127.0.0.3"), ("svc.test", "127.0.0.3", "127.0.0.2")]
        {
            for arguments in [
                ["resolve", name], ["+short", name, "A"], ["explain", "http://\(name)/"], ["compare", name, "--json"],
                ["watch", name, "--count", "1", "--json"],
            ] {
                let result = try await run(arguments, system: system)
                #expect(result.output.contains(address) && !result.output.contains(other), "\(arguments): \(result)")
            }
        }
    }

    @Test("A failing provider does not let the system resolver lead a request inside")
    func fallback() async throws {
        let server = try RawServer(.hang)
        let folder = try TemporaryFolder()
        let file = try folder.write(
            """
            version: 1
            providers: { dead: { kind: doh, url: "http://127.0.0.9:1/dns-query" } }
            routes: { "*": { providers: dead, fallback: system } }
            policy: { providers_may_answer: public }
            """,
            to: "httpdns.yaml"
        )
        let url = "http://evil.test:\(server.port)/"
        let result = try await run(["fetch", url, "--config", file], system: ["evil.test": ["127.0.0.1"]])
        #expect(result.status == 1 && result.error.contains("in place of providers"), "\(result)")
        #expect(server.connections.isEmpty)
        let bySystem = file.replacing("httpdns.yaml", with: "system.yaml")
        try folder.write("version: 1\nroutes: { evil.test: system }\n", to: "system.yaml")
        let explained = try await run(["explain", url, "--config", bySystem], system: ["evil.test": ["127.0.0.1"]])
        #expect(explained.status == 0 && explained.output.contains("127.0.0.1"), "\(explained)")
    }

    /// It holds for every source.
    @Test("The commands check and explain show reachable_networks")
    func reachableNetworks() async throws {
        let server = try RawServer(.hang)
        let folder = try TemporaryFolder()
        let file = try folder.write(
            """
            version: 1
            providers: { near: { kind: doh, url: "http://127.0.0.9:1/dns-query", answer_scope: private } }
            routes: { "near.test": { providers: near } }
            mappings: { mapped.test: 127.0.0.1, public.test: 203.0.113.7 }
            policy: { deny: 10.0.0.0/8 }
            client: { reachable_networks: public_internet }
            """,
            to: "httpdns.yaml"
        )
        let checked = try await Program.run(["check", file, "-v"])
        for line in [/reachable +public_internet/, /deny +10\.0\.0\.0\/8/, /provider +near +answers private/] {
            #expect(checked.output.contains(line), "\(checked)")
        }
        let explained = try await Program.run(["explain", "https://public.test/", "--config", file])
        #expect(explained.output.contains("reachable: public_internet"), "\(explained)")
        for host in ["mapped.test", "system.test", "127.0.0.1", "localhost"] {
            for command in ["explain", "fetch"] {
                let result = try await run(
                    [command, "http://\(host):\(server.port)/", "--config", file],
                    system: ["system.test": ["127.0.0.1"]]
                )
                #expect(
                    result.status == 1 && result.error.contains("set client.reachable_networks of the file to any"),
                    "\(result)"
                )
            }
        }
        #expect(server.connections.isEmpty)
    }
}
#endif
