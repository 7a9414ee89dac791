// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

package import HTTPDNSPrimitives

/// The response to one question, read and checked from its first octet to its last.
///
/// The parser is total: every sequence of octets gives either a response or a ``DNSMessageError``, in time and memory linear in
/// its length. Decisions where RFC 1035 leaves room:
///
/// - Counts must be exact: missing records, or octets after the last one, invalidate the message.
/// - Records of class IN and type A, AAAA, CNAME or SOA must have the form of their type in every section, even if unused.
///   Records of other types and classes are skipped by their length.
/// - Records of type SVCB and HTTPS are read when one of them was queried. A malformed one invalidates those beside it, but not
///   the message (RFC 9460 section 2.2).
/// - The question must be repeated unchanged, in any case of letters. Only the response of a failed query may omit it, since
///   some servers do not repeat a question that they could not read.
package struct DNSResponse: Hashable, Sendable {
    /// The maximum number of addresses that are kept; more are not useful to a connection attempt.
    package static let maximumAddresses = 16

    package let question: DNSQuestion
    package let responseCode: DNSResponseCode
    /// The aliases and the records of the queried type in the answer section.
    package let answers: [DNSRecord]
    /// The authority section's SOA records.
    package let authorities: [DNSRecord]
    /// The number of leading bits of the client's network that the answer depends on, which may exceed the query's. `nil` when
    /// the response has none, which means the same as 0 (RFC 7871 section 7.3), and when the query had none.
    package let clientSubnetScope: Int?
    /// The reasons that the server gives for its answer or failure, at most ``maximumExtendedErrors`` (RFC 8914).
    package let extendedErrors: [HTTPDNSExtendedError]

    /// Whether the server knows no answer, and names others that may (RFC 2308 section 2.1): it is no resolver for the name.
    package let isReferral: Bool

    /// The maximum number of extended errors that are kept.
    static let maximumExtendedErrors = 4

    /// Creates a response whose records were read from another form than the wire format.
    package init(
        to question: DNSQuestion,
        responseCode: DNSResponseCode,
        answers: [DNSRecord],
        authorities: [DNSRecord]
    ) {
        self.question = question
        self.responseCode = responseCode
        self.answers = answers
        self.authorities = authorities
        clientSubnetScope = nil
        extendedErrors = []
        isReferral = false
    }

    /// Reads `message` as the response to `question`.
    /// - Parameter clientSubnet: The client network of the query. A response about another network is rejected whole (RFC 7871
    ///   section 7.3). Without it the option is ignored: no server may send it unrequested (section 7.2.1).
    package init(
        parsing message: [UInt8],
        to question: DNSQuestion,
        clientSubnet: DNSClientSubnet? = nil
    ) throws(DNSMessageError) {
        var reader = DNSMessageReader(message)
        let header = try Self.readHead(&reader, expected: question)
        var parser = DNSRecordParser(reader: reader, wanted: question.type, clientSubnet: clientSubnet)
        answers = try parser.readRecords(header.answerCount, in: .answer)
        authorities = try parser.readRecords(header.authorityCount, in: .authority)
        _ = try parser.readRecords(header.additionalCount, in: .additional)
        try Self.checkEnd(parser.reader)
        self.question = question
        clientSubnetScope = parser.clientSubnetScope
        extendedErrors = parser.extendedErrors
        responseCode = DNSResponseCode(number: parser.extendedResponseCode << 4 | header.responseCode)
        isReferral =
            responseCode == .noError && header.answerCount == 0 && authorities.isEmpty && parser.hasNameServers
    }

    /// Reads and checks what stands before the records.
    static func readHead(
        _ reader: inout DNSMessageReader,
        expected question: DNSQuestion
    ) throws(DNSMessageError) -> DNSResponseHeader {
        guard reader.remaining <= DNSWireFormat.maximumMessageOctets else {
            throw DNSMessageError(
                .tooLong,
                "\(reader.remaining) octets; at most 65,535 are allowed (RFC 8484 section 6)"
            )
        }
        let header = try DNSResponseHeader(&reader)
        try readQuestion(&reader, header: header, expected: question)
        try checkCounts(header, remaining: reader.remaining, at: reader.offset)
        return header
    }

    static func checkEnd(_ reader: DNSMessageReader) throws(DNSMessageError) {
        guard reader.remaining == 0 else {
            throw DNSMessageError(
                .trailingBytes,
                at: reader.offset,
                "\(reader.remaining) octets behind the last record; there must be none"
            )
        }
    }

    private static func readQuestion(
        _ reader: inout DNSMessageReader,
        header: DNSResponseHeader,
        expected: DNSQuestion
    ) throws(DNSMessageError) {
        if header.questionCount == 0, header.saysThatQueryFailed { return }
        guard header.questionCount == 1 else {
            throw DNSMessageError(.wrongQuestion, at: 4, "\(header.questionCount) questions; there must be one")
        }
        let start = reader.offset
        let name = try reader.readName()
        let type = DNSRecordType(number: try reader.readUInt16())
        let recordClass = try reader.readUInt16()
        guard name == expected.name, type == expected.type, recordClass == DNSWireFormat.internetClass else {
            throw DNSMessageError(
                .wrongQuestion,
                at: start,
                "it answers \(name) \(type) of class \(recordClass), asked was \(expected) of class 1"
            )
        }
    }

    /// Rejects impossible counts before any record is read, so that 40 octets cannot announce 65,535 records.
    private static func checkCounts(
        _ header: DNSResponseHeader,
        remaining: Int,
        at offset: Int
    ) throws(DNSMessageError) {
        let count = Int(header.answerCount) + Int(header.authorityCount) + Int(header.additionalCount)
        guard count * DNSRecordParser.minimumRecordOctets <= remaining else {
            throw DNSMessageError(
                .truncated,
                at: offset,
                "\(count) records are announced, and the \(remaining) octets left cannot hold them"
            )
        }
    }
}

/// The twelve octets at the start of a response (RFC 1035 section 4.1.1).
struct DNSResponseHeader {
    let responseCode: UInt16
    let questionCount: UInt16
    let answerCount: UInt16
    let authorityCount: UInt16
    let additionalCount: UInt16

    /// Reads the header and checks that it belongs to a complete response to a standard query with ID 0.
    init(_ reader: inout DNSMessageReader) throws(DNSMessageError) {
        guard reader.remaining >= DNSWireFormat.headerOctets else {
            throw DNSMessageError(
                .truncated,
                at: reader.remaining,
                "\(reader.remaining) octets; the header alone has \(DNSWireFormat.headerOctets)"
            )
        }
        let id = try reader.readUInt16()
        let flags = try reader.readUInt16()
        guard flags & DNSWireFormat.Flag.response != 0 else {
            throw DNSMessageError(.notAResponse, at: 2, "it is a query (the QR flag is clear)")
        }
        guard flags & DNSWireFormat.Flag.operationCode == 0 else {
            let code = (flags & DNSWireFormat.Flag.operationCode) >> 11
            throw DNSMessageError(.notAResponse, at: 2, "operation code \(code); it must be 0, a standard query")
        }
        guard id == 0 else {
            throw DNSMessageError(.wrongID, at: 0, "ID \(id); the query had 0 (RFC 8484 section 4.1)")
        }
        guard flags & DNSWireFormat.Flag.truncated == 0 else {
            throw DNSMessageError(.truncationFlag, at: 2, "the server cut it (the TC flag is set)")
        }
        responseCode = flags & DNSWireFormat.Flag.responseCode
        questionCount = try reader.readUInt16()
        answerCount = try reader.readUInt16()
        authorityCount = try reader.readUInt16()
        additionalCount = try reader.readUInt16()
    }

    /// Whether the query failed: neither NOERROR nor NXDOMAIN.
    var saysThatQueryFailed: Bool {
        responseCode != DNSResponseCode.noError.number && responseCode != DNSResponseCode.nameError.number
    }
}

/// The server's result for a query as a whole: the header's RCODE with EDNS's upper bits (RFC 6891 section 6.1.3).
package struct DNSResponseCode: Hashable, Sendable, CustomStringConvertible {
    package let number: UInt16

    package init(number: UInt16) { self.number = number }

    package static let noError = DNSResponseCode(number: 0)
    package static let serverFailure = DNSResponseCode(number: 2)
    /// NXDOMAIN: the name at the end of the alias chain does not exist (RFC 6604 section 3).
    package static let nameError = DNSResponseCode(number: 3)
    package static let refused = DNSResponseCode(number: 5)
    /// FORMERR and NOTIMP, the codes of servers without EDNS for a query that uses it (RFC 6891 section 7).
    package static let withoutEDNS = [DNSResponseCode(number: 1), DNSResponseCode(number: 4)]

    /// Reads the code in the header of a message, without EDNS's upper bits; `nil` for what is no response.
    package init?(inHeaderOf message: [UInt8]) {
        var reader = DNSMessageReader(message)
        guard let header = try? DNSResponseHeader(&reader) else { return nil }
        self.init(number: header.responseCode)
    }

    /// The mnemonic in the IANA registry for those that resolvers send to clients; `RCODE 23` for others.
    package var description: String {
        switch number {
        case 0: "NOERROR"
        case 1: "FORMERR"
        case 2: "SERVFAIL"
        case 3: "NXDOMAIN"
        case 4: "NOTIMP"
        case 5: "REFUSED"
        case 9: "NOTAUTH"
        case 16: "BADVERS"
        default: "RCODE \(number)"
        }
    }
}

/// The numbers of the wire format that the encoder and the parser share.
package enum DNSWireFormat {
    /// The number of octets in a message's header (RFC 1035 section 4.1.1).
    package static let headerOctets = 12
    /// The maximum length of a message: the length is a 16-bit number on every transport (RFC 8484 section 6).
    package static let maximumMessageOctets = 65_535
    /// Class IN, the Internet (RFC 1035 section 3.2.4).
    package static let internetClass: UInt16 = 1

    /// Flag bits of the header's second word (RFC 1035 section 4.1.1).
    package enum Flag {
        package static let response: UInt16 = 0x8000
        package static let operationCode: UInt16 = 0x7800
        package static let truncated: UInt16 = 0x0200
        package static let recursionDesired: UInt16 = 0x0100
        package static let recursionAvailable: UInt16 = 0x0080
        /// AD and CD (RFC 4035 sections 3.2.2 and 3.2.3).
        static let authenticData: UInt16 = 0x0020
        static let checkingDisabled: UInt16 = 0x0010
        package static let responseCode: UInt16 = 0x000f
    }
}
