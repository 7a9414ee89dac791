// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

#if Signing
import Testing

@testable import HTTPDNSCore
@testable import HTTPDNSVendors

/// Every vector that there is, each reproduced by the code that signs and encrypts queries. Those that the vendor publishes
/// are called so; the others were computed from its clients' sources by other means than this package.
struct AlibabaVectorTests {
    /// The digest is over names, secret and time.
    @Test(
        "Version 1 signs by MD5 as the vendor's verified vectors do",
        arguments: [
            ("www.aliyun.com", "60c71e98b6d7fcbb366243e224eab457"),
            ("www.aliyun.com,www.taobao.com", "12a3f6b1b14a46ca813ca6439beb59a4"),
        ]
    )
    func vendorV1(hosts: String, signature: String) throws {
        #expect(try AlibabaV1.signature(hosts: hosts, secret: "IAmASecret", time: "1534316400") == signature)
    }

    @Test(
        "Version 1 signs as our own vectors do",
        arguments: [
            ("www.example.com", "5eea9940c2c8cb1b57f9b8ef9516e01b"),
            ("www.example.com,img.example.com", "a5eedc8abb9e474e8a5d1734315a9f26"),
        ]
    )
    func ownV1(hosts: String, signature: String) throws {
        #expect(try AlibabaV1.signature(hosts: hosts, secret: "IAmASecret", time: "1700000600") == signature)
    }

    @Test("The vendor's vector of the schedule center is plain MD5 (verified)")
    func vendorSchedule() throws {
        let signature = try AlibabaSchedule.signature(nonce: "abcdef2345", secret: "123456", time: "1632912372")
        #expect(signature == "de7be63a9f19cf11e9d455d7d4f23cb4")
    }

    @Test("Our vector of the schedule center matches")
    func ownSchedule() throws {
        let signature = try AlibabaSchedule.signature(nonce: "0123456789ab", secret: "IAmASecret", time: "1700000000")
        #expect(signature == "716d2009c9534fbe53505d59989b637d")
    }

    /// Parameters are sorted and raw, empty ones are left out, and the key is the secret's bytes.
    @Test(
        "Version 2 signs as our own vectors do",
        arguments: [
            (
                ["v": "1.0", "q": "4,6", "dn": "www.example.com", "id": "123456", "m": "0", "exp": "1700000600"],
                "dn=www.example.com&exp=1700000600&id=123456&m=0&q=4,6&v=1.0",
                "a7666f504f76b118af5e753ace98941677821b90f4e84df2379489ae20a0a789"
            ),
            (
                [
                    "q": "4,6", "dn": "www.example.com", "id": "123456", "m": "0", "exp": "1700000600", "cip": "",
                    "sid": "x",
                ],
                "dn=www.example.com&exp=1700000600&id=123456&m=0&q=4,6",
                "489fbe936f24cbb19c9dde10e44a85ca854b747df2d72a76b43222de4a1957fa"
            ),
            (
                [
                    "sdns-city": "hz", "cip": "203.0.113.7", "dn": "www.example.com,img.example.com", "id": "123456",
                    "m": "0", "exp": "1700000600", "q": "4", "v": "1.0", "net": "wifi", "sdk": "x",
                ],
                "cip=203.0.113.7&dn=www.example.com,img.example.com&exp=1700000600&id=123456&m=0&q=4&sdns-city=hz&v=1.0",
                "e51a2f4ab40b5189fea4dec9197ff49eaa0a830201fe4b9f274f1c8322920135"
            ),
        ]
    )
    func ownV2(parameters: [String: String], text: String, signature: String) throws {
        let list = parameters.map { (name: $0.key, value: $0.value) }
        #expect(AlibabaV2Signature.text(of: list) == text)
        #expect(try AlibabaV2Signature(secret: ScriptedAlibaba.hmacSecret).signature(over: list) == signature)
    }

    private static let question = [(name: "dn", value: "www.example.com"), (name: "q", value: "4,6")]

    @Test(
        "Encrypted queries and their signatures match our own vectors",
        arguments: [
            (
                HTTPDNSAlibabaProvider.Encryption.cbc, "1",
                "000102030405060708090a0b0c0d0e0f52ab7ad75a14eaf3e3b86f36fa09df2b662d5343777bbb7ec30eecbc117f5a40"
                    + "fb3b9da7ee5d48246fff0fe3d88566a6",
                "09d6d2d4c832e9888dd19ebce372fee157f079e29bfa03bcb324ddaf3a8bbf1d"
            ),
            (
                .gcm, "2",
                "000102030405060708090a0b82397d91d5b2046c8ab10f8e7474b2189608357ad96b9f63260924b517e21a4b229a2013"
                    + "ed8f380e7c584af924c2e9fd0ee9",
                "8e2fa28e4034f684d2ac33b1d2017801176e5fe39bd64c2a62d904986176848a"
            ),
        ]
    )
    func ownCipher(encryption: HTTPDNSAlibabaProvider.Encryption, mode: String, hex: String, signature: String) throws {
        let payload = try #require(try AlibabaV2Payload(encryption, key: ScriptedAlibaba.aesKey))
        let text = try payload.encrypted(Self.question) { (0..<$0).map { UInt8($0) } }
        #expect(text == hex)
        #expect("\(AlibabaV2Payload.mode(encryption))" == mode)
        let parameters = [
            (name: "id", value: "123456"), (name: "m", value: mode), (name: "enc", value: text),
            (name: "exp", value: "1700000600"), (name: "v", value: "1.0"),
        ]
        #expect(try AlibabaV2Signature(secret: ScriptedAlibaba.hmacSecret).signature(over: parameters) == signature)
    }

    @Test(
        "Encrypted responses match our own vectors",
        arguments: [(HTTPDNSAlibabaProvider.Encryption.cbc, AlibabaBody.cbcData), (.gcm, AlibabaBody.gcmData)]
    )
    func ownAnswer(encryption: HTTPDNSAlibabaProvider.Encryption, data: String) throws {
        let payload = try #require(try AlibabaV2Payload(encryption, key: ScriptedAlibaba.aesKey))
        let text = #"{"cip":"203.0.113.7","answers":[{"dn":"www.example.com","v4":{"ips":["192.0.2.10"],"ttl":60}}]}"#
        #expect(try payload.decrypted(data) == Array(text.utf8))
    }
}
#endif
