// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

import Testing

@testable import HTTPDNS

/// The grammar of RFC 9110 section 11.6.1, and what curl makes of text outside it.
struct AuthenticationChallengeTests {
    private static func challenge(_ scheme: String, _ parameters: [String: String] = [:], token68: String? = nil)
        -> AuthenticationChallenge
    {
        AuthenticationChallenge(
            scheme: scheme,
            token68: token68,
            parameters: parameters.mapValues { Array($0.utf8) }
        )
    }

    static let fields: [(String, [AuthenticationChallenge])] = [
        ("", []),
        (" , ,, ", []),
        ("Basic", [challenge("basic")]),
        ("NEGOTIATE", [challenge("negotiate")]),
        ("Basic realm=\"simple\"", [challenge("basic", ["realm": "simple"])]),
        ("Basic REALM = token ", [challenge("basic", ["realm": "token"])]),
        ("Basic realm=\"a, b=\\\"c\\\" \\\\ d\"", [challenge("basic", ["realm": "a, b=\"c\" \\ d"])]),
        (
            "Newauth realm=\"apps\", type=1, title=\"Login to \\\"apps\\\"\", Basic realm=\"simple\"",
            [
                challenge("newauth", ["realm": "apps", "type": "1", "title": "Login to \"apps\""]),
                challenge("basic", ["realm": "simple"]),
            ]
        ),
        (
            "Negotiate YWJj==, Basic realm=x",
            [challenge("negotiate", token68: "YWJj=="), challenge("basic", ["realm": "x"])]
        ),
        (
            "Negotiate, NTLM ,Basic realm=x",
            [challenge("negotiate"), challenge("ntlm"), challenge("basic", ["realm": "x"])]
        ),
        ("NTLM TlRM+/.-_~", [challenge("ntlm", token68: "TlRM+/.-_~")]),
        ("Digest realm=\"\", nonce=\"\"", [challenge("digest", ["realm": "", "nonce": ""])]),
        (
            ",Basic realm=a,,,Digest nonce=b,",
            [challenge("basic", ["realm": "a"]), challenge("digest", ["nonce": "b"])]
        ),
        // The last of several parameters of a name counts.
        (
            "Digest realm=a, realm=b, Basic realm=c",
            [challenge("digest", ["realm": "b"]), challenge("basic", ["realm": "c"])]
        ),
        // Quotes and commas may be missing.
        ("Basic realm=\"open", [challenge("basic", ["realm": "open"])]),
        (
            "Basic realm=a b , Digest nonce=c==",
            [challenge("basic", ["realm": "a b"]), challenge("digest", ["nonce": "c=="])]
        ),
        (
            "Digest realm=\"r\" nonce=\"n\"algorithm=MD5 , domain=/ , Basic realm=\"x\"",
            [
                challenge("digest", ["realm": "r", "nonce": "n", "algorithm": "MD5", "domain": "/"]),
                challenge("basic", ["realm": "x"]),
            ]
        ),
        ("Digest realm=, opaque=\"\"", [challenge("digest", ["realm": "", "opaque": ""])]),
        // A parameter that cannot be read is left out.
        (
            "Basic realm=a, =b, Digest nonce=c",
            [challenge("basic", ["realm": "a"]), challenge("digest", ["nonce": "c"])]
        ),
        (
            "Digest \"x\", nonce=b; c, realm=\"r\"; stale=true, qop=auth",
            [challenge("digest", ["nonce": "b; c", "realm": "r", "qop": "auth"])]
        ),
        ("realm=\"a\", Basic", [challenge("basic")]),
        ("Basic\u{1}realm=a, Digest nonce=b", [challenge("digest", ["nonce": "b"])]),
        ("Basic realm=\"a\u{1}b\"", [challenge("basic")]),
        ("Basic realm=\"stra\u{df}e\"", [challenge("basic", ["realm": "stra\u{df}e"])]),
    ]

    @Test("A field is read as a list of challenges", arguments: fields)
    func list(field: String, expected: [AuthenticationChallenge]) {
        #expect(AuthenticationChallenge.all(in: Array(field.utf8)) == expected)
    }

    /// A realm in ISO-8859-1 is no text in UTF-8.
    @Test("The bytes of a challenge are read unchanged")
    func bytes() {
        let value = Array("Digest realm=\"K".utf8) + [0xf6] + Array("ln\", opaque=".utf8) + [0xe4, 0x80]
        let fields = HTTPFields([HTTPField(name: .wwwAuthenticate, lenientValue: value)])
        let challenges = AuthenticationChallenge.all(in: fields, .wwwAuthenticate)
        #expect(challenges.first?.parameters["realm"] == [0x4b, 0xf6, 0x6c, 0x6e])
        #expect(challenges.first?.parameters["opaque"] == [0xe4, 0x80])
    }

    @Test("Challenges of several fields are read in their order")
    func severalFields() {
        var fields = HTTPFields()
        fields.append(HTTPField(name: .wwwAuthenticate, value: "Digest realm=a, nonce=b"))
        fields.append(HTTPField(name: .wwwAuthenticate, value: "Basic realm=c"))
        #expect(AuthenticationChallenge.all(in: fields, .wwwAuthenticate).map(\.scheme) == ["digest", "basic"])
    }

    @Test("The size and the number of challenges and parameters are bounded")
    func bounds() {
        let many = (0..<1000).map { "Scheme\($0)" }.joined(separator: ", ")
        #expect(AuthenticationChallenge.all(in: Array(many.utf8)).count == AuthenticationChallenge.maximumChallenges)
        let wide = "Digest " + (0..<1000).map { "p\($0)=1" }.joined(separator: ", ") + ", Basic realm=a"
        #expect(AuthenticationChallenge.all(in: Array(wide.utf8)) == [Self.challenge("basic", ["realm": "a"])])
        let long = "Basic realm=\"" + String(repeating: "a", count: AuthenticationChallenge.maximumBytes) + "\""
        #expect(AuthenticationChallenge.all(in: Array(long.utf8)) == [])
    }

    /// A cut parameter looks like one more scheme.
    @Test("Every prefix of a field is read, and gives no more challenges than the field")
    func prefixes() {
        let field = "Digest realm=\"a\\\"b\", nonce=c, qop=\"auth,auth-int\", Negotiate YWJj==, Basic realm=x"
        for count in 0...field.utf8.count {
            #expect(AuthenticationChallenge.all(in: Array(field.utf8.prefix(count))).count <= 3)
        }
    }

    @Test("Authentication-Info is read as parameters, and broken text as none")
    func information() {
        #expect(
            AuthenticationChallenge.information(in: Array("rspauth=\"ab\", nextnonce=\"c,d\" ,qop=auth , nc=1".utf8))
                == ["rspauth": "ab", "nextnonce": "c,d", "qop": "auth", "nc": "1"].mapValues { Array($0.utf8) }
        )
        for broken in ["", "Digest a=b", "a=\"b", "a=b c=d", "a=b, a=c", "a=\"b\" c=d", "a=b, =c", "a="] {
            #expect(AuthenticationChallenge.information(in: Array(broken.utf8)) == [:], "\(broken)")
        }
    }
}
