// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

/// A cursor over the octets of a message that cannot leave them.
///
/// ``DNSName/maximumOctets`` and ``maximumPointers`` bound the work for a name, and every record has at least 11 octets.
/// Reading a message therefore takes time linear in its length, without recursion.
package struct DNSMessageReader {
    /// The maximum number of compression pointers in one name: a name has at most 127 labels (RFC 1035 section 2.3.4), and a
    /// pointer that leads to no label is useless.
    static let maximumPointers = 128

    private let octets: [UInt8]
    /// The offset of the next octet.
    package private(set) var offset: Int
    /// The offset after the last octet that may be read; compressed names may point back before the start.
    private let end: Int

    package init(_ octets: [UInt8]) {
        self.octets = octets
        offset = 0
        end = octets.count
    }

    private init(_ octets: [UInt8], range: Range<Int>) {
        self.octets = octets
        offset = range.lowerBound
        end = range.upperBound
    }

    /// The number of octets left.
    package var remaining: Int { end - offset }

    package mutating func readOctets(_ count: Int) throws(DNSMessageError) -> ArraySlice<UInt8> {
        let start = try skip(count)
        return octets[start..<start + count]
    }

    mutating func readUInt8() throws(DNSMessageError) -> UInt8 { octets[try skip(1)] }

    package mutating func readUInt16() throws(DNSMessageError) -> UInt16 {
        let start = try skip(2)
        return (0..<2).reduce(0) { $0 << 8 | UInt16(octets[start + $1]) }
    }

    package mutating func readUInt32() throws(DNSMessageError) -> UInt32 {
        let start = try skip(4)
        return (0..<4).reduce(0) { $0 << 8 | UInt32(octets[start + $1]) }
    }

    /// - Returns: The offset of the first of them.
    private mutating func skip(_ count: Int) throws(DNSMessageError) -> Int {
        guard count <= remaining else {
            throw DNSMessageError(.truncated, at: offset, "\(count) octets are needed and \(remaining) are left")
        }
        defer { offset += count }
        return offset
    }

    /// Returns a reader of the next `count` octets alone, which this reader skips. Names in it may still point back out of it.
    mutating func readSection(_ count: Int) throws(DNSMessageError) -> DNSMessageReader {
        let start = offset
        _ = try readOctets(count)
        return DNSMessageReader(octets, range: start..<offset)
    }

    /// Reads a name, compressed or not (RFC 1035 section 4.1.4), and stops after it.
    ///
    /// A pointer must lead to an offset before the labels that it ends, so that no sequence of pointers can return to an
    /// earlier one.
    package mutating func readName() throws(DNSMessageError) -> DNSName {
        var name: [UInt8] = []
        // Most names are shorter.
        name.reserveCapacity(32)
        // The name's own labels end within this reader. Those behind a pointer end before the labels that led to them, because
        // they were written earlier. Thus no octet is read twice for one name.
        var position = offset
        var limit = end
        var segment = offset
        var pointers = 0
        var afterName: Int?

        while true {
            guard position < limit else { throw Self.nameWithoutEnd(at: position, behindPointer: pointers > 0) }
            let length = octets[position]
            switch length >> 6 {
            case 0b00:
                position += 1
                guard length > 0 else {
                    name.append(0)
                    offset = afterName ?? position
                    return DNSName(validatedOctets: name)
                }
                let labelEnd = position + Int(length)
                guard labelEnd <= limit else { throw Self.nameWithoutEnd(at: position, behindPointer: pointers > 0) }
                // The root needs one more octet.
                guard name.count + 1 + Int(length) + 1 <= DNSName.maximumOctets else {
                    throw DNSMessageError(
                        .nameTooLong,
                        at: segment,
                        "a name of more than \(DNSName.maximumOctets) octets (RFC 1035 section 2.3.4)"
                    )
                }
                name.append(length)
                for octet in octets[position..<labelEnd] { name.append(DNSName.lowercased(octet)) }
                position = labelEnd
            case 0b11:
                guard position + 1 < limit else {
                    throw Self.nameWithoutEnd(at: position, behindPointer: pointers > 0)
                }
                let target = Int(length & 0x3f) << 8 | Int(octets[position + 1])
                pointers += 1
                guard target < segment, target >= DNSWireFormat.headerOctets, pointers <= Self.maximumPointers else {
                    throw Self.badPointer(at: position, to: target, segment: segment, count: pointers)
                }
                if afterName == nil { afterName = position + 2 }
                limit = segment
                segment = target
                position = target
            default:
                throw DNSMessageError(
                    .badLabel,
                    at: position,
                    "label type \(length >> 6 == 0b01 ? "01" : "10"); only 00 (label) and 11 (pointer) are in use"
                )
            }
        }
    }

    /// Reads a name that must not be compressed (RFC 9460 section 2.2), and stops after it.
    mutating func readUncompressedName() throws(DNSMessageError) -> DNSName {
        let start = offset
        var name: [UInt8] = []
        while true {
            guard offset < end else { throw Self.nameWithoutEnd(at: offset, behindPointer: false) }
            let length = octets[offset]
            guard length <= DNSName.maximumLabelOctets else {
                throw length >> 6 == 0b11
                    ? DNSMessageError(.badPointer, at: offset, "a compressed name where none may be")
                    : DNSMessageError(.badLabel, at: offset, "a label type that is not 00")
            }
            offset += 1
            name.append(length)
            guard length > 0 else { return DNSName(validatedOctets: name) }
            guard name.count + Int(length) + 1 <= DNSName.maximumOctets else {
                throw DNSMessageError(
                    .nameTooLong,
                    at: start,
                    "a name of more than \(DNSName.maximumOctets) octets (RFC 1035 section 2.3.4)"
                )
            }
            for octet in try readOctets(Int(length)) { name.append(DNSName.lowercased(octet)) }
        }
    }

    private static func nameWithoutEnd(at position: Int, behindPointer: Bool) -> DNSMessageError {
        behindPointer
            ? DNSMessageError(.badPointer, at: position, "labels run into the name whose pointer leads to them")
            : DNSMessageError(.truncated, at: position, "the data ends inside a name")
    }

    private static func badPointer(at position: Int, to target: Int, segment: Int, count: Int) -> DNSMessageError {
        let reason =
            if count > maximumPointers {
                "a name goes through more than \(maximumPointers) compression pointers"
            } else if target < DNSWireFormat.headerOctets {
                "a compression pointer leads into the header (octet \(target))"
            } else {
                "a compression pointer leads to octet \(target); it must lead before octet \(segment)"
            }
        return DNSMessageError(.badPointer, at: position, reason)
    }
}

/// The reason why a response message is rejected. The whole message is rejected, whichever part is invalid.
package struct DNSMessageError: Error, Hashable, Sendable, CustomStringConvertible {
    package enum Code: String, Hashable, Sendable, CaseIterable {
        /// The message ends inside a header, name or record, or its counts announce more records than it has octets for.
        case truncated
        /// More than ``DNSWireFormat/maximumMessageOctets``.
        case tooLong
        /// Octets follow the last record.
        case trailingBytes
        /// A label type that no standard uses today (the upper bits 01 or 10).
        case badLabel
        /// A compression pointer that does not point strictly backwards, points into the header, or exceeds the limit of
        /// pointers.
        case badPointer
        /// A name of more than 255 octets.
        case nameTooLong
        /// A record whose data does not have the length that its type requires.
        case badRecordLength
        /// The message is not a response (QR clear), or not for a standard query.
        case notAResponse
        /// The ID differs from the query's, which is 0.
        case wrongID
        /// The TC flag is set, although no message is too long for HTTP.
        case truncationFlag
        /// The question differs from the query's, or there is not exactly one.
        case wrongQuestion
        /// An OPT record that is a duplicate, outside the additional section, or not owned by the root.
        case misplacedOption
        /// The alias chain from the queried name is ambiguous: two different aliases of one name, or an alias with other data
        /// beside it.
        case ambiguousAlias
        /// The alias chain returns to an earlier name.
        case aliasLoop
        /// The alias chain has more hops than ``DNSResponse/maximumAliasHops``.
        case aliasChainTooLong
        /// NXDOMAIN, with records for the very name that does not exist.
        case contradiction
        /// A record of type SVCB or HTTPS whose parameters violate RFC 9460. It invalidates the records beside it, but not the
        /// message.
        case badService
        /// The client subnet option differs from the query's, or violates the form of RFC 7871 section 6.
        case wrongClientSubnet

        /// Whether the owner of the name alone can cause it, with records of its zone.
        package var isAboutName: Bool {
            [.ambiguousAlias, .aliasLoop, .aliasChainTooLong, .contradiction].contains(self)
        }
    }

    package var code: Code
    /// The offset in the message, in octets; `nil` for errors of the message as a whole.
    package var offset: Int?
    /// The finding and the allowed form.
    package var reason: String

    package init(_ code: Code, at offset: Int? = nil, _ reason: String) {
        self.code = code
        self.offset = offset
        self.reason = reason
    }

    package var description: String {
        "DNS message refused" + (offset.map { " at octet \($0)" } ?? "") + ": \(reason)"
    }
}
