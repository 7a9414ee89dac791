// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

import HTTPDNSMessages
import Testing

@testable import HTTPDNSCore

struct DNSClientSubnetTests {
    @Test(
        "The client subnet option has the prefix alone, in as few octets as possible",
        arguments: [
            ("203.0.113.0/24", [0, 8, 0, 7, 0, 1, 24, 0, 203, 0, 113]),
            ("203.0.113.77/32", [0, 8, 0, 7, 0, 1, 24, 0, 203, 0, 113]),
            ("203.0.112.0/20", [0, 8, 0, 7, 0, 1, 20, 0, 203, 0, 112]),
            ("203.0.0.0/16", [0, 8, 0, 6, 0, 1, 16, 0, 203, 0]),
            ("128.0.0.0/1", [0, 8, 0, 5, 0, 1, 1, 0, 128]),
            ("0.0.0.0/0", [0, 8, 0, 4, 0, 1, 0, 0]),
            ("2001:db8:aa:bbcc::/64", [0, 8, 0, 11, 0, 2, 56, 0, 0x20, 1, 0x0d, 0xb8, 0, 0xaa, 0xbb]),
            ("2001:db8:aa:bbcc::/49", [0, 8, 0, 11, 0, 2, 49, 0, 0x20, 1, 0x0d, 0xb8, 0, 0xaa, 0x80]),
            ("2001:db8::/32", [0, 8, 0, 8, 0, 2, 32, 0, 0x20, 1, 0x0d, 0xb8]),
        ] as [(String, [UInt8])]
    )
    func option(text: String, expected: [UInt8]) throws {
        // Bits after a prefix are a mistake in the text form, and none here.
        let parts = text.split(separator: "/").map(String.init)
        let address = try #require(HTTPDNSAddress(parts[0]))
        let length = try #require(Int(parts[1]))
        let block = try #require(HTTPDNSAddressBlock(address, prefixLength: length))
        #expect(DNSClientSubnet(block).option == expected)
    }

    private static let network = "203.0.113.0/24"

    private func response(_ options: [[UInt8]], to network: String? = network) throws -> DNSResponse {
        var builder = DNSMessageBuilder(to: .a("one.test"))
        builder.address("one.test", [127, 0, 0, 1])
        builder.options(data: options.flatMap { [0, 8, 0, UInt8($0.count)] + $0 })
        let subnet = network.flatMap { HTTPDNSAddressBlock($0) }.map(DNSClientSubnet.init)
        return try DNSResponse(parsing: builder.octets, to: .a("one.test"), clientSubnet: subnet)
    }

    @Test(
        "The scope of the response is read, even when longer than the query's prefix",
        arguments: [
            ([0, 1, 24, 0, 203, 0, 113], 0), ([0, 1, 24, 24, 203, 0, 113], 24), ([0, 1, 24, 32, 203, 0, 113], 32),
        ]
            as [([UInt8], Int)]
    )
    func scope(option: [UInt8], expected: Int) throws {
        #expect(try response([option]).clientSubnetScope == expected)
    }

    /// RFC 7871 section 7.3.
    @Test(
        "A response about another network or with a malformed option is dropped",
        arguments: [
            [[0, 2, 24, 0, 203, 0, 113]],
            [[0, 1, 16, 0, 203, 0]],
            [[0, 1, 20, 0, 203, 0, 113]],
            [[0, 1, 24, 0, 203, 0, 114]],
            [[0, 1, 24, 33, 203, 0, 113]],
            [[0, 1, 24, 0, 203, 0]],
            [[0, 1, 24, 0, 203, 0, 113, 0]],
            [[0, 1, 24]],
            [[]],
            [[0, 0, 0, 0]],
            [[0, 1, 24, 0, 203, 0, 113], [0, 1, 24, 0, 203, 0, 113]],
        ] as [[[UInt8]]]
    )
    func dropped(options: [[UInt8]]) {
        let error = #expect(throws: DNSMessageError.self) { try response(options) }
        #expect(error?.code == .wrongClientSubnet)
    }

    @Test("A response without a scope is valid for all networks")
    func noOption() throws {
        #expect(try response([]).clientSubnetScope == nil)
    }

    @Test("A client subnet option without a request for it is ignored")
    func unasked() throws {
        #expect(try response([[0, 1, 24, 24, 203, 0, 113]], to: nil).clientSubnetScope == nil)
        #expect(try response([[9]], to: nil).clientSubnetScope == nil)
    }

    @Test("An IPv6 scope may be as long as an address")
    func longScope() throws {
        let option: [UInt8] = [0, 2, 32, 128, 0x20, 1, 0x0d, 0xb8]
        #expect(try response([option], to: "2001:db8::/32").clientSubnetScope == 128)
    }
}
