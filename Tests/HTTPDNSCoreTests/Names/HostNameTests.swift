// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

import HTTPDNSCore
import Testing

struct HostNameTests {
    /// Stands for IDNA: what a mapping of these texts gives, hostile results included.
    private static let mappings = [
        "bücher.test": "xn--bcher-kva.test", "BÜCHER.test": "xn--bcher-kva.test", "bücher。test": "xn--bcher-kva.test",
        "one.test。": "one.test.", "１２７.０.０.１": "127.0.0.1", "①②.test": "12.test", "evil℀.test": "evila/c.test",
        "one．test": "one.test", "x.１": "x.1", "ａ．０ｘ7f": "a.0x7f", "ｌocalhost": "localhost",
        "bad＠evil.test": "bad@evil.test",
        "STILL.ßÄ": "still.ÄÄ", "ünusual": "-a", "mapped.Ü": "MAPPED.XN--TDA",
    ]

    private func read(_ text: String) throws(HTTPDNSName.Error) -> HTTPDNSName {
        try HTTPDNSName(text, toASCII: { HostNameTests.mappings[$0] })
    }

    @Test(
        "Every spelling of a name becomes its one canonical form",
        arguments: [
            ("one.test", "one.test"), ("One.TEST", "one.test"), ("one.test.", "one.test"), ("ONE.TEST.", "one.test"),
            ("-one.test", "-one.test"), ("One-.test.", "one-.test"), ("one.-test", "one.-test"), ("xn--", "xn--"),
            ("r3---sn-a.test", "r3---sn-a.test"), ("-", "-"), ("_one_.test_", "_one_.test_"), ("ünusual", "-a"),
            ("a", "a"), ("A.", "a"), ("_dns._tcp.one.test", "_dns._tcp.one.test"), ("a-b--c.test", "a-b--c.test"),
            ("XN--BCHER-KVA.test", "xn--bcher-kva.test"), ("1.2.3.test", "1.2.3.test"), ("3com", "3com"),
            ("1.2.3.4a", "1.2.3.4a"), ("0x.g1", "0x.g1"), ("0xg", "0xg"), ("12.0x7g", "12.0x7g"),
            ("bücher.test", "xn--bcher-kva.test"), ("BÜCHER.test.", "xn--bcher-kva.test"),
            ("bücher。test", "xn--bcher-kva.test"), ("one.test。", "one.test"), ("①②.test", "12.test"),
            ("one．test", "one.test"), ("mapped.Ü", "mapped.xn--tda"),
        ]
    )
    func canonicalizes(text: String, canonical: String) throws {
        let name = try read(text)
        #expect(name.description == canonical)
        #expect(try read(canonical) == name)
        #expect(try read(canonical).hashValue == name.hashValue)
    }

    @Test(
        "An invalid name is refused, and the error shows what was found",
        arguments: [
            ("", "it is empty"), (".", "it is the root"), ("..", "empty label"), (".one.test", "empty label"),
            ("one..test", "empty label"), ("one.test..", "empty label"), ("one test", "a space"),
            (" one.test", "a space"),
            ("one.test\n", "control character \\n"), ("one\u{0}.test", "control character \\u{0}"),
            ("one\u{7f}.test", "control character \\u{7f}"), ("one%2etest", "percent-encoding"),
            ("one.test/path", "not a URL"), ("https://one.test", "colon"), ("user@one.test", "without a user"),
            ("one.test:443", "a port is given apart"), ("::1", "IPv6"), ("[::1]", "character ["),
            ("*.one.test", "only patterns"), ("one,two", "character ,"), ("one\\test", "character \\\\"),
            ("one'test", "character '"),
            ("127.0.0.1", "read it as an address"), ("127.1", "read it as an address"), ("1", "read it as an address"),
            ("2130706433", "read it as an address"), ("0x7f.1", "read it as an address"),
            ("0x7f", "read it as an address"),
            ("one.0X7F", "read it as an address"), ("one.0x", "read it as an address"),
            ("one.test.1.", "read it as an address"),
            // Through the mapping of letters outside ASCII:
            ("１２７.０.０.１", "as A-labels it is \"127.0.0.1\""), ("x.１", "as A-labels it is \"x.1\""),
            ("ａ．０ｘ7f", "read it as an address"), ("evil℀.test", "as A-labels it is \"evila/c.test\""),
            ("bad＠evil.test", "without a user"), ("one.test。.", "two dots"), ("unmapped.ẞ", "RFC 5891"),
            ("STILL.ßÄ", "RFC 5891"), ("bü%2echer", "percent-encoding"),
            ("bü cher.test", "a space"), ("ü..test", "empty label"),
        ]
    )
    func refuses(text: String, reason: String) {
        let error = #expect(throws: HTTPDNSName.Error.self) { try read(text) }
        #expect(error?.reason.contains(reason) == true, "\(error?.description ?? "no error")")
    }

    @Test("A label has at most 63 bytes, and a name at most 253")
    func measures() throws {
        let label = String(repeating: "a", count: 63)
        let longest = [label, label, label, String(repeating: "b", count: 61)].joined(separator: ".")
        #expect(longest.utf8.count == 253)
        #expect(try HTTPDNSName(longest).description == longest)
        #expect(try HTTPDNSName(longest + ".").description == longest)
        #expect(try HTTPDNSName(label.uppercased()).description == label)
        #expect(throws: HTTPDNSName.Error.self) { try HTTPDNSName(longest + "b") }
        #expect(throws: HTTPDNSName.Error.self) { try HTTPDNSName(label + "a") }
        let error = #expect(throws: HTTPDNSName.Error.self) { try HTTPDNSName("x." + label + "ab.test") }
        #expect(error?.reason == "it has a label of 65 bytes, and a label has 63 at most")
        let mapped = #expect(throws: HTTPDNSName.Error.self) {
            try HTTPDNSName("ü.test", toASCII: { _ in label + "a.test" })
        }
        #expect(mapped?.reason.contains("a label of 64 bytes") == true)
    }

    @Test("A text that is far too long is refused before it is mapped")
    func boundsMapping() {
        let error = #expect(throws: HTTPDNSName.Error.self) {
            try HTTPDNSName(String(repeating: "ü.", count: 100_000), toASCII: { _ in "one.test" })
        }
        #expect(error?.reason.contains("253 at most") == true)
    }

    @Test("Hostile text is escaped and cut to 80 characters")
    func escapesInErrors() {
        let error = #expect(throws: HTTPDNSName.Error.self) {
            try HTTPDNSName("a\r\nSet-Cookie: \u{1b}[2J\u{202e}" + String(repeating: "x", count: 5_000))
        }
        #expect(error?.text.hasPrefix("a\\r\\nSet-Cookie: \\u{1b}[2J\\u{202e}xxx") == true)
        #expect((error?.text.count ?? .max) <= 90)
        #expect(error?.description.contains("\n") == false)
    }

    @Test("A name is below a suffix at dots only, and never below itself")
    func knowsSuffixes() throws {
        let zone = try HTTPDNSName("shop.example")
        for (text, expected) in [
            ("img.shop.example", true), ("a.b.shop.example", true), ("shop.example", false),
            ("workshop.example", false),
            ("example", false), ("shop.example.test", false),
        ] {
            #expect(try HTTPDNSName(text).isBelow(zone) == expected, "\(text)")
        }
    }

    @Test(
        "Localhost and internal names are recognized",
        arguments: [
            ("localhost", true, true), ("a.localhost", true, false), ("notlocalhost", false, true),
            ("localhost.test", false, false), ("db", false, true), ("printer.local", false, true),
            ("metadata.google.internal", false, true), ("home.arpa", false, true), ("nas.home.arpa", false, true),
            ("arpa", false, true), ("x.arpa", false, false), ("web.default.svc.cluster.local", false, true),
            ("notlocal.test", false, false), ("my-local", false, true), ("x.mylocal", false, false),
            ("img.shop.example", false, false),
        ]
    )
    func knowsInside(text: String, isLocalhost: Bool, isInternal: Bool) throws {
        #expect(try HTTPDNSName(text).isLocalhost == isLocalhost)
        #expect(try HTTPDNSName(text).isInternal == isInternal)
    }

    @Test("Names are ordered by their bytes")
    func orders() throws {
        let names = try ["b.test", "a.test", "a-b.test", "a_b.test"].map { try HTTPDNSName($0) }
        #expect(names.sorted().map(\.description) == ["a-b.test", "a.test", "a_b.test", "b.test"])
    }

    @Test("Address families have readable names")
    func namesFamilies() {
        #expect(HTTPDNSAddress.Families.v4.description == "IPv4")
        #expect(HTTPDNSAddress.Families.v6.description == "IPv6")
        #expect(HTTPDNSAddress.Families.both.description == "IPv4 or IPv6")
        #expect(HTTPDNSAddress.Families([]).description == "no family")
        #expect(HTTPDNSAddress.Families.v4.contains(.v4) && !HTTPDNSAddress.Families.v4.contains(.v6))
        #expect(HTTPDNSAddress.Families.both.contains(.v4) && HTTPDNSAddress.Families.both.contains(.v6))
    }
}
