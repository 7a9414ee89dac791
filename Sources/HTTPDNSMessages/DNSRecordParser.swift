// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

internal import HTTPDNSPrimitives

/// A record whose data is not read yet (RFC 1035 section 4.1.3).
struct DNSRecordFrame {
    let owner: DNSName
    let type: DNSRecordType
    let recordClass: UInt16
    let timeToLive: UInt32
    var data: DNSMessageReader

    init(parsing reader: inout DNSMessageReader) throws(DNSMessageError) {
        owner = try reader.readName()
        type = DNSRecordType(number: try reader.readUInt16())
        recordClass = try reader.readUInt16()
        timeToLive = try reader.readUInt32()
        let length = Int(try reader.readUInt16())
        data = try reader.readSection(length)
    }

    /// The upper eight bits of the response code, in an OPT record (RFC 6891 section 6.1.3).
    var extendedResponseCode: UInt16 { UInt16(timeToLive >> 24) }
}

/// The parser for the record sections after the question.
struct DNSRecordParser {
    enum Section: Hashable {
        case answer, authority, additional
    }

    /// The length of the shortest record: a root owner, type, class, time to live and data length (RFC 1035 section 4.1.3).
    static let minimumRecordOctets = 11

    var reader: DNSMessageReader
    /// The type of the records that are kept in addition to aliases.
    let wanted: DNSRecordType
    /// The client network of the query.
    let clientSubnet: DNSClientSubnet?
    /// The upper eight bits of the response code; 0 without an OPT record.
    private(set) var extendedResponseCode: UInt16 = 0
    /// See ``DNSResponse/clientSubnetScope``.
    private(set) var clientSubnetScope: Int?
    /// See ``DNSResponse/extendedErrors``.
    private(set) var extendedErrors: [HTTPDNSExtendedError] = []
    /// Whether the authority section has the name servers of a zone.
    private(set) var hasNameServers = false
    private var hasOptions = false

    init(reader: DNSMessageReader, wanted: DNSRecordType, clientSubnet: DNSClientSubnet?) {
        self.reader = reader
        self.wanted = wanted
        self.clientSubnet = clientSubnet
    }

    /// Reads a section, and returns its records that can affect an outcome.
    mutating func readRecords(_ count: UInt16, in section: Section) throws(DNSMessageError) -> [DNSRecord] {
        var records: [DNSRecord] = []
        for _ in 0..<count {
            guard let record = try readRecord(in: section) else { continue }
            switch (section, record.content) {
            case (.answer, .address), (.answer, .alias), (.answer, .service), (.answer, .malformedService),
                (.answer, .server),
                (.authority, .startOfAuthority):
                records.append(record)
            default: continue
            }
        }
        return records
    }

    private mutating func readRecord(in section: Section) throws(DNSMessageError) -> DNSRecord? {
        let start = reader.offset
        var frame = try DNSRecordFrame(parsing: &reader)
        if frame.type == .opt {
            try checkPlace(ofOptionsAt: start, owner: frame.owner, in: section)
            extendedResponseCode = frame.extendedResponseCode
            try readOptions(&frame.data)
            return nil
        }
        guard frame.recordClass == DNSWireFormat.internetClass else { return nil }
        if section == .authority, frame.type == .ns { hasNameServers = true }
        guard let content = try Self.readContent(of: frame.type, from: &frame.data, wanted: wanted) else { return nil }
        return DNSRecord(owner: frame.owner, timeToLive: frame.timeToLive, content: content)
    }

    private static func readContent(
        of type: DNSRecordType,
        from data: inout DNSMessageReader,
        wanted: DNSRecordType
    ) throws(DNSMessageError) -> DNSRecord.Content? {
        let content: DNSRecord.Content?
        switch type {
        case .a, .aaaa:
            let octets = type == .a ? 4 : 16
            guard data.remaining == octets, let address = HTTPDNSAddress(bytes: try data.readOctets(octets)) else {
                throw DNSMessageError(
                    .badRecordLength,
                    at: data.offset,
                    "\(data.remaining) octets of data in an \(type) record; it must have \(octets)"
                )
            }
            content = type == wanted ? .address(address) : nil
        case .cname:
            content = .alias(try data.readName())
        case .soa:
            _ = try data.readName()
            _ = try data.readName()
            // Serial, refresh, retry and expire are for secondary servers (RFC 1035 section 3.3.13).
            _ = try data.readOctets(16)
            content = .startOfAuthority(minimum: try data.readUInt32())
        case .srv where wanted == .srv:
            content = .server(try ServerRecord(parsing: &data))
        case wanted where wanted.bindsServices:
            return readService(from: &data)
        default:
            return nil
        }
        guard data.remaining == 0 else {
            throw DNSMessageError(
                .badRecordLength,
                at: data.offset,
                "\(data.remaining) octets left over in the data of a \(type) record"
            )
        }
        return content
    }

    private static func readService(from data: inout DNSMessageReader) -> DNSRecord.Content {
        do throws(DNSMessageError) {
            return .service(try ServiceRecord(parsing: &data))
        } catch {
            return .malformedService(error)
        }
    }

    private mutating func checkPlace(
        ofOptionsAt start: Int,
        owner: DNSName,
        in section: Section
    ) throws(DNSMessageError) {
        let fault: String? =
            if section != .additional {
                "an OPT record outside the additional section"
            } else if hasOptions {
                "a second OPT record"
            } else if owner != .root {
                "an OPT record that the root does not own"
            } else {
                nil
            }
        if let fault { throw DNSMessageError(.misplacedOption, at: start, "\(fault) (RFC 6891 section 6.1)") }
        hasOptions = true
    }

    /// Reads the options. They must fill the record (RFC 6891 section 6.1.2). Only client subnet and extended errors are used.
    mutating func readOptions(_ data: inout DNSMessageReader) throws(DNSMessageError) {
        try DNSOptions.read(&data) { (code, option) throws(DNSMessageError) in
            if code == DNSOptions.extendedError { try extendedErrors.append(parsing: &option) }
            guard code == DNSOptions.clientSubnet, let clientSubnet else { return }
            guard clientSubnetScope == nil else {
                throw DNSMessageError(.wrongClientSubnet, at: option.offset, "a second client subnet option")
            }
            clientSubnetScope = try clientSubnet.scope(in: &option)
        }
    }
}
