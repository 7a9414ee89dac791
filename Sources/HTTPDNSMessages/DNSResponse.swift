/// The response to one question, read and checked from its first octet to its last.
///
/// The parser is total: every sequence of octets gives either a response or a ``DNSMessageError``, in time and memory
/// linear in its length. Decisions where RFC 1035 leaves room:
///
/// - counts must be exact: records missing at the end, or octets left behind the last one, refuse the message;
/// - records of class IN and type A, AAAA, CNAME or SOA must have the form of their type in every section, also where
///   they are not used; records of other types and classes are skipped by their length;
/// - records of type SVCB and HTTPS are read when one of them was asked for; one that is malformed voids those beside it,
///   and not the message (RFC 9460 section 2.2);
/// - the question must come back as it was asked, in any case of letters. Only a response that says that the query
///   failed may leave it out, since some servers do not repeat what they could not read.
package struct DNSResponse: Hashable, Sendable {
    /// The most addresses that are kept; more serve no connection attempt.
    package static let maximumAddresses = 16

    package let question: DNSQuestion
    package let responseCode: DNSResponseCode
    /// The answer section's aliases, and its records of the type asked for.
    package let answers: [DNSRecord]
    /// The authority section's SOA records.
    package let authorities: [DNSRecord]
    /// How many leading bits of the client's network the answer depends on, which may be more than the query gave; nil
    /// when the response does not say, which means the same as 0 (RFC 7871 section 7.3), and when the query had none.
    package let clientSubnetScope: Int?

    /// A response whose records were read from another form than the wire's.
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
    }

    /// Reads `message` as the response to `question`.
    /// - Parameter clientSubnet: The network that the query was asked for. A response about another one is refused whole
    ///   (RFC 7871 section 7.3). Without it the option means nothing: no server may send it unasked (section 7.2.1).
    package init(
        parsing message: [UInt8],
        to question: DNSQuestion,
        clientSubnet: DNSClientSubnet? = nil
    ) throws(DNSMessageError) {
        guard message.count <= DNSWireFormat.maximumMessageOctets else {
            throw DNSMessageError(.tooLong, "\(message.count) octets; at most 65,535 are allowed (RFC 8484 section 6)")
        }
        var reader = DNSMessageReader(message)
        let header = try DNSResponseHeader(&reader)
        try Self.readQuestion(&reader, header: header, expected: question)
        try Self.checkCounts(header, remaining: reader.remaining, at: reader.offset)

        var parser = DNSRecordParser(reader: reader, wanted: question.type, clientSubnet: clientSubnet)
        answers = try parser.readRecords(header.answerCount, in: .answer)
        authorities = try parser.readRecords(header.authorityCount, in: .authority)
        _ = try parser.readRecords(header.additionalCount, in: .additional)
        guard parser.reader.remaining == 0 else {
            throw DNSMessageError(
                .trailingBytes,
                at: parser.reader.offset,
                "\(parser.reader.remaining) octets behind the last record; there must be none"
            )
        }
        self.question = question
        clientSubnetScope = parser.clientSubnetScope
        responseCode = DNSResponseCode(number: parser.extendedResponseCode << 4 | header.responseCode)
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

    /// Refuses impossible counts before anything is read, so that 40 octets cannot announce 65,535 records.
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
