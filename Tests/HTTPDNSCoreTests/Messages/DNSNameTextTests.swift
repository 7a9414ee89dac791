// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

import HTTPDNSCore
import HTTPDNSMessages
import Testing

struct DNSNameTextTests {
    @Test(
        "Labels, case, the last dot and escapes are read as RFC 1035 and 4343 say",
        arguments: [
            ("one.test", [3] + Array("one".utf8) + [4] + Array("test".utf8) + [0]),
            ("ONE.Test.", [3] + Array("one".utf8) + [4] + Array("test".utf8) + [0]), (".", [0]),
            (#"a\.b.c"#, [3] + Array("a.b".utf8) + [1] + Array("c".utf8) + [0]),
            (#"\000\255\\.x"#, [3, 0, 255, 0x5c, 1] + Array("x".utf8) + [0]),
            (#"\065.x"#, [1] + Array("a".utf8) + [1] + Array("x".utf8) + [0]),
            ("é.x", [2, 0xc3, 0xa9, 1] + Array("x".utf8) + [0]),
        ] as [(String, [UInt8])]
    )
    func read(text: String, octets: [UInt8]) {
        #expect(DNSName(presentation: text)?.octets == octets)
    }

    @Test("Printed names are read back")
    func roundTrip() {
        let name = DNSName(validatedOctets: [5, 0x2e, 0x5c, 0, 0xff, 0x20, 1, 0x61, 0])
        #expect(DNSName(presentation: name.description) == name)
    }

    @Test(
        "Empty and long labels, long names and broken escapes are refused",
        arguments: ["", "..", ".a", "a..b", "a..", #"a\"#, #"a\1"#, #"a\12x"#, #"a\256"#, #"\999.b"#]
            + [String(repeating: "a", count: 64)]
    )
    func refused(text: String) {
        #expect(DNSName(presentation: text) == nil)
    }

    @Test("A label has at most 63 octets, and a name at most 255")
    func limits() {
        let label = String(repeating: "a", count: 63)
        let rest = String(repeating: "b", count: 61)
        #expect(DNSName(presentation: label)?.octets.count == 65)
        #expect(DNSName(presentation: "\(label).\(label).\(label).\(rest)")?.octets.count == 255)
        #expect(DNSName(presentation: "\(label).\(label).\(label).\(rest)b") == nil)
        #expect(DNSName(presentation: String(repeating: "a.", count: 127))?.octets.count == 255)
        #expect(DNSName(presentation: String(repeating: "a.", count: 128)) == nil)
    }
}
