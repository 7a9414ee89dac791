// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

import HTTPDNS
import HTTPDNSConfiguration
import ServerRig
import Testing

/// Resolving with a JSON DNS service: nginx on loopback, over TLS. Nobody else knows the names.
@Suite(
    "Answers of a JSON DNS service",
    .enabled(if: ServerRig.isAvailable([.nginx, .bind, .compiler]))
)
struct JSONProviderTests {
    private func service(_ rig: ServerRig, _ address: String) -> String {
        "https://json.wild.test:\(rig.tlsPort)/resolve?v4=\(address)"
    }

    /// The questions about `name` that the service has logged.
    private func questions(_ name: String, _ rig: ServerRig, since mark: LogMark, count: Int) async throws -> [String] {
        try await rig.awaitAccessLog(since: mark, count: count) { $0.target.contains("&name=\(name)&") }.map(\.target)
    }

    /// Several requests make one question.
    @Test("A request reaches the address that a JSON service gives, under its own name")
    func library() async throws {
        let rig = try await ServerRig.shared()
        let name = "json-row1.wild.test"
        let mark = rig.accessLogMark()
        var configuration = try rig.settings(mappings: [:])
        var service = HTTPDNSJSONProvider.Configuration(
            name: "own",
            service: .google,
            url: service(rig, "127.0.0.3"),
            bootstrap: [HTTPDNSAddress(v4: 127, 0, 0, 2)]
        )
        service.trustRoots = .file(rig.certificateAuthorityFile)
        service.answerScope = .loopback
        configuration.resolver.providers = [try HTTPDNSJSONProvider(service)]
        configuration.resolver.routes = [HTTPDNSRoute(.any, .providers(["own"], fallback: .off), families: .v4)]
        try await withClient(configuration) { client in
            for _ in 0..<3 {
                let response = try await client.get("https://\(name):\(rig.tlsPort)/health?json-row1")
                #expect(
                    response.destination.hasPrefix("127.0.0.3 · json \"own\" · fresh"),
                    "\(response.destination)"
                )
                #expect(try await response.text() == "127.0.0.3\n")
            }
        }
        let lines = try await rig.awaitAccessLog(since: mark, count: 3) { $0.target == "/health?json-row1" }
        #expect(lines.allSatisfy { $0.address == "127.0.0.3" && $0.sni == name })
        #expect(try await questions(name, rig, since: mark, count: 1).count == 1)
    }

    /// There is no packet to port 53 at all.
    @Test("A JSON service causes no system lookup, by the file and the command line")
    func program() async throws {
        let rig = try await ServerRig.shared()
        let name = "json-program.wild.test"
        let system = try await Command("getent", ["ahosts", name]).run()
        #expect(system.status == 2, "the system resolver knows \(name): \(system.output)")
        let folder = try TemporaryFolder()
        let text = """
            version: 1
            providers:
              own:
                kind: json-cloudflare
                url: "\(service(rig, "127.0.0.4"))"
                bootstrap: 127.0.0.2
                answer_scope: loopback
                ca_file: \(rig.certificateAuthorityFile)
            routes:
              "*.test": { providers: own }
            client: { ca_file: \(rig.certificateAuthorityFile) }
            """
        let file = try folder.write(text, to: "json.yaml")
        let mark = rig.accessLogMark()
        let url = "https://\(name):\(rig.tlsPort)/health"
        let command = try Command.resolveTest(["fetch", url, "--config", file, "-o", "-"])
        let run = try await Tripwire.shared().run(command)
        #expect(run.result.status == 0 && run.result.output == "127.0.0.4\n", "\(run.result)")
        #expect(run.lookups == [])
        let questions = try await questions(name, rig, since: mark, count: 2)
        #expect(questions.filter { $0.hasSuffix("&type=1") }.count == 1)
        #expect(questions.filter { $0.hasSuffix("&type=28") }.count == 1)
        #expect(questions.count == 2)
    }
}
