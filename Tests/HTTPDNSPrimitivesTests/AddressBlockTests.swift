// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

import HTTPDNSPrimitives
import Testing

struct AddressBlockTests {
    @Test(
        "CIDR notation is read and written",
        arguments: [
            ("10.0.0.0/8", "10.0.0.0/8"), ("0.0.0.0/0", "0.0.0.0/0"), ("203.0.113.7", "203.0.113.7/32"),
            ("203.0.113.7/32", "203.0.113.7/32"), ("2001:DB8::/32", "2001:db8::/32"), ("::/0", "::/0"),
            ("::1", "::1/128"), ("2001:db8::8000:0:0:0/65", "2001:db8:0:0:8000::/65"),
        ]
    )
    func reads(text: String, canonical: String) throws {
        #expect(try #require(HTTPDNSAddressBlock(text)).description == canonical)
    }

    @Test(
        "An invalid block is refused",
        arguments: [
            "", "/", "/8", "10.0.0.0/", "10.0.0.0/33", "::/129", "10.0.0.0/-1", "10.0.0.0/+8", "10.0.0.0/08",
            "10.0.0.0/8/8",
            "10.0.0.0/255.0.0.0", "10.0.0.1/8", "2001:db8::1/32", "[::1]/128", "10.0.0.0 /8", "10/8", "10.0.0.0/８",
            "10.0.0.0/99999999999999999999", "one.test/8",
        ]
    )
    func refuses(text: String) {
        #expect(HTTPDNSAddressBlock(text) == nil)
    }

    @Test(
        "A block has its first and last address, and not the adjacent ones",
        arguments: [
            ("10.0.0.0/8", "10.0.0.0", "10.255.255.255", "9.255.255.255", "11.0.0.0"),
            ("172.16.0.0/12", "172.16.0.0", "172.31.255.255", "172.15.255.255", "172.32.0.0"),
            ("203.0.113.7/32", "203.0.113.7", "203.0.113.7", "203.0.113.6", "203.0.113.8"),
            ("fc00::/7", "fc00::", "fdff:ffff:ffff:ffff:ffff:ffff:ffff:ffff", "fbff::", "fe00::"),
            ("2001:db8::/64", "2001:db8::", "2001:db8::ffff:ffff:ffff:ffff", "2001:db7:ffff:ffff::", "2001:db8:0:1::"),
            (
                "2001:db8::/65", "2001:db8::", "2001:db8::7fff:ffff:ffff:ffff", "2001:db7::", "2001:db8::8000:0:0:0"
            ),
            ("::1/128", "::1", "::1", "::", "::2"),
        ]
    )
    func contains(block: String, first: String, last: String, before: String, after: String) throws {
        let block = try #require(HTTPDNSAddressBlock(block))
        #expect(block.contains(try #require(HTTPDNSAddress(first))))
        #expect(block.contains(try #require(HTTPDNSAddress(last))))
        #expect(!block.contains(try #require(HTTPDNSAddress(before))))
        #expect(!block.contains(try #require(HTTPDNSAddress(after))))
    }

    @Test("Addresses and blocks of different families never match")
    func keepsFamiliesApart() throws {
        #expect(try !#require(HTTPDNSAddressBlock("0.0.0.0/0")).contains(#require(HTTPDNSAddress("::ffff:10.0.0.1"))))
        #expect(try !#require(HTTPDNSAddressBlock("::/0")).contains(#require(HTTPDNSAddress("10.0.0.1"))))
    }

    @Test("An address and a length give the block around the address")
    func masks() throws {
        let address = HTTPDNSAddress(v4: 10, 20, 30, 40)
        #expect(HTTPDNSAddressBlock(address, prefixLength: 8)?.description == "10.0.0.0/8")
        #expect(HTTPDNSAddressBlock(address, prefixLength: 33) == nil)
        #expect(HTTPDNSAddressBlock(address, prefixLength: -1) == nil)
    }
}
