// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

#if CommandLine
import HTTPDNS
import HTTPDNSMessages
import ServerRig
import Testing

@testable import resolve_test

/// The arguments of `resolve`, as users of dig write them.
struct ResolveWordsTests {
    private func words(_ line: String, types: [String] = []) throws -> ResolveWords {
        try ResolveWords(line.split(separator: " ").map(String.init), types: types)
    }

    @Test(
        "Hosts, types, services and +short are told apart in any order",
        arguments: [
            "A one.test https @https://1.1.1.1/q two.test:81 +short",
            "+short one.test two.test:81 HTTPS a @https://1.1.1.1/q",
            "@https://1.1.1.1/q one.test IN A HTTPS two.test:81 +short",
        ]
    )
    func anyOrder(line: String) throws {
        let words = try words(line)
        #expect(words.hosts.map(\.text) == ["one.test", "two.test:81"])
        #expect(words.types == [.a, .https] && words.families == .v4)
        #expect(words.dohURLs == ["https://1.1.1.1/q"] && words.isShort)
    }

    @Test(
        "Address types select the families, and HTTPS alone selects none",
        arguments: [
            ("", nil), ("A", .v4), ("aaaa", .v6), ("A AAAA", .both), ("HTTPS", []), ("AAAA HTTPS", .v6),
            ("TYPE1", .v4), ("type28", .v6), ("TYPE65", []),
        ] as [(String, HTTPDNSAddress.Families?)]
    )
    func families(types: String, families: HTTPDNSAddress.Families?) throws {
        #expect(try words("one.test \(types)").families == families)
        #expect(try words("one.test", types: types.split(separator: " ").map(String.init)).families == families)
    }

    @Test(
        "A server is an address or a name, with a port of its own or of -p",
        arguments: [
            ("@1.1.1.1", nil, "1.1.1.1 0"), ("@ns.test:5353", nil, "ns.test 5353"), ("@1.1.1.1", 53, "1.1.1.1 53"),
            ("@2606:4700::1111", nil, "2606:4700::1111 0"), ("@[::1]:5353", nil, "::1 5353"), ("@::1", 54, "::1 54"),
        ] as [(String, UInt16?, String)]
    )
    func servers(word: String, port: UInt16?, server: String) throws {
        let words = try ResolveWords(["one.test", word], types: [], port: port)
        #expect(words.dohURLs == [] && words.server.isGiven && words.server.carrier == .datagrams)
        #expect(words.server.server.map { "\($0.host) \($0.port)" } == server)
    }

    @Test(
        "The words of dig select what carries a question, and its time",
        arguments: [
            ("", .datagrams, 5), ("+tcp", .tcp, 5), ("+tls", .tls, 5), ("+tls +tls-hostname=a.test", .tls, 5),
            ("+https", .https("/dns-query"), 5), ("+https=/q", .https("/q"), 5),
            ("+time=30", .datagrams, 30), ("+tcp +time=1", .tcp, 1),
        ] as [(String, ServerArgument.Carrier, Int)]
    )
    func carriers(line: String, carrier: ServerArgument.Carrier, seconds: Int) throws {
        let server = try words("\(line) one.test @1.1.1.1").server
        #expect(server.carrier == carrier && server.timeLimit == .seconds(seconds))
    }

    @Test(
        "A server is asked for every type, by default A; else for all but addresses",
        arguments: [
            ("", nil, [1]), ("", .v6, [28]), ("", .both, [1, 28]), ("TXT A", nil, [1, 16]),
            ("TYPE48 ptr", nil, [12, 48]),
        ] as [(String, FamilyChoice?, [UInt16])]
    )
    func recordTypes(line: String, family: FamilyChoice?, types: [UInt16]) throws {
        #expect(try words("one.test \(line) @1.1.1.1").recordTypes(family).map(\.number) == types)
        #expect(try words("one.test \(line) +tcp").recordTypes(family).map(\.number) == types)
        let others = line.isEmpty ? [] : types.filter { $0 != 1 && $0 != 28 }
        #expect(try words("one.test \(line)").recordTypes(family).map(\.number) == others)
    }

    @Test("A host with the name of a type is written with a dot at its end")
    func typeAsName() throws {
        #expect(try words("a. mx.").hosts.map(\.host.description) == ["a", "mx"])
    }

    @Test(
        "Unsupported words of dig are refused with advice",
        arguments: [
            ("one.test DNSKEY", [], "records of type DNSKEY cannot be queried"),
            ("one.test TYPE255", [], "records of type TYPE255 cannot be queried"),
            ("one.test TYPE41", [], "records of type TYPE41 cannot be queried"),
            ("one.test TYPE0", [], "records of type TYPE0 cannot be queried"),
            ("one.test TYPE65536", [], "records of type TYPE65536 cannot be queried"),
            ("one.test", ["nope"], "-t \"nope\" is not a record type"),
            ("one.test +trace", [], "+trace is an option of dig that resolve-test does not have"),
            ("one.test @", [], "@ has no server"),
            ("one.test @user:secret@1.1.1.1", [], "@SERVER has user information"),
            ("one.test @HTTPS://user:secret@1.1.1.1/q", [], "@SERVER has user information"),
            ("one.test @1.1.1.1 +tls=1", [], "+tls=1 is an option of dig that resolve-test does not have"),
            ("one.test @1.1.1.1 +tls-hostname=a.test", [], "+tls-hostname is for +tls"),
            ("one.test @1.1.1.1 @1.0.0.1", [], "two servers are given; one is asked"),
            ("one.test @1.1.1.1/q", [], "@1.1.1.1/q has a path"),
            ("one.test @1.1.1.1 +tcp +https", [], "+tcp, +tls and +https are different protocols"),
            ("one.test @1.1.1.1 +https=q", [], "+https has no path that begins with /"),
            ("one.test @1.1.1.1 +time=0", [], "+time has no whole number of seconds"),
            ("one.test @1.1.1.1 +tcp=1", [], "+tcp=1 is an option of dig that resolve-test does not have"),
            ("one.test +https", [], "+https has no @SERVER"), ("one.test +time=2", [], "+time has no @SERVER"),
            ("one.test:81 TXT", [], "one.test:81 has a port, which TXT records do not have"),
            ("one.test:81 @1.1.1.1", [], "one.test:81 has a port, which A records do not have"),
            ("A +short", [], "no host is given"),
        ] as [(String, [String], String)]
    )
    func refused(line: String, types: [String], message: String) throws {
        do {
            _ = try words(line, types: types)
            Issue.record("\(line) was accepted")
        } catch let failure as CommandFailure {
            #expect(failure.message == message)
            #expect(failure.exitStatus == 2 && failure.hint?.isEmpty == false)
        }
    }

    @Test("A port of -p needs a server without one", arguments: [[], ["@1.1.1.1:53"]])
    func portAlone(server: [String]) {
        #expect(throws: CommandFailure.self) { try ResolveWords(["one.test"] + server, types: [], port: 53) }
    }

    @Test(
        "Options about other sources are refused with a server",
        arguments: [
            ["--map", "a.test=127.0.0.1"], ["--config", "/nonexistent"], ["--doh", "https://127.0.0.1/q"], ["--public"],
            ["--system-fallback"], ["--allow", "10.0.0.0/8"], ["--answer-scope", "private"], ["@https://127.0.0.1/q"],
        ]
    )
    func otherSources(options: [String]) async throws {
        let run = try await Program.run(["one.test", "@127.0.0.1:1"] + options)
        #expect(
            run.status == 2 && run.error.contains("cannot be used with @127.0.0.1:1, which is asked alone"),
            "\(run)"
        )
    }
}
#endif
