// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

import HTTPDNSPrimitives
import Testing

struct ASCIITextTests {
    @Test(
        "A number consists of digits alone",
        arguments: [("0", 0), ("065535", 65535), ("+1", nil), ("-0", nil), ("", nil), (" 1", nil), ("65536", nil)]
    )
    func digits(text: String, number: UInt16?) { #expect(UInt16(digits: text) == number) }

    @Test("A percent sign stands for a byte only before two hexadecimal digits", arguments: ["%+1", "%1", "%", "%0g"])
    func percent(text: String) {
        #expect(PercentCoding.decoded(text.utf8) == Array(text.utf8))
        #expect(PercentCoding.strictlyDecoded(text.utf8) == nil)
        #expect(PercentCoding.strictlyDecoded("a%C3%2f".utf8) == [0x61, 0xc3, 0x2f])
    }
}
