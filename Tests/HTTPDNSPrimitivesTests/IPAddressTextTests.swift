// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

import Testing

@testable import HTTPDNSPrimitives

struct IPAddressTextTests {
    @Test(
        "IPv6 is written as RFC 5952 says, whatever it was read from",
        arguments: [
            // Section 1 and 2: the many spellings of one address.
            ("2001:db8:0:0:1:0:0:1", "2001:db8::1:0:0:1"),
            ("2001:0db8:0:0:1:0:0:1", "2001:db8::1:0:0:1"),
            ("2001:db8::1:0:0:1", "2001:db8::1:0:0:1"),
            ("2001:db8:0:0:1::1", "2001:db8::1:0:0:1"),
            ("2001:DB8::1:0:0:1", "2001:db8::1:0:0:1"),
            // Section 4.1: no leading zeros; 4.2.1: as short as can be; 4.2.2: no "::" for one group.
            ("2001:0db8::0001", "2001:db8::1"),
            ("2001:db8::0:1", "2001:db8::1"),
            ("2001:db8:0:1:1:1:1:1", "2001:db8:0:1:1:1:1:1"),
            ("2001:db8::1:1:1:1:1", "2001:db8:0:1:1:1:1:1"),
            // Section 4.2.3: the longest run, and the first of equal ones.
            ("2001:0:0:1:0:0:0:1", "2001:0:0:1::1"),
            ("2001:db8:0:0:1:0:0:0", "2001:db8:0:0:1::"),
            ("0:0:0:0:0:0:0:0", "::"),
            ("0:0:0:0:0:0:0:1", "::1"),
            ("1:0:0:0:0:0:0:0", "1::"),
            ("1:2:3:4:5:6:7::", "1:2:3:4:5:6:7:0"),
            ("::2:3:4:5:6:7:8", "0:2:3:4:5:6:7:8"),
            ("abcd:ef01:2345:6789:abcd:ef01:2345:6789", "abcd:ef01:2345:6789:abcd:ef01:2345:6789"),
            // Section 5: a known IPv4 part in decimal.
            ("::ffff:c000:0207", "::ffff:192.0.2.7"),
            ("::FFFF:192.0.2.7", "::ffff:192.0.2.7"),
            ("64:ff9b::192.0.2.33", "64:ff9b::c000:221"),
            ("1:2:3:4:5:6:192.0.2.33", "1:2:3:4:5:6:c000:221"),
            ("::1.2.3.4", "::102:304"),
        ]
    )
    func writesIPv6(text: String, canonical: String) throws {
        let address = try #require(HTTPDNSAddress(text))
        #expect(address.family == .v6)
        #expect(address.description == canonical)
        #expect(HTTPDNSAddress(canonical) == address)
        #expect(address.bracketed == "[\(canonical)]")
    }

    @Test(
        "IPv4 is read in its one full decimal form",
        arguments: ["0.0.0.0", "1.2.3.4", "255.255.255.255", "10.0.0.90"]
    )
    func readsIPv4(text: String) throws {
        let address = try #require(HTTPDNSAddress(text))
        #expect(address.family == .v4)
        #expect(address.description == text)
        #expect(address.bracketed == text)
    }

    @Test(
        "Forms that programs read differently are no addresses",
        arguments: [
            "", ".", "1", "127.1", "1.2.3", "1.2.3.4.", ".1.2.3.4", "1.2.3.4.5", "1..3.4", "256.0.0.1", "1.2.3.999",
            "01.2.3.4", "1.2.3.04", "00.0.0.0", "0x7f.0.0.1", "0x7f000001", "2130706433", "1.2.3.4 ", " 1.2.3.4",
            "1.2.3.4\n", "1.2.3.4\0", "+1.2.3.4", "-1.2.3.4", "1,2,3,4", "１.2.3.4", "1。2。3。4", "1.2.3.4/32",
            ":", ":::", "::1::", "1::2::3", "1:2:3:4:5:6:7", "1:2:3:4:5:6:7:8:9", "1:2:3:4:5:6:7:8::",
            "::1:2:3:4:5:6:7:8", ":1:2:3:4:5:6:7", "1:2:3:4:5:6:7:", "12345::", "g::", "::g", "::-1", "::+1", "1:2::3:",
            "fe80::1%eth0", "fe80::1%25eth0", "[::1]", "::1 ", " ::1", "::1\n", "::1/128", "::ffff:1.2.3",
            "::ffff:1.2.3.04",
            "::1.2.3.4:5", "1.2.3.4::", "::ffff:256.1.1.1", "1:2:3:4:5:6:7:1.2.3.4", "::ｆ", "::١",
        ]
    )
    func refuses(text: String) {
        #expect(HTTPDNSAddress(text) == nil)
    }

    @Test(
        "Addresses convert to bytes and back",
        arguments: ["203.0.113.7", "::", "2001:db8::7", "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff"]
    )
    func convertsBytes(text: String) throws {
        let address = try #require(HTTPDNSAddress(text))
        #expect(address.bytes.count == (address.family == .v4 ? 4 : 16))
        #expect(HTTPDNSAddress(bytes: address.bytes) == address)
    }

    @Test("Bytes are in network order, and only 4 or 16 make an address")
    func ordersBytes() {
        #expect(HTTPDNSAddress(bytes: [203, 0, 113, 7] as [UInt8]) == HTTPDNSAddress(v4: 203, 0, 113, 7))
        #expect(HTTPDNSAddress(v4: 203, 0, 113, 7).bytes == [203, 0, 113, 7])
        #expect(HTTPDNSAddress("2001:db8::7")?.bytes == [0x20, 1, 0x0d, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 7])
        for count in [0, 1, 3, 5, 15, 17] {
            #expect(HTTPDNSAddress(bytes: Array(repeating: UInt8(1), count: count)) == nil)
        }
    }

    @Test("An IPv4 address and its IPv6 forms are different addresses")
    func keepsFamiliesApart() throws {
        let mapped = try #require(HTTPDNSAddress("::ffff:203.0.113.7"))
        #expect(mapped != HTTPDNSAddress("203.0.113.7"))
        #expect(mapped.mappedV4 == HTTPDNSAddress("203.0.113.7"))
        #expect(HTTPDNSAddress("::203.0.113.7")?.mappedV4 == nil)
        #expect(HTTPDNSAddress("203.0.113.7")?.mappedV4 == nil)
    }

    @Test("An endpoint's IPv6 address has brackets")
    func writesEndpoints() throws {
        #expect(
            HTTPDNSEndpoint(address: HTTPDNSAddress(v4: 203, 0, 113, 7), port: 443).description == "203.0.113.7:443"
        )
        let address = try #require(HTTPDNSAddress("2001:db8::7"))
        #expect(HTTPDNSEndpoint(address: address, port: 8443).description == "[2001:db8::7]:8443")
    }
}
