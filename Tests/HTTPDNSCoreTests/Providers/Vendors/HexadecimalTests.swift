// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

import HTTPDNSPrimitives
import Testing

@testable import HTTPDNSCore
@testable import HTTPDNSVendors

struct HexadecimalTests {
    @Test(
        "Known bytes and texts are converted both ways",
        arguments: [
            ([], ""), ([0], "00"), ([0xff, 0x0a, 0x10], "ff0a10"), (Array(0...15), "000102030405060708090a0b0c0d0e0f"),
        ]
            as [([UInt8], String)]
    )
    func known(octets: [UInt8], text: String) {
        #expect(octets.hexadecimal == text)
        #expect([UInt8](hexadecimal: text) == octets)
        #expect([UInt8](hexadecimal: text.uppercased()) == octets)
    }

    @Test(
        "An odd number of digits and other characters are refused",
        arguments: ["0", "abc", "0g", " 00", "0x00", "00 ", "é"]
    )
    func refused(text: String) {
        #expect([UInt8](hexadecimal: text) == nil)
    }
}
