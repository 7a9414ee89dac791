// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

import HTTPDNSCore
import HTTPDNSMessages
import Testing

struct DNSMessageReaderTests {
    /// Reads a name that stands at `offset`, with a header's room before the octets.
    private func read(_ octets: [UInt8], at offset: Int = 12) throws(DNSMessageError) -> (DNSName, end: Int) {
        var reader = DNSMessageReader([UInt8](repeating: 0, count: 12) + octets)
        _ = try reader.readOctets(offset)
        let name = try reader.readName()
        return (name, reader.offset)
    }

    private func code(_ octets: [UInt8], at offset: Int = 12) -> DNSMessageError.Code? {
        do {
            _ = try read(octets, at: offset)
            return nil
        } catch {
            return error.code
        }
    }

    @Test("A pointer back is followed, and reading continues behind it")
    func compressed() throws {
        let octets = DNSMessageBuilder.name("one.test") + [3, 0x57, 0x57, 0x57, 0xc0, 16, 9, 9]
        let (name, end) = try read(octets, at: 22)
        #expect(name.octets == DNSMessageBuilder.name("www.test"))
        #expect(end == 28)
    }

    @Test(
        "A pointer must lead strictly backwards, and not into the header",
        arguments: [
            ([0xc0, 12], 12),  // to itself
            ([0xc0, 14, 0xc0, 12], 12),  // forward, and two at each other
            ([0xc0, 14, 0xc0, 12], 14),  // back to one that leads forward
            ([1, 0x61, 0xc0, 12], 12),  // to the labels that it ends
            ([1, 0x61, 0xc0, 14], 12),  // to itself, behind a label
            ([0xff, 0xff], 12),  // past the end
            ([0xc0, 0], 12),  // into the header
            ([0xc0, 11], 12),
            ([3, 0x61, 0xc0, 12, 0], 14),  // to labels that run into the pointer
        ] as [([UInt8], Int)]
    )
    func pointers(octets: [UInt8], offset: Int) {
        #expect(code(octets, at: offset) == .badPointer)
    }

    @Test("128 pointers in a row are followed, 129 are refused")
    func pointerLimit() throws {
        #expect(try read(Self.chain(pointers: 128), at: 12 + 1 + 127 * 2).0 == .root)
        #expect(code(Self.chain(pointers: 129), at: 12 + 1 + 128 * 2) == .badPointer)
    }

    @Test("A chain of 8,000 pointers is refused as one of 129 is")
    func longChain() {
        let octets = Self.chain(pointers: 8_000)
        #expect(code(octets, at: 12 + 1 + 7_999 * 2) == .badPointer)
        #expect(code(octets, at: 12 + 1 + 128 * 2) == .badPointer)
    }

    /// A root name, and pointers of which each leads to the one before.
    private static func chain(pointers: Int) -> [UInt8] {
        var octets: [UInt8] = [0]
        for index in 0..<pointers {
            let target = index == 0 ? 12 : 13 + (index - 1) * 2
            octets += [0xc0 | UInt8(target >> 8), UInt8(target & 0xff)]
        }
        return octets
    }

    @Test(
        "The label types 01 and 10 are refused, as a length and behind a pointer",
        arguments: [([0x40, 0], 12), ([0x80, 0], 12), ([0xbf, 0], 12), ([0x41, 0xc0, 12], 13)] as [([UInt8], Int)]
    )
    func labelTypes(octets: [UInt8], offset: Int) {
        #expect(code(octets, at: offset) == .badLabel)
    }

    @Test("A label has at most 63 octets")
    func labelLength() throws {
        let label = [UInt8](repeating: 0x61, count: 63)
        #expect(try read([63] + label + [0]).0.octets == [63] + label + [0])
        #expect(code([64] + label + [0x61, 0]) == .badLabel)
    }

    @Test("A name has at most 255 octets, literal or compressed", arguments: [254, 255, 256, 257, 10_000])
    func nameLength(length: Int) {
        // Labels of one octet, then one of two when the length is even.
        var name: [UInt8] = []
        while name.count + 3 < length { name += [1, 0x61] }
        if length - name.count == 3 { name += [1, 0x61] }
        if length - name.count == 2 { name = Array(name.dropLast(2)) + [2, 0x61, 0x61] }
        name += [0]
        #expect(name.count == length)
        let expected: DNSMessageError.Code? = length > 255 ? .nameTooLong : nil
        #expect(code(name) == expected)
        guard length < 300 else { return }
        // The same name, its first label apart and the rest behind a pointer.
        let rest = Array(name.dropFirst(2))
        let pointed = rest + [1, 0x61, 0xc0, 12]
        #expect(code(pointed, at: 12 + rest.count) == expected)
    }

    @Test(
        "A name that the end of the data cuts off is refused",
        arguments: [[], [3, 0x61], [3, 0x61, 0x61, 0x61], [1, 0x61, 1], [0xc0], [1, 0x61, 0xc0]] as [[UInt8]]
    )
    func truncated(octets: [UInt8]) {
        #expect(code(octets) == .truncated)
    }

    @Test("Only ASCII letters are lowercased, and no octet ends a label early")
    func octets() throws {
        let label: [UInt8] = [0x41, 0x5a, 0x5b, 0x40, 0x2e, 0x00, 0xc4, 0xff]
        let (name, _) = try read([8] + label + [0])
        #expect(name.octets == [8, 0x61, 0x7a, 0x5b, 0x40, 0x2e, 0x00, 0xc4, 0xff, 0])
    }
}
