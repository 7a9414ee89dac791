// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

import HTTPDNSCurl
import HTTPDNSPrimitives
import Testing

struct ParsedURLTests {
    /// No trailing dot, and the rest as it is.
    @Test(
        "A canonical text has scheme and host in lower case, and no default port",
        arguments: [
            ("http://one.test", "http://one.test/"),
            ("HTTP://ONE.Test:80/A?B#c", "http://one.test/A?B"),
            ("https://one.test:443", "https://one.test/"),
            ("https://one.test:8443/%7Ea/../b/./c", "https://one.test:8443/%7Ea/../b/./c"),
            ("https://one.test./a", "https://one.test/a"),
            ("https://one.test:/a", "https://one.test/a"),
            ("http://one.test?q=1", "http://one.test/?q=1"),
            ("http://one.test/a?", "http://one.test/a?"),
            ("http://user:secret@one.test/", "http://one.test/"),
            ("http://[2001:DB8::0:7]:80/", "http://[2001:db8::7]/"),
            ("http://203.0.113.7/", "http://203.0.113.7/"),
            ("http://bücher.test/ü?ä", "http://xn--bcher-kva.test/%c3%bc?%c3%a4"),
            ("http://BÜCHER.test/", "http://xn--bcher-kva.test/"),
            ("http://%6f%6Ee.test/", "http://one.test/"),
        ]
    )
    func canonicalText(text: String, canonical: String) throws {
        let url = try ParsedURL(text)
        #expect(url.description == canonical)
        #expect(try ParsedURL(canonical).description == canonical, "the canonical text is its own canonical text")
    }

    @Test("The parts are those that libcurl would use")
    func parts() throws {
        let url = try ParsedURL("https://us%65r:p%40ss@One.Test:8443/a/b?c=d&e#f")
        #expect(url.scheme == .https)
        #expect(url.host == .name("one.test"))
        #expect(url.port == 8443)
        #expect(url.target == "/a/b?c=d&e")
        #expect(url.fragment == "f")
        #expect(url.credential?.user == "user")
        #expect(url.credential?.password == "p@ss")
        #expect(url.authority == "one.test:8443")
        #expect(!"\(url) \(String(describing: url.credential))".contains("p@ss"))
    }

    @Test(
        "A URL that programs read differently, or cannot read, is refused with its reason",
        arguments: [
            ("http://one.test\\@evil.test/", URLFailure.Code.forbiddenByte),
            ("http:\\\\one.test/", .malformed),
            ("http://one.test/a b", .forbiddenByte),
            (" http://one.test/", .forbiddenByte),
            ("http://one.test/\r\nHost: evil", .forbiddenByte),
            ("http://one.test/\0", .forbiddenByte),
            ("http://one.test/\u{7f}", .forbiddenByte),
            ("ftp://one.test/", .unsupportedScheme),
            ("file:///etc/passwd", .unsupportedScheme),
            ("one.test/a", .unsupportedScheme),
            ("one.test:80", .unsupportedScheme),
            ("", .unsupportedScheme),
            ("http:/one.test/", .malformed),
            ("http:one.test", .malformed),
            ("http:///one.test/", .missingHost),
            ("http://", .missingHost),
            ("http://:80/", .missingHost),
            ("http://./", .missingHost),
            ("http://one.test../", .missingHost),
            ("http://one.test:0/", .port),
            ("http://one.test:65536/", .port),
            ("http://one.test:8o/", .port),
            ("http://0x7f.1/", .addressForm),
            ("http://2130706433/", .addressForm),
            ("http://0177.0.0.1/", .addressForm),
            ("http://127.1/", .addressForm),
            ("http://１２７.０.０.１/", .addressForm),
            ("http://127.0.0.1./", .addressForm),
            ("http://[fe80::1%25eth0]/", .addressForm),
            ("http://[::1/", .addressForm),
            ("http://[::g]/", .addressForm),
        ]
    )
    func refusals(text: String, code: URLFailure.Code) {
        let failure = #expect(throws: URLFailure.self) { try ParsedURL(text) }
        #expect(failure?.code == code, "\(failure?.description ?? "")")
    }

    @Test("A refusal does not repeat user information")
    func secretsStayOut() {
        let failure = #expect(throws: URLFailure.self) { try ParsedURL("http://user:hunter2@0x7f.1/") }
        #expect(failure?.description.contains("hunter2") == false)
    }

    @Test("The userinfo ends at the last @ and never decides the host")
    func userInformationTricks() throws {
        #expect(try ParsedURL("http://one.test@two.test/").host == .name("two.test"))
        #expect(try ParsedURL("http://one.test%2f@two.test/").host == .name("two.test"))
        #expect(try ParsedURL("http://one.test/@two.test/").host == .name("one.test"))
        #expect(try ParsedURL("http://one.test?@two.test/").host == .name("one.test"))
        #expect(try ParsedURL("http://one.test#@two.test/").host == .name("one.test"))
    }

    @Test("A long host reaches the name rules whole")
    func longHost() throws {
        let name = String(repeating: "a", count: 300) + ".test"
        #expect(try ParsedURL("http://\(name)/").host == .name(name))
    }

    @Test(
        "A URL with added parameters is that of the whole text",
        arguments: [
            "https://one.test/a", "https://192.0.2.1/a", "http://[2001:db8::7]:8080/a?", "https://one.test/a?b=c",
            "https://one.test./a",
        ],
        ["dns=AAAB-_", "a=b&c=d%20e", "", "a=b c", "a=#b", "a=\u{e4}", "a=b?c/d"]
    )
    func added(url: String, parameters: String) throws {
        let base = try ParsedURL(url)
        let whole = try? ParsedURL(base.description + (url.contains("?") ? "&" : "?") + parameters)
        let added = try? ParsedURL(base, adding: parameters)
        #expect(added == whole && (added == nil) == parameters.contains(" "))
    }

    @Test("A thousand spellings are deterministic and idempotent")
    func idempotence() throws {
        var generator = SystemRandomNumberGenerator()
        let alphabet = Array("aB0-._~%41/?&=+:@!$'()*,;")
        for _ in 0..<1_000 {
            let path = String(
                (0..<Int.random(in: 0..<20, using: &generator)).map { _ in alphabet.randomElement(using: &generator)! }
            )
            let text = "hTTps://OnE.test:\([443, 8443].randomElement(using: &generator)!)/\(path)"
            let once = try ParsedURL(text)
            let again = try ParsedURL(once.description)
            #expect(again.description == once.description)
            #expect(try ParsedURL(text) == once)
            #expect(once.target.hasPrefix("/") && once.host == .name("one.test"))
        }
    }
}

struct InternationalNameTests {
    @Test(
        "Names become A-labels whatever the locale of the process",
        arguments: [
            ("bücher.test", "xn--bcher-kva.test"), ("BÜCHER.test", "xn--bcher-kva.test"),
            ("faß.test", "xn--fa-hia.test"), ("例え.test", "xn--r8jz45g.test"), ("ONE.test", "one.test"),
        ]
    )
    func labels(name: String, expected: String) {
        #expect(InternationalName.toASCII(name) == expected)
    }

    @Test("A name without an A-label form gives nil", arguments: ["a\u{202e}b.test", "bü cher.test"])
    func refusals(name: String) {
        #expect(InternationalName.toASCII(name) == nil)
    }
}
