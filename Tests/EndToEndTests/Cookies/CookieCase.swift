// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

import Testing

/// A case of the table: steps with one client, against nginx.
struct CookieCase: Sendable, CustomTestStringConvertible {
    /// `set URL FIELD` gets a response with this field from below the URL. `get URL COOKIES` expects this `Cookie` field in
    /// a request below the URL. `wait SECONDS` moves the clock. The test adds the server's port to each URL.
    let steps: [String]
    let testDescription: String

    init(_ description: String, _ steps: String...) {
        testDescription = description
        self.steps = steps
    }
}

extension CookieCase {
    /// All cases.
    static let all = names + values + domains + paths + secure + prefixes + lives + sites + order

    // Fields with spaces at an end are only possible over HTTP/1.1 (RFC 9113 section 8.2.1), here in clear text.
    static let names = [
        CookieCase("A name and a value", "set https://a.wild.test/ n=v", "get https://a.wild.test/ n=v"),
        CookieCase("An empty value", "set https://a.wild.test/ n=", "get https://a.wild.test/ n="),
        CookieCase("An empty name", "set https://a.wild.test/ =v", "get https://a.wild.test/ v"),
        CookieCase("No equal sign", "set https://a.wild.test/ word", "get https://a.wild.test/ word"),
        CookieCase("Nothing at all", "set http://a.wild.test/ ", "get http://a.wild.test/ "),
        CookieCase("An equal sign alone", "set https://a.wild.test/ =", "get https://a.wild.test/ "),
        CookieCase("A semicolon alone", "set https://a.wild.test/ ;", "get https://a.wild.test/ "),
        CookieCase("Attributes alone", "set https://a.wild.test/ ; Path=/", "get https://a.wild.test/ "),
        CookieCase("Spaces around the name", "set http://a.wild.test/   n  =v", "get http://a.wild.test/ n=v"),
        CookieCase(
            "Spaces around the value",
            "set http://a.wild.test/ n=  v  ; Path=/",
            "get http://a.wild.test/ n=v"
        ),
        CookieCase("Tabs around both", "set http://a.wild.test/ \tn\t=\tv\t", "get http://a.wild.test/ n=v"),
        CookieCase("A space inside a name", "set https://a.wild.test/ a b=v", "get https://a.wild.test/ a b=v"),
        CookieCase(
            "Names differ in case",
            "set https://a.wild.test/ n=1",
            "set https://a.wild.test/ N=2",
            "get https://a.wild.test/ n=1; N=2"
        ),
        CookieCase(
            "A token of special characters",
            "set https://a.wild.test/ !#$%&'*+-.^_`|~=v",
            "get https://a.wild.test/ !#$%&'*+-.^_`|~=v"
        ),
        CookieCase(
            "A name that is an attribute's",
            "set https://a.wild.test/ path=v; Path=/",
            "get https://a.wild.test/ path=v"
        ),
    ]

    static let values = [
        CookieCase("Equal signs in the value", "set https://a.wild.test/ n=a=b==", "get https://a.wild.test/ n=a=b=="),
        CookieCase("Quotes stay", "set https://a.wild.test/ n=\"a b\"", "get https://a.wild.test/ n=\"a b\""),
        CookieCase("A quoted semicolon ends", "set https://a.wild.test/ n=\"a;b\"", "get https://a.wild.test/ n=\"a"),
        CookieCase("Commas stay", "set https://a.wild.test/ n=a,b", "get https://a.wild.test/ n=a,b"),
        CookieCase("Percent signs stay", "set https://a.wild.test/ n=%41%", "get https://a.wild.test/ n=%41%"),
        CookieCase("Letters outside ASCII", "set https://a.wild.test/ n=ä€", "get https://a.wild.test/ n=ä€"),
        CookieCase("A backslash", "set https://a.wild.test/ n=a\\;b", "get https://a.wild.test/ n=a\\"),
        CookieCase(
            "A JSON text",
            "set https://a.wild.test/ n={\"a\":[1,2]}",
            "get https://a.wild.test/ n={\"a\":[1,2]}"
        ),
        CookieCase(
            "4096 bytes",
            "set https://a.wild.test/ n=\(long(4095))",
            "get https://a.wild.test/ n=\(long(4095))"
        ),
        CookieCase("4097 bytes", "set https://a.wild.test/ n=\(long(4096))", "get https://a.wild.test/ "),
        CookieCase(
            "A newer value replaces",
            "set https://a.wild.test/ n=1",
            "set https://a.wild.test/ n=2",
            "get https://a.wild.test/ n=2"
        ),
        CookieCase(
            "Unknown attributes",
            "set https://a.wild.test/ n=v; Color=red; ;; Priority=High; Partitioned",
            "get https://a.wild.test/ n=v"
        ),
    ]

    static let domains = [
        CookieCase("Host-only without Domain", "set https://a.wild.test/ n=v", "get https://b.wild.test/ "),
        CookieCase(
            "Two names on one address",
            "set https://one.test/ n=1",
            "set https://two.test/ n=2",
            "get https://one.test/ n=1",
            "get https://two.test/ n=2"
        ),
        CookieCase("Not for a name below the host", "set http://wild.test/ n=v", "get http://a.wild.test/ "),
        CookieCase(
            "Domain of the parent",
            "set https://a.wild.test/ n=v; Domain=wild.test",
            "get https://b.wild.test/ n=v"
        ),
        CookieCase(
            "Domain of the parent, for the parent",
            "set https://a.wild.test/ n=v; Domain=wild.test",
            "get http://wild.test/ n=v"
        ),
        CookieCase(
            "Domain with a leading dot",
            "set https://a.wild.test/ n=v; Domain=.wild.test",
            "get https://b.wild.test/ n=v"
        ),
        CookieCase(
            "Domain with two leading dots",
            "set https://a.wild.test/ n=v; Domain=..wild.test",
            "get https://a.wild.test/ "
        ),
        CookieCase(
            "Domain with a trailing dot",
            "set https://a.wild.test/ n=v; Domain=wild.test.",
            "get https://a.wild.test/ "
        ),
        CookieCase(
            "Domain in capitals",
            "set https://a.wild.test/ n=v; DOMAIN=Wild.TEST",
            "get https://b.wild.test/ n=v"
        ),
        CookieCase(
            "Domain of the host itself",
            "set http://x.a.wild.test/ n=v; Domain=x.a.wild.test",
            "get http://y.x.a.wild.test/ n=v"
        ),
        CookieCase(
            "Domain of another host",
            "set https://a.wild.test/ n=v; Domain=b.wild.test",
            "get https://b.wild.test/ "
        ),
        CookieCase("Domain of a child", "set http://wild.test/ n=v; Domain=a.wild.test", "get http://a.wild.test/ "),
        CookieCase(
            "Domain that only ends alike",
            "set http://evilwild.test/ n=v; Domain=wild.test",
            "get http://wild.test/ ",
            "get http://evilwild.test/ "
        ),
        CookieCase(
            "Domain of another site",
            "set https://one.test/ n=v; Domain=two.test",
            "get https://two.test/ ",
            "get https://one.test/ "
        ),
        CookieCase(
            "Empty Domain",
            "set https://a.wild.test/ n=v; Domain=",
            "get https://a.wild.test/ n=v",
            "get https://b.wild.test/ "
        ),
        CookieCase(
            "The last Domain wins",
            "set https://a.wild.test/ n=v; Domain=b.wild.test; Domain=wild.test",
            "get https://b.wild.test/ n=v"
        ),
        CookieCase(
            "Domain of a top-level name",
            "set https://a.wild.test/ n=v; Domain=test",
            "get https://a.wild.test/ "
        ),
        CookieCase(
            "Domain of a public suffix",
            "set http://a.co.uk/ n=v; Domain=co.uk",
            "get http://a.co.uk/ ",
            "get http://b.co.uk/ "
        ),
        CookieCase(
            "Domain of a private suffix",
            "set http://a.github.io/ n=v; Domain=github.io",
            "get http://b.github.io/ "
        ),
        CookieCase(
            "Domain below a public suffix",
            "set http://www.a.co.uk/ n=v; Domain=a.co.uk",
            "get http://a.co.uk/ n=v"
        ),
        CookieCase(
            "A public suffix for itself",
            "set http://github.io/ n=v; Domain=github.io",
            "get http://github.io/ n=v",
            "get http://a.github.io/ "
        ),
        CookieCase("An address", "set http://127.0.0.2/ n=v", "get http://127.0.0.2/ n=v", "get http://127.0.0.3/ "),
        CookieCase("An address as Domain", "set http://127.0.0.2/ n=v; Domain=127.0.0.2", "get http://127.0.0.2/ n=v"),
        CookieCase(
            "A part of an address as Domain",
            "set http://127.0.0.2/ n=v; Domain=0.0.2",
            "get http://127.0.0.2/ "
        ),
        CookieCase("An address is not its names", "set https://one.test/ n=v", "get http://127.0.0.2/ "),
        CookieCase(
            "A-labels as Domain",
            "set http://a.xn--bcher-kva.test/ n=v; Domain=xn--bcher-kva.test",
            "get http://xn--bcher-kva.test/ n=v"
        ),
        CookieCase(
            "Letters outside ASCII as Domain",
            "set http://a.xn--bcher-kva.test/ n=v; Domain=bücher.test",
            "get http://a.xn--bcher-kva.test/ "
        ),
        CookieCase("A host outside ASCII", "set https://bücher.test/ n=v", "get https://xn--bcher-kva.test/ n=v"),
        CookieCase("A host with a trailing dot", "set https://one.test./ n=v", "get https://one.test/ n=v"),
        CookieCase("A host in capitals", "set https://ONE.test/ n=v", "get https://one.test/ n=v"),
        CookieCase(
            "Host-only and domain cookies are two",
            "set http://x.wild.test/ n=1",
            "set http://x.wild.test/ n=2; Domain=x.wild.test",
            "get http://x.wild.test/ n=1; n=2"
        ),
    ]

    static func long(_ count: Int) -> String { String(repeating: "x", count: count) }
}
