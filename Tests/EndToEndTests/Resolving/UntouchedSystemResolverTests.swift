// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

import HTTPDNS
import ServerRig
import Testing

/// Seen from outside the process: the tripwire stands before every way to ask
/// the system resolver or a name server, and stays silent.
@Suite(
    "The system resolver is left alone",
    .enabled(if: ServerRig.isAvailable([.nginx, .bind, .compiler]))
)
struct UntouchedSystemResolverTests {
    /// A name of this test's own. Nobody but BIND knows it: the machine that runs this does not.
    private func name(_ label: String, _ rig: ServerRig, _ address: String) async throws -> String {
        let name = "\(label).wild.test"
        try await rig.setRecords(name, [address])
        let system = try await Command("getent", ["ahosts", name]).run()
        #expect(system.status == 2, "the system resolver knows \(name): \(system.output)")
        return name
    }

    /// The queries use GET and POST.
    @Test(
        "A name that only the provider knows is reached without a system lookup",
        arguments: HTTPDNSDoHProvider.Method.allCases
    )
    func program(method: HTTPDNSDoHProvider.Method) async throws {
        let rig = try await ServerRig.shared()
        let name = try await name("untouched-\(method.rawValue)", rig, "127.0.0.3")
        let folder = try TemporaryFolder()
        let text = """
            version: 1
            providers:
              bind:
                kind: doh
                url: \(rig.dohURL)
                bootstrap: 127.0.0.1
                answer_scope: loopback
                method: \(method.rawValue)
                ca_file: \(rig.certificateAuthorityFile)
            routes:
              "*.test": { providers: bind }
            client: { ca_file: \(rig.certificateAuthorityFile) }
            """
        let file = try folder.write(text, to: "untouched.yaml")
        let (log, queries) = (rig.accessLogMark(), rig.bindLogMark())
        let target = "/health?untouched-\(method.rawValue)"
        let command = try Command.resolveTest(
            ["fetch", "https://\(name):\(rig.tlsPort)\(target)", "--config", file, "-o", "-"]
        )
        let run = try await Tripwire.shared().run(command)
        #expect(run.result.status == 0 && run.result.output == "127.0.0.3\n", "\(run.result)")
        #expect(run.lookups == [])
        let lines = try await rig.awaitAccessLog(since: log) { $0.target == target }
        #expect(lines.map(\.address) == ["127.0.0.3"] && lines.map(\.sni) == [name])
        #expect(try rig.queryCount(of: name, type: "A", since: queries) == 1)
        #expect(try rig.queryCount(of: name, type: "AAAA", since: queries) == 1)
    }

    /// The program links the library alone.
    @Test("A program without Foundation gets many names without a system lookup")
    func library() async throws {
        let rig = try await ServerRig.shared()
        var expected: Set<String> = []
        var urls: [String] = []
        for (label, address) in [("probe-2", "127.0.0.2"), ("probe-3", "127.0.0.3"), ("probe-4", "127.0.0.4")] {
            let name = try await name(label, rig, address)
            urls.append("https://\(name):\(rig.tlsPort)/health")
            expected.insert("200 \(address) \(urls.last ?? "")")
        }
        urls.append("https://probe-nowhere.one.test:\(rig.tlsPort)/health")
        expected.insert("resolve-failed/resolve - \(urls.last ?? "")")
        let mark = rig.bindLogMark()
        let program = try BuiltProduct.path("httpdns-linkage-probe")
        let command = Command(program, [rig.dohURL, rig.certificateAuthorityFile] + urls)
        let run = try await Tripwire.shared().run(command)
        #expect(run.result.status == 0, "\(run.result)")
        let lines = run.result.output.split(separator: "\n").map(String.init)
        #expect(lines.count == 2 * urls.count && Set(lines) == expected, "\(run.result)")
        #expect(run.lookups == [])
        #expect(try rig.queryCount(of: "probe-2.wild.test", type: "A", since: mark) == 1)

        // The same program, led to the system resolver by an internal name: the tripwire sees it.
        let inner = Command(program, [rig.dohURL, rig.certificateAuthorityFile, "http://probe-internal/"])
        #expect(try await Tripwire.shared().run(inner).lookups == ["getaddrinfo probe-internal"])
    }
}
