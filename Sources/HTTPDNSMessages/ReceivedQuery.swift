// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

package import HTTPDNSPrimitives

/// A query as a server receives it, and the responses to it. A value.
package struct ReceivedQuery: Sendable {
    /// What the query says with EDNS (RFC 6891).
    package struct Options: Hashable, Sendable {
        /// The longest datagram that the client takes.
        package var payloadOctets: UInt16
        package var version: UInt8
        var wantsSignatures: Bool
        /// The client's cookie, and the server's cookie of before (RFC 7873 section 4); both empty without one.
        package var clientCookie: [UInt8] = []
        package var serverCookie: [UInt8] = []
    }

    /// The payload size in an EDNS record (DNS Flag Day 2020).
    package static let payloadOctets = 1232
    /// The longest datagram for a client without EDNS (RFC 1035 section 4.2.1).
    package static let plainPayloadOctets = 512
    /// The header of a response gives its own name as an offset: 12 (RFC 1035 section 4.1.4).
    private static let questionPointer: [UInt8] = [0xc0, 0x0c]

    package let question: DNSQuestion
    package let recordClass: UInt16
    package let options: Options?
    /// The length of the message.
    package let octetCount: Int
    private let identifier: UInt16
    private let flags: UInt16
    /// The question as it came, with the case of its letters.
    package let questionOctets: [UInt8]

    /// Parses a standard query with one question.
    package init(_ octets: [UInt8]) throws(DNSMessageError) {
        var reader = DNSMessageReader(octets)
        identifier = try reader.readUInt16()
        flags = try reader.readUInt16()
        var counts: [UInt16] = []
        for _ in 0..<4 { counts.append(try reader.readUInt16()) }
        guard flags & (DNSWireFormat.Flag.response | DNSWireFormat.Flag.operationCode) == 0, counts[0] == 1 else {
            throw DNSMessageError(.wrongQuestion, "it is no standard query with one question")
        }
        question = DNSQuestion(
            name: try reader.readName(),
            type: DNSRecordType(number: try reader.readUInt16())
        )
        recordClass = try reader.readUInt16()
        questionOctets = Array(octets[DNSWireFormat.headerOctets..<reader.offset])
        guard counts[1] == 0, counts[2] == 0 else { throw DNSMessageError(.wrongQuestion, "a query has no answers") }
        var options: Options?
        for _ in 0..<counts[3] {
            let owner = try reader.readName()
            guard try reader.readUInt16() == DNSRecordType.opt.number else {
                _ = try reader.readOctets(6)
                _ = try reader.readOctets(Int(try reader.readUInt16()))
                continue
            }
            guard options == nil, owner == .root else {
                throw DNSMessageError(
                    .misplacedOption,
                    "a query has one OPT record, of the root (RFC 6891 section 6.1.1)"
                )
            }
            options = try Options(parsing: &reader)
        }
        guard reader.remaining == 0 else { throw DNSMessageError(.trailingBytes, "octets are left") }
        self.options = options
        octetCount = octets.count
    }

    /// Returns the response with a code alone to what is no such query; nil for a response, and for less than a header, which are
    /// not answered.
    package static func refusal(of octets: [UInt8]) -> [UInt8]? {
        guard octets.count >= DNSWireFormat.headerOctets, octets[2] & 0x80 == 0 else { return nil }
        // NOTIMP for another operation, and FORMERR.
        let code: UInt8 = octets[2] & 0x78 == 0 ? 1 : 4
        return Array(octets[..<2]) + [0x80 | octets[2] & 0x79, code, 0, 0, 0, 0, 0, 0, 0, 0]
    }

    /// What the client asks of signatures.
    package var wishes: DNSSignatureWishes {
        var wishes = DNSSignatureWishes()
        wishes.wantsSignatures = options?.wantsSignatures ?? false
        wishes.flags = flags & (DNSWireFormat.Flag.authenticData | DNSWireFormat.Flag.checkingDisabled)
        return wishes
    }

    /// The longest response that the client takes as a datagram.
    package var datagramOctets: Int {
        guard let options else { return Self.plainPayloadOctets }
        return min(max(Int(options.payloadOctets), Self.plainPayloadOctets), Self.payloadOctets)
    }

    // MARK: responses

    /// Returns a response.
    /// - Parameters:
    ///   - answers: Records, from ``record(_:of:timeToLive:_:)``.
    ///   - cookie: The server's cookie, for a client that has one.
    ///   - limit: The longest response; a longer one becomes an empty one that is marked as truncated.
    package func response(
        _ code: DNSResponseCode,
        answers: [[UInt8]] = [],
        authority: [[UInt8]] = [],
        extendedErrors: [HTTPDNSExtendedError] = [],
        cookie: [UInt8] = [],
        limit: Int = DNSWireFormat.maximumMessageOctets
    ) -> [UInt8] {
        let flags = DNSWireFormat.Flag.response | DNSWireFormat.Flag.recursionAvailable | code.number & 0x000f
        let options = optionRecord(code.number, extendedErrors, cookie)
        var message = head(flags, [answers.count, authority.count, options.isEmpty ? 0 : 1])
        for record in answers { message += record }
        for record in authority { message += record }
        message += options
        return message.count <= limit ? message : truncated(flags, options)
    }

    /// Returns a server's message to the same question as the response: its records, and its extended errors.
    /// - Parameters:
    ///   - message: A message that repeats the question, in any case.
    ///   - cookie: As for ``response(_:answers:authority:extendedErrors:cookie:limit:)``.
    ///   - limit: As there.
    package func response(
        relaying message: [UInt8],
        cookie: [UInt8] = [],
        limit: Int = DNSWireFormat.maximumMessageOctets
    ) throws(DNSMessageError) -> [UInt8] {
        var reader = DNSMessageReader(message)
        _ = try reader.readUInt16()
        let theirs = try reader.readUInt16()
        var counts: [Int] = []
        for _ in 0..<4 { counts.append(Int(try reader.readUInt16())) }
        guard counts[0] == 1 else { throw DNSMessageError(.wrongQuestion, "it does not repeat the question") }
        _ = try reader.readOctets(questionOctets.count)
        for _ in 0..<counts[1] + counts[2] { _ = try Self.skipRecord(&reader) }
        // An OPT record is for one hop (RFC 6891 section 6.2.1). Whatever follows it may point to names behind it: then the
        // additional records, which a client can do without, are left out.
        let additional = reader.offset
        var (end, kept, upperCode) = (message.count, counts[3], UInt16(0))
        var extendedErrors: [HTTPDNSExtendedError] = []
        for index in 0..<counts[3] {
            let start = reader.offset
            guard let record = try Self.skipRecord(&reader) else { continue }
            upperCode = record.upperCode
            extendedErrors = record.extendedErrors
            (end, kept) = index == counts[3] - 1 ? (start, index) : (additional, 0)
            break
        }
        let flags =
            DNSWireFormat.Flag.response | DNSWireFormat.Flag.recursionAvailable
            | theirs & (DNSWireFormat.Flag.authenticData | DNSWireFormat.Flag.responseCode)
        let code = upperCode << 4 | theirs & DNSWireFormat.Flag.responseCode
        let options = optionRecord(code, extendedErrors, cookie)
        var response = head(flags, [counts[1], counts[2], kept + (options.isEmpty ? 0 : 1)])
        response += message[response.count..<end]
        response += options
        return response.count <= limit ? response : truncated(flags, options)
    }

    /// Returns a record.
    /// - Parameter owner: Nil for the name of the question.
    package static func record(
        _ type: DNSRecordType,
        of owner: DNSName? = nil,
        timeToLive: Int,
        _ content: some Collection<UInt8>
    ) -> [UInt8] {
        var record = owner?.octets ?? questionPointer
        record.appendBigEndian(type.number)
        record.appendBigEndian(DNSWireFormat.internetClass)
        record.appendBigEndian(UInt32(clamping: timeToLive))
        record.appendBigEndian(UInt16(truncatingIfNeeded: content.count))
        record += content
        return record
    }

    /// Returns the SOA record of a negative answer: of a zone with the name itself, and with the answer's lifetime in seconds.
    package static func startOfAuthority(of owner: DNSName? = nil, timeToLive: Int) -> [UInt8] {
        let name = owner?.octets ?? questionPointer
        var content = name + name
        for number in [1, 7200, 3600, 1_209_600, timeToLive] { content.appendBigEndian(UInt32(clamping: number)) }
        return record(.soa, of: owner, timeToLive: timeToLive, content)
    }

    private func truncated(_ flags: UInt16, _ options: [UInt8]) -> [UInt8] {
        head(flags | DNSWireFormat.Flag.truncated, [0, 0, options.isEmpty ? 0 : 1]) + options
    }

    private func head(_ flags: UInt16, _ counts: [Int]) -> [UInt8] {
        var message: [UInt8] = []
        message.reserveCapacity(512)
        message.appendBigEndian(identifier)
        let repeated = DNSWireFormat.Flag.recursionDesired | DNSWireFormat.Flag.checkingDisabled
        message.appendBigEndian(flags | self.flags & repeated)
        message.appendBigEndian(1 as UInt16)
        for count in counts { message.appendBigEndian(UInt16(clamping: count)) }
        message += questionOctets
        return message
    }

    /// Returns the OPT record of a response; empty for a query without one.
    private func optionRecord(_ code: UInt16, _ extendedErrors: [HTTPDNSExtendedError], _ cookie: [UInt8]) -> [UInt8] {
        guard let options else { return [] }
        var content: [UInt8] = []
        if !cookie.isEmpty, !options.clientCookie.isEmpty {
            content.appendBigEndian(DNSOptions.cookie)
            content.appendBigEndian(UInt16(truncatingIfNeeded: options.clientCookie.count + cookie.count))
            content += options.clientCookie + cookie
        }
        for error in extendedErrors {
            content.appendBigEndian(DNSOptions.extendedError)
            content.appendBigEndian(UInt16(truncatingIfNeeded: 2 + error.text.utf8.count))
            content.appendBigEndian(error.code)
            content += error.text.utf8
        }
        var record = DNSName.root.octets
        record.appendBigEndian(DNSRecordType.opt.number)
        record.appendBigEndian(UInt16(Self.payloadOctets))
        record.appendBigEndian(
            UInt32(code >> 4) << 24 | (options.wantsSignatures ? DNSSignatureWishes.signaturesFlag : 0)
        )
        record.appendBigEndian(UInt16(truncatingIfNeeded: content.count))
        return record + content
    }

    /// - Returns: What an OPT record says; nil for another one.
    private static func skipRecord(
        _ reader: inout DNSMessageReader
    ) throws(DNSMessageError) -> (upperCode: UInt16, extendedErrors: [HTTPDNSExtendedError])? {
        _ = try reader.readName()
        let type = try reader.readUInt16()
        _ = try reader.readUInt16()
        let flags = try reader.readUInt32()
        var data = try reader.readSection(Int(try reader.readUInt16()))
        guard type == DNSRecordType.opt.number else { return nil }
        var extendedErrors: [HTTPDNSExtendedError] = []
        try DNSOptions.read(&data) { (code, option) throws(DNSMessageError) in
            if code == DNSOptions.extendedError { try extendedErrors.append(parsing: &option) }
        }
        return (UInt16(flags >> 24), extendedErrors)
    }
}

extension ReceivedQuery.Options {
    /// Reads an OPT record behind its type.
    fileprivate init(parsing reader: inout DNSMessageReader) throws(DNSMessageError) {
        payloadOctets = try reader.readUInt16()
        let flags = try reader.readUInt32()
        version = UInt8(truncatingIfNeeded: flags >> 16)
        wantsSignatures = flags & DNSSignatureWishes.signaturesFlag != 0
        var data = try reader.readSection(Int(try reader.readUInt16()))
        var cookie: ArraySlice<UInt8> = []
        try DNSOptions.read(&data) { (code, option) throws(DNSMessageError) in
            guard code == DNSOptions.cookie else { return }
            // RFC 7873 section 5.2.2.
            guard option.remaining == 8 || (16...40).contains(option.remaining) else {
                throw DNSMessageError(.badRecordLength, "a cookie of \(option.remaining) octets (RFC 7873 section 4)")
            }
            cookie = try option.readOctets(option.remaining)
        }
        (clientCookie, serverCookie) = (Array(cookie.prefix(8)), Array(cookie.dropFirst(8)))
    }
}
