// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

#if CommandLine
import HTTPDNS
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
        "A service without a scheme is a host with the path of RFC 8484",
        arguments: [
            ("@1.1.1.1", "https://1.1.1.1/dns-query"), ("@doh.test:8443", "https://doh.test:8443/dns-query"),
            ("@2606:4700::1111", "https://[2606:4700::1111]/dns-query"), ("@https://doh.test/q", "https://doh.test/q"),
        ]
    )
    func services(word: String, url: String) throws {
        #expect(try words("one.test \(word)").dohURLs == [url])
    }

    @Test("A host with the name of a type is written with a dot at its end")
    func typeAsName() throws {
        #expect(try words("a. mx.").hosts.map(\.host.description) == ["a", "mx"])
    }

    @Test(
        "Unsupported words of dig are refused with advice",
        arguments: [
            ("one.test MX", [], "records of type MX cannot be queried"),
            ("one.test TYPE64", [], "records of type TYPE64 cannot be queried"),
            ("one.test", ["nope"], "-t \"nope\" is not a record type"),
            ("one.test +trace", [], "+trace is an option of dig that resolve-test does not have"),
            ("one.test @", [], "@ has no service"),
            ("one.test @user:secret@1.1.1.1", [], "@SERVICE has user information"),
            ("one.test @HTTPS://user:secret@1.1.1.1/q", [], "@SERVICE has user information"),
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
}
#endif
