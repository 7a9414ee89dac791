// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

import HTTPDNSCore
import HTTPDNSMessages
import Testing

struct DNSQueryTests {
    @Test("A query's octets are those of RFC 1035 with an EDNS record and padding")
    func octets() {
        let message = DNSQuery.encoded(.a("one.test"))
        let head: [UInt8] = [
            0, 0, 0x01, 0x00, 0, 1, 0, 0, 0, 0, 0, 1,
            3, 0x6f, 0x6e, 0x65, 4, 0x74, 0x65, 0x73, 0x74, 0, 0, 1, 0, 1,
            0, 0, 41, 0x04, 0xd0, 0, 0, 0, 0, 0, 91, 0, 12, 0, 87,
        ]
        #expect(message == head + [UInt8](repeating: 0, count: 87))
    }

    @Test("The requested type is in the question", arguments: [DNSRecordType.a, .aaaa])
    func type(type: DNSRecordType) {
        let message = DNSQuery.encoded(DNSQuestion(name: .root, type: type))
        #expect(Array(message[12..<17]) == [0, 0, UInt8(type.number), 0, 1])
    }

    /// The lengths of the option and its data agree with the padding.
    @Test("A query is padded to a multiple of 128 octets, for every length of name")
    func padding() {
        var lengths: Set<Int> = []
        for octets in 1...255 where octets != 2 {
            let name = Self.name(octets: octets)
            let message = DNSQuery.encoded(DNSQuestion(name: DNSName(validatedOctets: name), type: .a))
            #expect(message.count % 128 == 0)
            lengths.insert(message.count)
            let options = 12 + name.count + 4
            let dataLength = Int(message[options + 9]) << 8 | Int(message[options + 10])
            let padding = Int(message[options + 13]) << 8 | Int(message[options + 14])
            #expect(options + 11 + dataLength == message.count)
            #expect(padding == dataLength - 4)
        }
        #expect(lengths == [128, 256, 384])
    }

    @Test("The client's network precedes the padding, which shrinks accordingly", arguments: [1, 70, 100, 200, 255])
    func clientSubnet(octets: Int) throws {
        let question = DNSQuestion(name: DNSName(validatedOctets: Self.name(octets: octets)), type: .a)
        let subnet = DNSClientSubnet(try #require(HTTPDNSAddressBlock("2001:db8:1:2::/64")))
        let message = DNSQuery.encoded(question, clientSubnet: subnet)
        #expect(message.count % 128 == 0)
        let options = 12 + octets + 4
        #expect(Int(message[options + 9]) << 8 | Int(message[options + 10]) == message.count - options - 11)
        // RFC 7871 section 6: code 8, length, family 2, 56 bits, scope 0, seven octets of address.
        let expected: [UInt8] = [0, 8, 0, 11, 0, 2, 56, 0, 0x20, 0x01, 0x0d, 0xb8, 0, 1, 0]
        #expect(Array(message[options + 11..<options + 26]) == expected)
        let padding = options + 26
        #expect(Array(message[padding..<padding + 2]) == [0, 12])
        #expect(Int(message[padding + 2]) << 8 | Int(message[padding + 3]) == message.count - padding - 4)
    }

    /// A name of so many octets; 2 cannot be.
    private static func name(octets: Int) -> [UInt8] {
        var name: [UInt8] = []
        var left = octets - 1
        while left > 0 {
            let label = left == 65 ? 62 : min(63, left - 1)
            name += [UInt8(label)] + [UInt8](repeating: 0x61, count: label)
            left -= label + 1
        }
        return name + [0]
    }
}

struct DNSNameTests {
    @Test(
        "A host name is encoded and decoded again",
        arguments: ["one.test", "a", "xn--bcher-kva.test", "_dns.one.test"]
    )
    func roundTrip(text: String) throws {
        let host = try HTTPDNSName(text)
        let name = DNSName(host)
        #expect(name.octets == DNSMessageBuilder.name(text))
        #expect(name.hostName == host)
    }

    @Test(
        "An invalid host name is refused, even if its text form would be valid",
        arguments: [
            [0], [7] + Array("one.two".utf8) + [0], [4, 0x6f, 0, 0x6e, 0x65, 0], [3, 0x6f, 0x20, 0x65, 0],
            [2, 0xc3, 0xa4, 0],
        ] as [[UInt8]]
    )
    func noHostName(octets: [UInt8]) {
        #expect(DNSName(validatedOctets: octets).hostName == nil)
    }

    @Test("A dot, a backslash and unprintable octets are escaped in messages")
    func description() {
        #expect(
            DNSName(validatedOctets: [5, 0x61, 0x2e, 0x5c, 0x00, 0xff, 1, 0x62, 0]).description
                == "a\\.\\\\\\000\\255.b."
        )
        #expect(DNSName.root.description == ".")
    }

    @Test(
        "A name is below another only at the bounds of labels",
        arguments: [
            ("one.test", "test", true), ("one.test", "one.test", true), ("one.test", "", true),
            ("xtest", "test", false), ("test", "one.test", false), ("one.test", "two.test", false),
        ]
    )
    func below(name: String, other: String, expected: Bool) {
        let name = DNSName(validatedOctets: DNSMessageBuilder.name(name))
        #expect(name.isAtOrBelow(DNSName(validatedOctets: DNSMessageBuilder.name(other))) == expected)
    }
}
