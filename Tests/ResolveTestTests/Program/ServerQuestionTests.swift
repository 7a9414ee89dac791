// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

#if CommandLine
import ArgumentParser
import HTTPDNS
import HTTPDNSCore
import HTTPDNSMessages
import ServerRig
import Testing

@testable import resolve_test

/// `resolve NAME TYPE @SERVER` against BIND.
@Suite(.enabled(if: ServerRig.isAvailable([.bind])))
struct ServerQuestionTests {
    /// Asks BIND for a line of words, with a time limit for loaded machines.
    private func ask(_ line: String, _ more: [String] = []) async throws -> CommandResult {
        let words = line.split(separator: " ").map(String.init)
        return try await Program.run(words + ["@127.0.0.1:\(try await ServerRig.shared().dnsPort)", "+time=60"] + more)
    }

    private static let records: [(type: String, values: [String], data: [String])] = [
        ("A", ["127.0.0.2"], ["127.0.0.2"]), ("AAAA", ["2001:DB8:0::1"], ["2001:db8::1"]),
        ("PTR", ["One.test."], ["one.test."]),
        ("MX", ["10 one.test."], ["10 one.test."]), ("SRV", ["10 60 5060 one.test."], ["10 60 5060 one.test."]),
        ("TXT", [#""v=spf1 -all" "\"\\ \195\188\027;""#], [#""v=spf1 -all" "\"\\ \195\188\027;""#]),
        ("CAA", [#"128 issue "ca.test""#], [#"128 issue "ca.test""#]),
        ("SVCB", ["1 two.test. alpn=x port=99"], [#"1 two.test. alpn="x" port=99"#]),
        ("HTTPS", ["0 two.test."], ["0 two.test."]), ("TYPE65280", ["\\# 3 0AFF00"], ["\\# 3 0AFF00"]),
    ]

    @Test("Records of each type are printed as in their zone, over every transport", arguments: records)
    func types(type: String, values: [String], data: [String]) async throws {
        let rig = try await ServerRig.shared()
        let name = "type-\(type.lowercased()).wild.test"
        try await rig.setRecords(name, timeToLive: 61, type: type, values)
        let lines = data.map { "\(name).  61  IN  \(type)  \($0)\n" }.joined()
        let port = rig.dnsPort
        let udp = try await ask("\(name) \(type)")
        let tcp = try await ask("\(name) \(type) +tcp")
        for (run, carrier) in [(udp, "udp"), (tcp, "tcp")] {
            let status = "; \(name) \(type): NOERROR from 127.0.0.1:\(port) over \(carrier) in N ms\n"
            #expect(run.output.withoutTimes == lines + status && run.status == 0 && run.error == "", "\(run)")
        }
        let tls = try await Program.run([
            name, type, "@127.0.0.1:\(rig.dotPort)", "+tls", "+tls-hostname=doh.test", "+time=60",
            "--cacert", rig.certificateAuthorityFile,
        ])
        let secure = "; \(name) \(type): NOERROR from 127.0.0.1:\(rig.dotPort) over tls in N ms\n"
        #expect(tls.output.withoutTimes == lines + secure && tls.status == 0 && tls.error == "", "\(tls)")
        let https = try await Program.run([
            name, type, "@doh.test", "-p", "\(rig.dohPort)", "--bootstrap", "doh.test=127.0.0.1", "+https", "+time=60",
            "--cacert", rig.certificateAuthorityFile,
        ])
        let status = "; \(name) \(type): NOERROR from 127.0.0.1:\(rig.dohPort) over https in N ms\n"
        #expect(https.output.withoutTimes == lines + status && https.status == 0 && https.error == "", "\(https)")
        let short = try await ask("+short \(name) -t \(type)")
        #expect(short.output == data.map { $0 + "\n" }.joined() && short.error == "", "\(short)")
    }

    @Test("Aliases stand before the records at their end, and CNAME prints the first alone")
    func aliases() async throws {
        let run = try await ask("+short c3.test")
        #expect(run.status == 0 && Set(run.output.split(separator: "\n")) == ["one.test.", "127.0.0.2", "127.0.0.3"])
        let alias = try await ask("+short c1.test CNAME")
        #expect(alias.status == 0 && alias.output == "c2.test.\n", "\(alias)")
    }

    @Test("Several types and names are questions of their own")
    func several() async throws {
        let run = try await ask("+short test NS two.test -tA")
        #expect(run.status == 1 && run.output == "ns.test.\n127.0.0.3\n", "\(run)")
        #expect(run.error.contains("2 of 4 queries have no answer: test A, two.test NS"), "\(run)")
    }

    @Test("An answer that no datagram holds comes whole over TCP")
    func truncated() async throws {
        let values = (1...100).map { "127.1.1.\($0)" }
        try await ServerRig.shared().addRecords("long.wild.test", type: "A", values)
        let run = try await ask("long.wild.test A --json")
        let answer = try JSONObject(run.output)
        #expect(run.output.matches(of: /"data":"127\.1\.1\./).count == 100, "\(run)")
        #expect(answer["protocol"] == .text("tcp") && answer["status"] == .text("NOERROR"))
    }

    @Test(
        "A missing name, missing records and a refusal have their status, and exit with 1",
        arguments: [
            ("nothing.test SOA", "NXDOMAIN", "name-not-found", 1), ("one.test TXT", "NOERROR", "no-records", 1),
            ("a.invalid NS", "REFUSED", "providers-failed", 0), ("dangling.test A", "NXDOMAIN", "name-not-found", 1),
        ]
    )
    func status(line: String, status: String, reason: String, authorities: Int) async throws {
        let run = try await ask("\(line) --json")
        let answer = try JSONObject(run.output)
        #expect(run.status == 1 && answer["status"] == .text(status) && answer["protocol"] == .text("udp"), "\(run)")
        let error: JSONObject? = answer["error"]
        #expect(error?["reason"] == .text(reason))
        #expect(run.output.matches(of: /"type":"SOA"/).count == authorities, "\(run)")
    }

    @Test("An address with PTR is asked for by its name in the reverse zone")
    func reverse() async throws {
        let rig = try await ServerRig.shared()
        let mark = rig.bindLogMark()
        let run = try await ask("192.0.2.17 2001:db8::17 PTR")
        #expect(run.status == 1 && run.output.contains("192.0.2.17 PTR: REFUSED from 127.0.0.1"), "\(run)")
        let v6 = "7.1" + String(repeating: ".0", count: 22) + ".8.b.d.0.1.0.0.2.ip6.arpa"
        // The letters have a random case.
        for (name, digits) in [("17.2.0.192.in-addr.arpa", "17.2.0.192."), (v6, "7.1.0.0.")] {
            try await rig.awaitBindLog(contains: "query: \(digits)", count: 1, since: mark)
            #expect(try rig.queryCount(of: name, type: "PTR", since: mark) > 0)
        }
    }

    @Test("The system resolver looks up the name of a server, unless --bootstrap has it")
    func named() async throws {
        let port = try await ServerRig.shared().dnsPort
        let answers = try await SystemAnswers.shared()
        func ask(_ more: [String]) async throws -> CommandResult {
            let command = Program.command(["+short", "two.test", "@ns.test", "-p", "\(port)", "+time=60"] + more)
            return try await answers.run(command, answering: more.isEmpty ? ["ns.test": ["127.0.0.1"]] : [:])
        }
        for more in [[], ["--bootstrap", "ns.test=127.0.0.1"]] {
            let run = try await ask(more)
            #expect(run.status == 0 && run.output == "127.0.0.3\n", "\(run)")
        }
        let unknown = try await ask(["-v"])
        #expect(unknown.status == 1 && unknown.error.contains("cannot look up the server: "), "\(unknown)")
    }

    @Test("A server that does not answer fails the question")
    func failures() async throws {
        let refused = try await Program.run(["one.test", "A", "@127.0.0.1:1", "--json"])
        let answer = try JSONObject(refused.output)
        #expect(refused.status == 1 && answer["status"] == .null && answer["server"] == .null, "\(refused)")
        #expect(refused.error.contains("127.0.0.1:1: Connection refused"))
        let silent = try BlackHole()
        let late = try await Program.run(["one.test", "A", "@127.0.0.1:\(silent.port)", "+tcp", "+time=1"])
        #expect(late.status == 1 && late.error.contains("within 1.0 seconds"), "\(late)")
    }

    @Test(
        "Without a server the route decides, with name servers as the system resolver",
        arguments: [
            (nil, "server"), (.system, "server"), (.providers(["dead"], fallback: .system), "server"),
            (.providers(["bind"], fallback: .off), "bind"), (.providers(["dead", "bind"], fallback: .off), "bind"),
            (.providers(["dead"], fallback: .off), nil),
        ] as [(HTTPDNSRoute.Action?, String?)]
    )
    func routes(action: HTTPDNSRoute.Action?, provider: String?) async throws {
        func nameServer(_ name: String, port: UInt16) throws -> HTTPDNSDNSProvider {
            let endpoint = HTTPDNSEndpoint(address: HTTPDNSAddress(v4: 127, 0, 0, 1), port: port)
            return try HTTPDNSDNSProvider(.init(name: name, servers: .addresses([endpoint])))
        }
        let port = try await ServerRig.shared().dnsPort
        var settings = try ClientSettings(CommonOptions.parse([]), environment: [:])
        settings.configuration.resolver.providers = [
            try nameServer("dead", port: 1), try nameServer("bind", port: port),
        ]
        settings.configuration.resolver.routes = action.map { [HTTPDNSRoute(.any, $0)] } ?? []
        (settings.configuration.resolver.timeLimit, settings.configuration.resolver.attemptLimit) = (
            .seconds(60), .seconds(60)
        )
        let nameServers = try nameServer("server", port: port)
        let rows = try await settings.withClient { [settings] client in
            try await RecordLookup(client, settings, nameServers: nameServers)
                .rows([HostArgument("nodata.test"), HostArgument("10.0.0.17")], [.txt, .ptr])
        }
        await nameServers.shutdown()
        #expect(rows.map(\.type) == [.txt, .ptr, .txt, .ptr])
        #expect(rows[0].provider == provider && (rows[0].failure == nil) == (provider != nil), "\(rows[0])")
        #expect(rows[2].failure?.reason == "invalid-name")
        // No provider is told of an address that it may not answer; name servers of the system are.
        #expect((rows[3].failure?.reason == "no-provider") == (provider == "bind" || provider == nil), "\(rows[3])")
    }
}
#endif
