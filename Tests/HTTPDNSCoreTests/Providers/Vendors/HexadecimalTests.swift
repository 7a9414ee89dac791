// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

import Testing

@testable import HTTPDNSCore
@testable import HTTPDNSVendors

@Suite("Vendors: hexadecimal and Base64")
struct HexadecimalTests {
    @Test(
        "Known bytes and texts are converted both ways",
        arguments: [
            ([], ""), ([0], "00"), ([0xff, 0x0a, 0x10], "ff0a10"), (Array(0...15), "000102030405060708090a0b0c0d0e0f"),
        ]
            as [([UInt8], String)]
    )
    func known(octets: [UInt8], text: String) {
        #expect(Hexadecimal.text(octets) == text)
        #expect(Hexadecimal.octets(text) == octets)
        #expect(Hexadecimal.octets(text.uppercased()) == octets)
    }

    @Test(
        "An odd number of digits and other characters are refused",
        arguments: ["0", "abc", "0g", " 00", "0x00", "00 ", "é"]
    )
    func refused(text: String) {
        #expect(Hexadecimal.octets(text) == nil)
    }

    @Test(
        "Base64 follows the vectors of RFC 4648 section 10",
        arguments: [
            ("", ""), ("f", "Zg=="), ("fo", "Zm8="), ("foo", "Zm9v"), ("foob", "Zm9vYg=="), ("fooba", "Zm9vYmE="),
            ("foobar", "Zm9vYmFy"),
        ]
    )
    func base64(text: String, encoded: String) {
        #expect(Base64Text.octets(encoded) == Array(text.utf8))
    }

    @Test("Every byte survives Base64")
    func everyOctet() {
        #expect(Base64Text.octets("+/+/") == [0xfb, 0xff, 0xbf])
    }

    /// Without its padding, with other characters, with blanks, or with stray bits.
    @Test(
        "Malformed Base64 is refused",
        arguments: ["Zg", "Zg=", "Z===", "====", "Zm9v=", "Zm 9v", "Zm9v\n", "Zh==", "Zm9=", "Z-_v", "Zg==Zg=="]
    )
    func badBase64(text: String) {
        #expect(Base64Text.octets(text) == nil)
    }
}
