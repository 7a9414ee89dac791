// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

import HTTPDNSCurl
import Testing

/// RFC 3986 section 5.4, and what servers write into a Location besides.
struct ReferenceTests {
    @Test(
        "A reference leads where RFC 3986 says",
        arguments: [
            ("/x", "https://one.test:8443/x"), ("x", "https://one.test:8443/a/b/x"),
            ("../x", "https://one.test:8443/a/x"), ("../../../x", "https://one.test:8443/x"),
            ("./x/./y/../z", "https://one.test:8443/a/b/x/z"), ("?y=1", "https://one.test:8443/a/b/c?y=1"),
            ("#part", "https://one.test:8443/a/b/c?q=1"), ("//two.test/x", "https://two.test/x"),
            ("//two.test", "https://two.test/"), ("http://TWO.test:80/", "http://two.test/"),
            ("HTTPS://two.test.:443/a/../b", "https://two.test/b"), ("/a b", "https://one.test:8443/a%20b"),
            ("/caf\u{e9}", "https://one.test:8443/caf%c3%a9"),
            ("/x?u=http://two.test/", "https://one.test:8443/x?u=http://two.test/"),
            ("http://2852039166/", "http://169.254.169.254/"), ("http://0xa9fea9fe/", "http://169.254.169.254/"),
            ("https://b\u{fc}cher.test/", "https://xn--bcher-kva.test/"),
        ]
    )
    func resolved(reference: String, expected: String) throws {
        let base = try ParsedURL("https://one.test:8443/a/b/c?q=1#old")
        #expect(try base.following(reference).description.lowercased() == expected)
    }

    @Test("A fragment is inherited unless the reference has one")
    func fragments() throws {
        let base = try ParsedURL("https://one.test/a#old")
        #expect(try base.following("/b").fragment == "old")
        #expect(try base.following("/b#new").fragment == "new")
        #expect(try ParsedURL("https://one.test/a").following("/b").fragment == nil)
    }

    /// Neither http nor https.
    @Test(
        "A reference is refused that programs read differently, or with another scheme",
        arguments: [
            ("\\\\two.test/", URLFailure.Code.forbiddenByte), ("/\\two.test/", .forbiddenByte),
            ("https:\\\\two.test/", .forbiddenByte), ("/a\tb", .forbiddenByte), ("/a\u{7f}", .forbiddenByte),
            ("file:///etc/passwd", .unsupportedScheme), ("ftp://two.test/", .unsupportedScheme),
            ("javascript:alert(1)", .unsupportedScheme), ("mailto:a@two.test", .unsupportedScheme),
            ("https:two.test", .malformed), ("https:/two.test", .malformed), ("https://two.test:99999/", .port),
        ]
    )
    func refused(reference: String, code: URLFailure.Code) throws {
        let base = try ParsedURL("https://one.test/a")
        let failure = #expect(throws: URLFailure.self) { try base.following(reference) }
        #expect(failure?.code == code, "\(reference): \(failure.map(\.description) ?? "")")
    }
}
