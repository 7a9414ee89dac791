// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

import HTTPDNSPrimitives
import Testing

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

struct Base64Tests {
    @Test(
        "Base64 follows the vectors of RFC 4648 section 10",
        arguments: [
            ("", ""), ("f", "Zg=="), ("fo", "Zm8="), ("foo", "Zm9v"), ("foob", "Zm9vYg=="), ("fooba", "Zm9vYmE="),
            ("foobar", "Zm9vYmFy"),
        ]
    )
    func vectors(text: String, encoded: String) {
        #expect(Base64.text(Array(text.utf8)) == encoded)
        #expect(Base64.urlText(Array(text.utf8)) == encoded.filter { $0 != "=" })
        #expect(Base64.bytes(encoded) == Array(text.utf8))
    }

    @Test("The last two digits differ between texts and URLs")
    func alphabets() {
        #expect(Base64.text([0xfb, 0xff, 0xbf]) == "+/+/")
        #expect(Base64.urlText([0xfb, 0xff, 0xbf]) == "-_-_")
        #expect(Base64.bytes("+/+/") == [0xfb, 0xff, 0xbf])
    }

    /// The lengths have each rest of a division by 3. The second array has bytes that no UTF-8 has.
    @Test("Bytes of any value and length have Foundation's Base64, and survive it", arguments: 0...100)
    func everyByte(count: Int) {
        for step in [1, 37] {
            let bytes = (0..<count).map { UInt8(truncatingIfNeeded: 255 - $0 * step) }
            let text = Base64.text(bytes)
            #expect(text == Data(bytes).base64EncodedString())
            #expect(Base64.bytes(text) == bytes)
        }
    }

    /// Without its padding, with other characters, with blanks, or with stray bits.
    @Test(
        "Malformed Base64 is refused",
        arguments: ["Zg", "Zg=", "Z===", "====", "Zm9v=", "Zm 9v", "Zm9v\n", "Zh==", "Zm9=", "Z-_v", "Zg==Zg=="]
    )
    func malformed(text: String) {
        #expect(Base64.bytes(text) == nil)
    }
}
