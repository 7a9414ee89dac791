// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

import HTTPTypes
import Testing

@testable import HTTPDNS

/// The grammar of RFC 9110 section 11.6.1.
@Suite("Authentication challenges")
struct AuthenticationChallengeTests {
    private static func challenge(_ scheme: String, _ parameters: [String: String] = [:], token68: String? = nil)
        -> AuthenticationChallenge
    {
        AuthenticationChallenge(scheme: scheme, token68: token68, parameters: parameters)
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
        // A parameter twice has two meanings: the challenge is not used, the others are.
        ("Digest realm=a, realm=b, Basic realm=c", [challenge("basic", ["realm": "c"])]),
        // From broken text on, nothing is used.
        ("Basic realm=\"open", []),
        ("Basic realm=a b, Digest nonce=c", []),
        ("Basic realm=a, =b, Digest nonce=c", []),
        ("Basic realm=a, Digest nonce=\"b", [challenge("basic", ["realm": "a"])]),
        ("realm=\"a\"", []),
        ("Basic\u{1}realm=a", []),
        ("Basic realm=\"a\u{1}b\"", []),
        ("Basic realm=\"stra\u{df}e\"", [challenge("basic", ["realm": "stra\u{df}e"])]),
    ]

    @Test("A field is read as a list of challenges", arguments: fields)
    func list(field: String, expected: [AuthenticationChallenge]) {
        #expect(AuthenticationChallenge.all(in: field) == expected)
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
        #expect(AuthenticationChallenge.all(in: many).count == AuthenticationChallenge.maximumChallenges)
        let wide = "Digest " + (0..<1000).map { "p\($0)=1" }.joined(separator: ", ") + ", Basic realm=a"
        #expect(AuthenticationChallenge.all(in: wide) == [Self.challenge("basic", ["realm": "a"])])
        let long = "Basic realm=\"" + String(repeating: "a", count: AuthenticationChallenge.maximumBytes) + "\""
        #expect(AuthenticationChallenge.all(in: long) == [])
    }

    /// A cut parameter looks like one more scheme.
    @Test("Every prefix of a field is read, and gives no more challenges than the field")
    func prefixes() {
        let field = "Digest realm=\"a\\\"b\", nonce=c, qop=\"auth,auth-int\", Negotiate YWJj==, Basic realm=x"
        for count in 0...field.utf8.count {
            #expect(AuthenticationChallenge.all(in: String(field.prefix(count))).count <= 3)
        }
    }

    @Test("Authentication-Info is read as parameters, and broken text as none")
    func information() {
        #expect(
            AuthenticationChallenge.information(in: "rspauth=\"ab\", nextnonce=\"c,d\" ,qop=auth")
                == ["rspauth": "ab", "nextnonce": "c,d", "qop": "auth"]
        )
        for broken in ["", "Digest a=b", "a=\"b", "a=b c=d", "a=b, a=c"] {
            #expect(AuthenticationChallenge.information(in: broken) == [:], "\(broken)")
        }
    }
}
