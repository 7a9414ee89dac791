// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

#if Signing
import Testing

@testable import HTTPDNSCore
@testable import HTTPDNSVendors

/// Every AES vector that there is; they were computed from the sources of the vendor's clients by other means than this
/// package. The vendor's own vector is of DES, which there is not.
struct TencentVectorTests {
    private static let vector = "000102030405060708090a0b0c0d0e0f"
    private static let answer = "192.0.2.10;192.0.2.11,300|203.0.113.7"
    private static let answerHex =
        vector + "bf7fa67015718ad2206bfecf448b872450edfc08514629f74c07fc99638b731b98cdaeb3fdc5cdb70477df56bf66cff9"

    private func cipher(_ key: String = "dnspodpass") throws -> TencentCipher {
        try TencentCipher(key: key) { (0..<$0).map { UInt8($0) } }
    }

    /// They are names, names with an expiry, and an answer.
    @Test(
        "Our own vectors hold in both directions",
        arguments: [
            ("www.dnspod.cn", vector + "38d6de1c8480194edec2947eca9d7fa1"),
            (
                "www.dnspod.cn;1700000600",
                vector + "37dba7425433d12f3ae4669933b86c913d98e35f35e836b754ea73725619566b"
            ),
            (answer, answerHex),
        ]
    )
    func own(text: String, hex: String) throws {
        #expect(try cipher().encrypted(text) == hex)
        #expect(try cipher().decrypted(Array(hex.utf8)) == Array(text.utf8))
        #expect(try cipher().decrypted(Array("\(hex.uppercased())\r\n".utf8)) == Array(text.utf8))
    }

    @Test("The vector of an answer has no name, and answers for the only queried name")
    func answered() throws {
        let host = try HTTPDNSName("www.example.com")
        let text = try cipher().decrypted(Array(Self.answerHex.utf8))
        let answers = try TencentAnswer.read(text, question: VendorQuery(hosts: [host], families: .v4))
        let addresses = [HTTPDNSAddress(v4: 192, 0, 2, 10), HTTPDNSAddress(v4: 192, 0, 2, 11)]
        let expected = HTTPDNSProviderAnswer.Family.addresses(addresses, timeToLive: .seconds(300), canonicalName: nil)
        #expect(answers == [host: HTTPDNSProviderAnswer(v4: expected)])
    }

    /// A key of 16 octets is taken whole, and one of 17 is refused.
    @Test("A short key is padded with the character 0, and a long key is refused")
    func keys() throws {
        let text = "www.dnspod.cn"
        #expect(try cipher("dnspodpass000000").encrypted(text) == cipher().encrypted(text))
        #expect(try cipher("dnspodpass000001").encrypted(text) != cipher().encrypted(text))
        #expect(throws: HTTPDNSProviderError.self) { try cipher("dnspodpass0000000") }
        #expect(throws: HTTPDNSProviderError.self) { try cipher("") }
        #expect(throws: HTTPDNSProviderError.self) { try TencentCipher(key: nil) { _ in [] } }
    }
}
#endif
