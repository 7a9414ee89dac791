// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

#if CommandLine
import Foundation
import HTTPDNS
import HTTPDNSControl
import HTTPDNSMonitor
import HTTPDNSTesting
import Testing

@testable import ServerRig

/// The validator of JSON documents that Scripts/har-readers installs.
private enum SchemaValidator {
    /// Whether it is there, or may be installed.
    static var isAvailable: Bool {
        ServerRig.isRequired || FileManager.default.fileExists(atPath: Repository.path(".build/har-readers"))
    }
}

/// The output of every command with `--json`, beside the published schema, by the validator that Scripts/har-readers installs.
@Suite(
    "The JSON Schema of resolve-test",
    .enabled(if: ServerRig.isAvailable([.nginx, .bind]) && SchemaValidator.isAvailable)
)
struct OutputSchemaTests {
    /// A JSON document, and the definition that describes it.
    private struct Document: Encodable {
        var definition: String
        var text: String
    }

    private struct Findings: Decodable {
        var violations: [String]
        var unnoticed: [String]
        var optional: [String: [String]]
    }

    private static let schema = "Docs/Schemas/resolve-test.schema.json"

    private static let mapped = ["--map", "one.test=127.0.0.1", "--map", "two.test:8443=127.0.0.2:9443"]

    private static func findings(_ documents: [Document]) async throws -> Findings {
        let installed = try await Command(Repository.path("Scripts/har-readers"), []).run(within: .seconds(600))
        try #require(installed.status == 0, "\(installed)")
        let packages = installed.output.trimmingCharacters(in: .whitespacesAndNewlines)
        let lines = try documents.map { String(decoding: try JSONEncoder().encode($0), as: UTF8.self) + "\n" }
        let result = try await Command(
            "python3",
            [Repository.path("Tests/ResolveTestTests/Schema/validate.py"), Repository.path(schema)],
            environment: ["PYTHONPATH": packages],
            input: lines.joined()
        ).run(within: .seconds(300))
        try #require(result.status == 0, "\(result.error)")
        return try JSONDecoder().decode(Findings.self, from: Data(result.output.utf8))
    }

    /// Runs a command whose output is a document.
    private static func document(_ definition: String, _ arguments: [String], status: Int32? = 0) async throws
        -> [Document]
    {
        let run = try await Program.run(arguments + ["--json"])
        #expect(run.status == status ?? run.status, "\(arguments): \(run)")
        let errors = run.error.isEmpty ? [] : [Document(definition: "error", text: run.error)]
        return [Document(definition: definition, text: run.output)].filter { !$0.text.isEmpty } + errors
    }

    /// Runs a command that prints a document on each line.
    private static func lines(_ definition: String, _ arguments: [String], status: Int32? = 0) async throws
        -> [Document]
    {
        try await document(definition, arguments, status: status).flatMap { document in
            document.text.split(separator: "\n").map { Document(definition: document.definition, text: String($0)) }
        }
    }

    // MARK: The documents

    private static func resolving(_ rig: ServerRig) async throws -> [Document] {
        let service = [
            "--doh", rig.dohURL, "--bootstrap", "doh.test=127.0.0.1", "--answer-scope", "loopback", "--cacert",
            rig.certificateAuthorityFile,
        ]
        let dead = ["--doh", "https://127.0.0.1:1/dns-query"]
        var documents = try await lines("resolve", ["one.test", "two.test:8443", "127.0.0.1"] + mapped)
        documents += try await lines("resolve", ["img.shop.test", "nothing.test"] + service, status: 1)
        documents += try await lines("resolve", ["img.shop.test", "HTTPS", "svc-hints.test"] + service, status: 1)
        // The first provider fails, and the second one answers.
        documents += try await lines("resolve", ["dual.test"] + dead + service)
        documents += try await lines("resolve", ["svc-hints.test", "HTTPS"] + dead + service)
        let server = ["@127.0.0.1:\(rig.dnsPort)", "+time=60"]
        documents += try await lines(
            "resolve",
            ["c1.test", "nothing.test", "127.0.0.1", "A", "SOA"] + server,
            status: 1
        )
        documents += try await lines("resolve", ["one.test", "@127.0.0.1:1"], status: 1)
        documents += try await document("explain", ["http://dual.test/"] + dead + service)
        documents += try await document("explain", ["https://one.test/"] + mapped)
        documents += try await document("explain", ["http://127.0.0.1/"])
        documents += try await document("explain", ["http://one.test/"] + dead, status: 1)
        documents += try await lines(
            "compare",
            ["compare", "img.shop.test", "--probe", "--port", "\(rig.tlsPort)"] + service,
            status: nil
        )
        documents += try await lines("compare", ["compare", "one.test"] + mapped, status: nil)
        documents += try await lines("watch", ["watch", "one.test", "--count", "1"] + mapped)
        documents += try await lines(
            "watch",
            ["watch", "img.shop.test", "--count", "2", "--interval", "50ms"] + service
        )
        documents += try await lines(
            "watch",
            ["watch", "other.test", "--count", "2", "--interval", "50ms"] + dead,
            status: 1
        )
        documents += try await document("version", ["--version"])
        return documents
    }

    private static func requests() async throws -> [Document] {
        let folder = try TemporaryFolder()
        let server = try RawServer(.serve("hello", fields: "Cache-Control: max-age=600\r\n"))
        let redirecting = try RawServer(
            .readHead,
            .respond("", status: "302 Found", fields: "Location: http://one.test:\(server.port)/b\r\n")
        )
        let url = "http://one.test:\(redirecting.port)/a"
        let cached = ["fetch", "http://one.test:\(server.port)/c", "--cache", folder.path("cache")] + mapped
        var documents = try await document("fetch", ["fetch", url, "--include"] + mapped)
        _ = try await Program.run(cached)
        documents += try await document("fetch", cached)
        documents += try await document("fetch", ["fetch", "http://one.test:1/"] + mapped, status: 7)
        documents += try await document(
            "fetch",
            ["fetch", "http://one.test:\(server.port)/"] + mapped + ["-X", ""],
            status: 2
        )
        let load = ["bench", "http://127.0.0.1:\(server.port)/", "-n", "20", "-c", "2", "--warm-up", "0s"]
        // A line on standard error names the host, unless the output is JSON.
        documents += try await document("bench", load)
        documents += try await document("bench", load + ["--against", "system", "-z", "2s", "--rate", "50"])
        return documents
    }

    private static func files() async throws -> [Document] {
        let folder = try TemporaryFolder()
        let good = try folder.write(
            """
            version: 1
            providers:
              main: { kind: doh, url: "https://1.1.1.1/dns-query" }
              unused: { kind: doh, url: "https://8.8.8.8/dns-query" }
            routes: { "*.shop.example": { providers: [main] } }
            mappings:
              one.test: 203.0.113.7
              two.test: { addresses: { 203.0.113.8: 95, 203.0.113.9: 5 }, ttl: 30s }
              "*.old.test": { via: one.test }
              kept.test: { via: { host: one.test, keep: [host] } }
              last.test: { last_resort: [203.0.113.20] }
              sys.test: system
            policy: { allow: [10.0.0.0/8], deny: [203.0.113.99] }
            """,
            to: "httpdns.yaml"
        )
        let bad = try folder.write("version: 1\nmappings: { a.test: 127.0.0.300 }\nnope: 1\n", to: "bad.yaml")
        var documents = try await document("check", ["check", good])
        documents += try await document("check", ["check", bad], status: 2)
        documents += try await document("export", ["export", good])
        documents += try await document("export", ["export"], status: 2)
        return documents
    }

    private static func service() async throws -> [Document] {
        let folder = try TemporaryFolder()
        let provider = HTTPDNSScriptedProvider(name: "backup")
        let answer = HTTPDNSProviderAnswer.addresses([HTTPDNSAddress(v4: 203, 0, 113, 7)], timeToLive: .seconds(3600))
        provider.answer(.answer(answer), for: try HTTPDNSName("img.test"))
        let server = try RawServer(.serve("hello"))
        var configuration = HTTPDNSClient.Configuration()
        configuration.resolver.providers = [provider]
        configuration.resolver.timeLimit = .seconds(60)
        configuration.resolver.attemptLimit = .seconds(60)
        configuration.resolver.routes = [HTTPDNSRoute(try .init("*.test"), .providers(["backup"], fallback: .system))]
        configuration.resolver.mappings = [try HTTPDNSMapping.Key("map.test"): .addresses(["127.0.0.1"])]
        (configuration.connections.maximumPerHost, configuration.connections.queueWait) = (64, .seconds(2))
        let client = try await HTTPDNSClient(configuration: configuration)
        var settings = HTTPDNSTrafficMonitor.Settings()
        (settings.responseBodyLimit, settings.requestBodyLimit) = (.kibibytes(1), .kibibytes(1))
        let monitor = try HTTPDNSTrafficMonitor(settings)
        monitor.start(on: client)
        let socket = try HTTPDNSControlSocket(client: client, path: folder.path("s"), monitor: monitor)
        _ = try await client.resolve("img.test")
        _ = try? await client.get("http://map.test:1/")
        let response = try await client.post("http://map.test:\(server.port)/a", body: .bytes(Array("sent".utf8)))
        for try await _ in response.body {}

        let at = ["--socket", socket.path]
        var documents = try await document("dump", ["dump"] + at)
        documents += try await lines("monitor", ["monitor"] + at)
        let newest = try #require(monitor.records.last)
        documents += try await lines("monitor", ["monitor", "--id", "\(newest.callID)"] + at)
        documents += try await document("switch", ["switch", "off", "--route", "*.test"] + at)
        documents += try await document("switch", ["switch", "on", "--route", "*.test"] + at)
        documents += try await document("switch", ["switch", "off", "--route", "none.example"] + at, status: 1)
        documents += try await lines("watch", ["watch", "img.test", "--count", "1"] + at)
        try await client.shutdown()
        return documents
    }

    /// Queries a local provider once, changes its file twice, and ends it.
    private static func serving() async throws -> [Document] {
        let folder = try TemporaryFolder()
        let file = try folder.write("version: 1\nmappings: { one.test: 203.0.113.7 }\n", to: "served.yaml")
        let output = try folder.write("", to: "output")
        func line(_ event: String, _ more: String = "") async throws -> String {
            let found = try await watch(output, within: .seconds(120)) {
                try LogFile(path: output).lines(since: .beginning).map(String.init).first {
                    $0.contains("\"event\":\"\(event)\"") && (more.isEmpty || $0.contains(more))
                }
            }
            return try #require(found, "no event \(event) \(more)")
        }
        let shell = "echo $$ > '\(folder.path)/pid'; exec \"$0\" \"$@\" > '\(output)'"
        async let run = Program.shell(shell, ["serve", file, "--port", "0", "--json"])
        let listening = try await line("listening")
        guard case .integer(let port)? = try JSONObject(listening)["port"] as JSONObject.Value? else {
            throw RigError("no port in \(listening)")
        }
        _ = try await Command("curl", ["-sS", "http://127.0.0.1:\(port)/resolve?name=one.test&type=1"]).run()
        var documents = [listening, try await line("query")]
        try folder.replace("served.yaml", with: "version: 1\nmappings: { one.test: 203.0.113.8 }\n")
        documents.append(try await line("reload", "\"done\":true"))
        try folder.replace("served.yaml", with: "version: 1\nnope: 1\n")
        documents.append(try await line("reload", "\"done\":false"))
        kill(try #require(folder.read("pid").flatMap { Int32($0.dropLast()) }), SIGTERM)
        _ = try await run
        return documents.map { Document(definition: "serve", text: $0) }
    }

    // MARK: The test

    /// The keys that a definition may lack. Others are required: without one of them the output does not fulfill the schema.
    private static let optional: [String: Set<String>] = [
        "export": [
            "mappings.kept.test.via", "mappings.*.old.test.via", "mappings.last.test.last_resort",
            "mappings.two.test.addresses", "mappings.two.test.ttl",
        ],
        "error": [
            "error.attempts", "error.providers", "error.issues", "error.omittedIssues", "error.requestMayHaveBeenSent",
        ],
    ]

    /// The definitions of library types, in which every key without a value is left out.
    private static let ofLibraryTypes: Set<String> = ["dump", "monitor"]

    @Test("The output of every command has exactly the keys and types of the schema")
    func everyCommand() async throws {
        let rig = try await ServerRig.shared()
        var documents = try await Self.resolving(rig)
        for part in [
            try await Self.requests(), try await Self.files(), try await Self.service(), try await Self.serving(),
        ] {
            documents += part
        }
        let commands = Set(documents.map(\.definition))
        let schema = try JSONSerialization.jsonObject(with: Data(Repository.text(Self.schema).utf8)) as? [String: Any]
        let published = (schema?["anyOf"] as? [[String: String]] ?? []).compactMap {
            $0["$ref"]?.split(separator: "/").last
        }
        #expect(commands == Set(published.map(String.init)))
        let findings = try await Self.findings(documents)
        #expect(findings.violations == [])
        #expect(findings.unnoticed == [])
        for (definition, keys) in findings.optional where !Self.ofLibraryTypes.contains(definition) {
            #expect(Set(keys).subtracting(Self.optional[definition] ?? []) == [], "\(definition)")
        }
    }
}
#endif
