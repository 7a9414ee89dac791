// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

#if LocalProvider
import Testing

@testable import HTTPDNSLocalProvider

/// Queries whose signatures and cipher texts were computed by nobody here: they must be taken as they are, and refused with one
/// digit changed.
struct VectorTests {
    private static let secret = "000102030405060708090a0b0c0d0e0f"
    private static let key = "f0e0d0c0b0a090807060504030201000"

    private func alibaba(at seconds: Int64 = Served.now) throws -> Served {
        let (secret, key) = (try Secrets.place(Self.secret), try Secrets.place(Self.key))
        return try Served("alibaba: { account: \"123456\", secret: \(secret), encryption_key: \(key) }", at: seconds)
    }

    private static let v2 = [
        "/v2/d?id=123456&m=0&dn=www.example.com&q=4,6&exp=1700000600&v=1.0&sid=Ab3dEf6hIj9k"
            + "&s=a7666f504f76b118af5e753ace98941677821b90f4e84df2379489ae20a0a789",
        "/v2/d?id=123456&m=0&dn=www.example.com&q=4%2C6&exp=1700000600"
            + "&s=489fbe936f24cbb19c9dde10e44a85ca854b747df2d72a76b43222de4a1957fa",
        "/v2/d?id=123456&m=0&dn=www.example.com,img.example.com&q=4&cip=203.0.113.7&sdns-city=hz&exp=1700000600&v=1.0"
            + "&s=e51a2f4ab40b5189fea4dec9197ff49eaa0a830201fe4b9f274f1c8322920135",
        "/v2/d?id=123456&m=1&enc=000102030405060708090a0b0c0d0e0f52ab7ad75a14eaf3e3b86f36fa09df2b662d5343777bbb7ec30eecbc117f5a40"
            + "fb3b9da7ee5d48246fff0fe3d88566a6&exp=1700000600&v=1.0"
            + "&s=09d6d2d4c832e9888dd19ebce372fee157f079e29bfa03bcb324ddaf3a8bbf1d",
        "/v2/d?id=123456&m=2&enc=000102030405060708090a0b82397d91d5b2046c8ab10f8e7474b2189608357ad96b9f63260924b517e21a4b229a2013"
            + "ed8f380e7c584af924c2e9fd0ee9&exp=1700000600&v=1.0"
            + "&s=8e2fa28e4034f684d2ac33b1d2017801176e5fe39bd64c2a62d904986176848a",
    ]

    /// Not with a digit changed.
    @Test("Alibaba's version 2 signatures are valid until the second they end", arguments: v2)
    func version2(target: String) throws {
        #expect(try alibaba().refusal(target) == "200 ok")
        #expect(try alibaba(at: 1_700_000_600).refusal(target) == "200 ok")
        #expect(try alibaba(at: 1_700_000_601).refusal(target) == "403 SignatureExpired")
        #expect(try alibaba(at: 1_700_000_600 - 86_401).refusal(target) == "403 InvalidDuration")
        let changed = String(target.dropLast()) + (target.hasSuffix("0") ? "1" : "0")
        #expect(try alibaba().refusal(changed) == "403 InvalidSignature")
        #expect(try alibaba().refusal(target.replacing("123456", with: "123457")) == "403 InvalidAccount")
        // The session is not signed; everything else is.
        #expect(try alibaba().refusal(target + "&net=wifi") == "200 ok")
        #expect(try alibaba().refusal(target + "&sdns-x=1").hasPrefix("403"))
    }

    /// The vendor's is verified.
    @Test(
        "Alibaba's version 1 signatures match the vendor's vector and ours",
        arguments: [
            (Int64(1_534_316_000), "/1/sign_d?host=www.aliyun.com&t=1534316400&s=60c71e98b6d7fcbb366243e224eab457"),
            (
                1_534_316_000,
                "/1/sign_resolve?host=www.aliyun.com,www.taobao.com&t=1534316400&s=12a3f6b1b14a46ca813ca6439beb59a4"
            ),
            (1_700_000_000, "/1/sign_d?host=www.example.com&t=1700000600&s=5eea9940c2c8cb1b57f9b8ef9516e01b"),
            (
                1_700_000_000,
                "/1/sign_resolve?host=www.example.com,img.example.com&t=1700000600&s=a5eedc8abb9e474e8a5d1734315a9f26"
            ),
        ]
    )
    func version1(seconds: Int64, target: String) throws {
        let serve = "alibaba: { secret: \(try Secrets.place("IAmASecret")) }"
        #expect(try Served(serve, at: seconds).refusal(target) == "200 ok")
        #expect(try Served(serve, at: seconds + 601).refusal(target) == "403 SignatureExpired")
        #expect(try Served(serve, at: seconds).refusal(String(target.dropLast()) + "x") == "403 InvalidSignature")
        #expect(try Served(serve, at: seconds).refusal(target.replacing("www.", with: "ww.")) == "403 InvalidSignature")
    }

    /// The vendor's is verified.
    @Test("Signatures of Alibaba's schedule center match the vendor's vector and ours")
    func schedule() throws {
        let vendor = "/1/ss?region=cn&n=abcdef2345&t=1632912372&s=de7be63a9f19cf11e9d455d7d4f23cb4"
        let ours = "/1/ss?n=0123456789ab&t=1700000000&s=716d2009c9534fbe53505d59989b637d"
        let first = "alibaba: { secret: \(try Secrets.place("123456")) }"
        let second = "alibaba: { secret: \(try Secrets.place("IAmASecret")) }"
        #expect(try Served(first, at: 1_632_912_372).refusal(vendor) == "200 ok")
        #expect(try Served(first, at: 1_632_912_372 + 151).refusal(vendor) == "403 SignatureExpired")
        #expect(try Served(second).refusal(ours) == "200 ok")
        #expect(try Served(second).refusal(ours.replacing("ab&", with: "ac&")) == "403 InvalidSignature")
    }

    @Test("Alidns' paid service")
    func alidns() throws {
        let serve = "alidns: { account: \"9999\", access_key: test, secret: \(try Secrets.place("topsecret")) }"
        let target =
            "/resolve?name=www.taobao.com&type=1&uid=9999&ak=test&ts=1614927253"
            + "&key=2f6398a1dab29e5bd6f2fd9a3e3ddca5b2a5f8309c3fb4522db3aa563586f0ed"
        #expect(try Served(serve, at: 1_614_927_253).refusal(target) == "200 ok")
        #expect(try Served(serve, at: 1_614_927_253 + 301).refusal(target) == "403 SignatureExpired")
        #expect(
            try Served(serve, at: 1_614_927_253).refusal(target.replacing("=test", with: "=best"))
                == "403 InvalidAccount"
        )
        #expect(try Served(serve, at: 1_614_927_253).refusal(String(target.dropLast()) + "c") == "403 InvalidSignature")
        #expect(try Served(at: 1_614_927_253).refusal(target) == "403 InvalidAccount")
    }

    @Test("Tencent's AES covers the names and the expiry behind them")
    func tencent() throws {
        let serve = "tencent: { id: \"77\", encryption_key: \(try Secrets.place("dnspodpass")) }"
        let plain = "/d?id=77&alg=aes&dn=000102030405060708090a0b0c0d0e0f38d6de1c8480194edec2947eca9d7fa1"
        let timed =
            "/d?id=77&alg=aes&dn=000102030405060708090a0b0c0d0e0f"
            + "37dba7425433d12f3ae4669933b86c913d98e35f35e836b754ea73725619566b"
        #expect(try Served(serve).outcome(plain).record.hosts == ["www.dnspod.cn"])
        #expect(try Served(serve).refusal(plain) == "200 ok")
        #expect(try Served(serve).outcome(timed).record.hosts == ["www.dnspod.cn"])
        #expect(try Served(serve, at: 1_700_000_601).refusal(timed) == "401 SignatureExpired")
        #expect(try Served(serve).refusal(plain.replacing("aes", with: "des")) == "400 InvalidEncryption")
        #expect(try Served(serve).refusal(plain.replacing("id=77", with: "id=78")) == "401 InvalidAccount")
        #expect(try Served(serve).refusal(String(plain.dropLast())) == "400 InvalidEncryption")
    }
}
#endif
