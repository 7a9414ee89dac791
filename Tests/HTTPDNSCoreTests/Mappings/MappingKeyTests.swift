// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

import HTTPDNSCore
import Testing

struct MappingKeyTests {
    @Test(
        "Names, suffixes and ports are read in any spelling",
        arguments: [
            ("img.shop.example", "img.shop.example"), ("IMG.Shop.example.", "img.shop.example"),
            ("*.shop.example", "*.shop.example"), ("*.Shop.Example:8443", "*.shop.example:8443"),
            ("api.shop.example:8443", "api.shop.example:8443"), ("db:5432", "db:5432"), ("a:65535", "a:65535"),
        ]
    )
    func reads(text: String, canonical: String) throws {
        #expect(try HTTPDNSMapping.Key(text).description == canonical)
        #expect(try HTTPDNSMapping.Key(canonical) == HTTPDNSMapping.Key(text))
    }

    @Test(
        "An invalid key is refused with its reason",
        arguments: [
            ("*", "would map every name"), ("*:80", "would map every name"), ("", "it is empty"), ("a:0", "1 to 65535"),
            ("a:65536", "1 to 65535"), ("a:", "1 to 65535"), ("a:+80", "1 to 65535"), ("a:080", "1 to 65535"),
            ("a:８０", "1 to 65535"), (":80", "it is empty"), ("203.0.113.7", "it is an address"),
            ("203.0.113.7:80", "it is an address"), ("::1", "it is an address"), ("[::1]:80", "it is an address"),
            ("https://one.test", "it is a URL or path; write the name alone, one.test"),
            ("https://me:canary@one.test:8443/a", "alone, one.test:8443"), ("a.*.test", "only patterns"),
            ("*one.test", "only patterns"),
            ("*.*.test", "only patterns"), ("*.", "it is empty"), ("one test", "a space"), ("a:b:c", "colons"),
            ("0x7f.1", "address"),
        ]
    )
    func refuses(text: String, reason: String) {
        let error = #expect(throws: HTTPDNSMapping.Error.self) { try HTTPDNSMapping.Key(text) }
        #expect(error?.reason.contains(reason) == true, "\(error?.description ?? "no error")")
        #expect(error?.description.contains("canary") != true)
    }

    @Test(
        "An address with its port is read from text",
        arguments: [
            ("203.0.113.7", "203.0.113.7", UInt16?.none), ("203.0.113.7:8443", "203.0.113.7", 8443),
            ("2001:db8::7", "2001:db8::7", nil), ("[2001:db8::7]", "2001:db8::7", nil),
            ("[2001:db8::7]:8443", "2001:db8::7", 8443),
        ]
    )
    func readsAddresses(text: String, address: String, port: UInt16?) throws {
        let read = try AddressText(text)
        #expect(read.address.description == address)
        #expect(read.port == port)
    }

    @Test(
        "An invalid address is refused with its reason",
        arguments: [
            ("", "allowed are"), ("127.1", "four decimal parts"), ("0x7f000001", "four decimal parts"),
            ("010.0.0.1", "four decimal parts"), ("10.0.0.0/8", "a block or a URL"), ("fe80::1%eth0", "zone"),
            ("[203.0.113.7]", "allowed are"), ("[::1", "allowed are"), ("[::1]80", "allowed are"),
            ("[::1]:0", "1 to 65535"),
            ("203.0.113.7:", "1 to 65535"), ("203.0.113.7:080", "1 to 65535"), ("edge.cdn.example", "with via"),
            ("203.0.113.7,203.0.113.8", "allowed are"), (" 203.0.113.7", "allowed are"), ("a\nb", "allowed are"),
        ]
    )
    func refusesAddresses(text: String, reason: String) {
        let error = #expect(throws: AddressTextError.self) { try AddressText(text) }
        #expect(error?.reason.contains(reason) == true, "\(error?.description ?? "no error")")
        #expect(error?.description.contains("\n") == false)
    }
}
