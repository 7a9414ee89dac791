// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

import Testing

@testable import HTTPDNS

#if Digest
/// The examples of the standards, and values computed with an independent program.
struct DigestVectorTests {
    private static func challenge(_ text: String) throws -> DigestChallenge {
        try #require(DigestChallenge.strongest(of: AuthenticationChallenge.all(in: Array(text.utf8))))
    }

    /// RFC 7616 section 3.9.1.
    private static func example(_ algorithm: String, qop: String = "auth, auth-int") -> String {
        "Digest realm=\"http-auth@example.org\", qop=\"\(qop)\", algorithm=\(algorithm), "
            + "nonce=\"7ypf/xlj9XXwfDPEoM4URrv/xwf94BcCAzFZH4GiTo0v\", "
            + "opaque=\"FQhe/qaU925kfnzjCev0ciny7QMkPqMAFRtzCUYo5tdS\""
    }

    private static func answer(_ challenge: String, user: String = "Mufasa", password: String = "Circle of Life") throws
        -> DigestAnswer
    {
        let challenge = try Self.challenge(challenge)
        return DigestAnswer(
            challenge: challenge,
            user: user,
            password: password,
            method: "GET",
            target: "/dir/index.html",
            count: 1,
            clientNonce: "f2/wE4q74E6zIJEtWaHKaf5wv/H5QzzpXusqGemxURZJ",
            bodyHash: DigestHash.of("hello", challenge.function)
        )
    }

    /// RFC 7616 section 3.9.1 for `auth` without `-sess`; the others are computed with Python's hashlib.
    @Test(
        "The response matches RFC 7616 for each algorithm and protection",
        arguments: [
            ("MD5", "auth", "8ca523f5e9506fed4657c9700eebdbec"),
            ("SHA-256", "auth", "753927fa0e85d155564e2e272a28d1802ca10daf4496794697cf8db5856cb6c1"),
            ("MD5", "auth-int", "1707eaf5c6ed1a8f6ff2e49286b06bc2"),
            ("SHA-256", "auth-int", "887bb8d7a6c4cc95528278df0ec68f641244105a1d6a3aa8769488086b20e097"),
            ("MD5-sess", "auth", "e783283f46242139c486a698fec7211d"),
            ("MD5-sess", "auth-int", "6a1a4afa9798b44b19c2a93b62d15219"),
            ("SHA-256-sess", "auth", "2fd51b3a77ad75bad6afad6003e818d767133c46d9e2749e7f5232ae1ea3efd7"),
            ("SHA-256-sess", "auth-int", "84a87498d03b113c7971267b821f7ff9dec19d9a133971ebb6c8f5e22d763a57"),
        ]
    )
    func vectors(algorithm: String, qop: String, response: String) throws {
        let answer = try Self.answer(Self.example(algorithm, qop: qop))
        #expect(answer.response == response)
        #expect(
            answer.fieldText
                == "Digest username=\"Mufasa\", realm=\"http-auth@example.org\", "
                + "nonce=\"7ypf/xlj9XXwfDPEoM4URrv/xwf94BcCAzFZH4GiTo0v\", uri=\"/dir/index.html\", "
                + "algorithm=\(algorithm), qop=\(qop), nc=00000001, "
                + "cnonce=\"f2/wE4q74E6zIJEtWaHKaf5wv/H5QzzpXusqGemxURZJ\", response=\"\(response)\", "
                + "opaque=\"FQhe/qaU925kfnzjCev0ciny7QMkPqMAFRtzCUYo5tdS\""
        )
    }

    /// RFC 2617 section 3.5.
    @Test("The response matches RFC 2617")
    func rfc2617() throws {
        var answer = try Self.answer(
            "Digest realm=\"testrealm@host.com\", qop=\"auth,auth-int\", nonce=\"dcd98b7102dd2f0e8b11d0f600bfb0c093\"",
            password: "Circle Of Life"
        )
        answer = DigestAnswer(
            challenge: answer.challenge,
            user: answer.user,
            password: answer.password,
            method: "GET",
            target: answer.target,
            count: 1,
            clientNonce: "0a4f113b"
        )
        #expect(answer.response == "6629fae49393a05397450978507c4ef1")
        #expect(!answer.fieldText.contains("algorithm"))
    }

    /// RFC 2069 section 2.4, with its erratum 749.
    @Test("A challenge without qop is answered as in RFC 2069")
    func rfc2069() throws {
        let answer = try Self.answer(
            "Digest realm=\"testrealm@host.com\", nonce=\"dcd98b7102dd2f0e8b11d0f600bfb0c093\"",
            password: "CircleOfLife"
        )
        #expect(answer.response == "1949323746fe6a43ef61f9606e7febea" && answer.expectedServerProof == nil)
        for part in ["qop", "nc=", "cnonce"] { #expect(!answer.fieldText.contains(part)) }
    }

    @Test("The server's proof has an empty method, and none with auth-int")
    func serverProof() throws {
        #expect(try Self.answer(Self.example("MD5")).expectedServerProof == "9b712497bc9f91499fbcca1dfc5f09a5")
        #expect(
            try Self.answer(Self.example("SHA-256")).expectedServerProof
                == "86d3b25618d41854ca5039a5d7e53ff6355d5134a9b1fb088a78ac3c462195a0"
        )
        #expect(try Self.answer(Self.example("MD5", qop: "auth-int")).expectedServerProof == nil)
    }

    /// The user of RFC 7616 section 3.9.2, whose algorithm is not supported.
    @Test("A user outside ASCII is sent as bytes, encoded or hashed, as the server asks")
    func users() throws {
        let user = "J\u{e4}s\u{f8}n Doe"
        let plain = try Self.answer("Digest realm=\"api@example.org\", nonce=n, qop=auth", user: user).fieldText
        #expect(plain.hasPrefix("Digest username=\"\(user)\", realm="))
        let encoded = try Self.answer("Digest realm=a, nonce=n, qop=auth, charset=Utf-8", user: user).fieldText
        #expect(encoded.hasPrefix("Digest username*=UTF-8''J%C3%A4s%C3%B8n%20Doe, realm="))
        let hashed = try Self.answer(
            "Digest realm=\"api@example.org\", nonce=n, qop=auth, algorithm=SHA-256, userhash=true",
            user: user
        ).fieldText
        let hash = "5a1a8a47df5c298551b9b42ba9b05835174a5bd7d511ff7fe9191d8e946fc4e7"
        #expect(hashed.hasPrefix("Digest username=\"\(hash)\", userhash=true, realm="))
    }

    @Test("Quotes and backslashes of a server's texts are escaped again")
    func escapes() throws {
        let value = try Self.answer("Digest realm=\"a\\\"b\\\\c\", nonce=\"n\", qop=auth").fieldText
        #expect(value.contains("realm=\"a\\\"b\\\\c\", nonce=\"n\""))
    }

    /// Computed with Python's hashlib.
    @Test("The bytes of a challenge are hashed and sent back unchanged")
    func bytes() throws {
        let field =
            Array("Digest realm=\"K".utf8) + [0xf6] + Array("ln\", nonce=\"n".utf8) + [0xe9]
            + Array("\", opaque=\"".utf8) + [0xff] + Array("\", qop=auth".utf8)
        let challenge = try #require(DigestChallenge.strongest(of: AuthenticationChallenge.all(in: field)))
        let answer = DigestAnswer(
            challenge: challenge,
            user: "u",
            password: "p",
            method: "GET",
            target: "/",
            count: 1,
            clientNonce: "c"
        )
        #expect(answer.response == "4eb6f77b3df2a83a73027d8457900cbf")
        for part in [Array("\"K".utf8) + [0xf6] + Array("ln\"".utf8), Array("\"n".utf8) + [0xe9], [0x22, 0xff, 0x22]] {
            #expect(answer.fieldValue.firstRange(of: part) != nil)
        }
    }

    @Test("The strongest challenge is answered, and unusable ones are skipped")
    func preference() throws {
        let both = Self.example("MD5") + ", " + Self.example("SHA-512-256") + ", " + Self.example("SHA-256")
        #expect(try Self.challenge(both).function == .sha256)
        #expect(try Self.challenge(Self.example("MD5") + ", " + Self.example("MD5-sess")).isSession == false)
        #expect(try Self.challenge(Self.example("MD5", qop: "auth-conf,auth-int")).protection == .authInt)
        // As in curl, a protection that is not known is none, and a realm that is missing is empty.
        for text in [Self.example("MD5", qop: "auth-conf"), "Digest nonce=a", "Digest realm=a, nonce=b, qop=\"\""] {
            #expect(try Self.challenge(text).protection == nil, "\(text)")
        }
        for (text, reason) in [
            (Self.example("SHA-512-256"), "algorithm"), ("Digest realm=a, nonce=b, algorithm=MD5-sess", "algorithm"),
            ("Digest realm=a", "no nonce"), ("Digest realm=\"a\"; nonce=b", "no nonce"),
            ("Basic realm=a", "none of them"), ("", "none of them"),
        ] {
            let challenges = AuthenticationChallenge.all(in: Array(text.utf8))
            #expect(DigestChallenge.strongest(of: challenges) == nil, "\(text)")
            #expect(DigestChallenge.refusal(of: challenges).contains(reason), "\(text)")
        }
    }

    @Test("A client's nonce has 128 random bits")
    func clientNonces() {
        let nonces = Set((0..<100).map { _ in DigestAnswer.newClientNonce() })
        #expect(nonces.count == 100 && nonces.allSatisfy { $0.utf8.count == 32 })
    }
}

extension DigestAnswer {
    fileprivate var fieldText: String { String(decoding: fieldValue, as: UTF8.self) }
}
#endif
