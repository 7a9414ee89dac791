// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

#if LocalProvider
internal import Foundation
internal import HTTPDNSCore
internal import HTTPDNSMessages
internal import HTTPDNSPrimitives
internal import HTTPTypes

/// DNS messages over HTTP (RFC 8484).
struct WireDNS: ServedProtocol {
    static let mediaType = "application/dns-message"

    let name = "doh"

    func reply(to request: ServedRequest, _ inquiry: inout ServedQuery) throws(Refusal) -> ServedReply {
        let query = try WireQuery(try Self.message(in: request))
        inquiry.record.families = "\(query.type)"
        guard let host = query.name.hostName else {
            return Self.reply(query.response(.nameError, nil), timeToLive: nil)
        }
        let families = query.type.families
        do throws(Refusal) {
            guard let answer = try inquiry.answers(about: [host], families).first else {
                throw Refusal(.internalError, "")
            }
            inquiry.record.families = "\(query.type)"
            return Self.reply(
                query.response(answer.exists ? .noError : .nameError, answer),
                timeToLive: answer.addresses(query.type).isEmpty ? answer.absence : answer.timeToLive
            )
        } catch {
            switch error.code {
            case .serverFailure?: return Self.reply(query.response(.serverFailure, nil), timeToLive: nil)
            case .refused?: return Self.reply(query.response(.refused, nil), timeToLive: nil)
            default: throw error
            }
        }
    }

    private static func reply(_ message: [UInt8], timeToLive: Int?) -> ServedReply {
        var reply = ServedReply(contentType: mediaType, body: message)
        // An HTTP cache must not keep it longer than the time to live of its records (RFC 8484 section 5.1).
        reply.headerFields[.cacheControl] = timeToLive.map { "max-age=\($0)" } ?? "no-store"
        return reply
    }

    private static func message(in request: ServedRequest) throws(Refusal) -> [UInt8] {
        switch request.method {
        case .get:
            let text = try QueryParameters(request.query).required("dns")
            guard let message = octets(ofBase64URL: text) else {
                throw Refusal(.missingArgument, "dns is not base64url without padding (RFC 8484 section 4.1)")
            }
            return message
        case .post:
            guard request.headerFields[.contentType] == mediaType else {
                var refusal = Refusal(.missingArgument, "a POST has the content type \(mediaType)")
                refusal.status = 415
                throw refusal
            }
            return request.body
        default: throw Refusal(.methodNotAllowed, "the methods are GET and POST")
        }
    }

    private static func octets(ofBase64URL text: String) -> [UInt8]? {
        guard !text.contains(where: { "+/=".contains($0) }) else { return nil }
        let plain = text.replacing("-", with: "+").replacing("_", with: "/")
        let padding = String(repeating: "=", count: (4 - plain.utf8.count % 4) % 4)
        return Data(base64Encoded: plain + padding).map(Array.init)
    }
}

extension DNSRecordType {
    /// The families of a question for records of the type.
    var families: HTTPDNSAddress.Families {
        switch self {
        case .a: .v4
        case .aaaa: .v6
        default: []
        }
    }
}

/// A DNS query as it was received, and the response to it.
struct WireQuery {
    /// The payload size in an EDNS record (DNS Flag Day 2020); it has no effect over HTTP.
    private static let payloadOctets: UInt16 = 1232

    let name: DNSName
    let type: DNSRecordType
    private let identifier: UInt16
    private let flags: UInt16
    private let hasOptions: Bool

    /// Parses a query with one question.
    init(_ octets: [UInt8]) throws(Refusal) {
        do throws(DNSMessageError) {
            var reader = DNSMessageReader(octets)
            identifier = try reader.readUInt16()
            flags = try reader.readUInt16()
            var counts: [UInt16] = []
            for _ in 0..<4 { counts.append(try reader.readUInt16()) }
            let name = try reader.readName()
            let type = DNSRecordType(number: try reader.readUInt16())
            let questionClass = try reader.readUInt16()
            var hasOptions = false
            guard counts[1] == 0, counts[2] == 0 else {
                throw DNSMessageError(.wrongQuestion, "a query has no answers")
            }
            for _ in 0..<counts[3] {
                _ = try reader.readName()
                if try reader.readUInt16() == DNSRecordType.opt.number { hasOptions = true }
                _ = try reader.readUInt16()
                _ = try reader.readUInt32()
                _ = try reader.readOctets(Int(try reader.readUInt16()))
            }
            guard reader.remaining == 0 else { throw DNSMessageError(.trailingBytes, "octets are left") }
            guard flags & (DNSWireFormat.Flag.response | DNSWireFormat.Flag.operationCode) == 0, counts[0] == 1,
                questionClass == DNSWireFormat.internetClass
            else { throw DNSMessageError(.wrongQuestion, "it is no standard query with one question of class IN") }
            self.name = name
            self.type = type
            self.hasOptions = hasOptions
        } catch {
            throw Refusal(.missingArgument, "the DNS message cannot be read: \(error.reason)")
        }
    }

    /// Returns the response.
    /// - Parameter answer: Nil for a response code alone.
    func response(_ code: DNSResponseCode, _ answer: ZoneAnswer?) -> [UInt8] {
        let answers = answer.map(records) ?? []
        let absent = answer.flatMap { $0.addresses(type).isEmpty ? $0 : nil }
        let authority = absent.map { [startOfAuthority($0)] } ?? []
        var message: [UInt8] = []
        message.append(identifier)
        // Response, recursion available, and recursion desired as in the query.
        message.append(0x8080 | flags & DNSWireFormat.Flag.recursionDesired | code.number & 0x000f)
        for count in [1, answers.count, authority.count, hasOptions ? 1 : 0] {
            message.append(UInt16(truncatingIfNeeded: count))
        }
        message += name.octets
        message.append(type.number)
        message.append(DNSWireFormat.internetClass)
        message += answers.joined()
        message += authority.joined()
        if hasOptions {
            message += Self.record(DNSName.root.octets, .opt, class: Self.payloadOctets, timeToLive: 0, [])
        }
        return message
    }

    /// Returns the aliases in their order, followed by the addresses.
    private func records(_ answer: ZoneAnswer) -> [[UInt8]] {
        var owner = name
        var records: [[UInt8]] = []
        for alias in answer.aliases {
            let target = DNSName(alias)
            records.append(Self.record(owner.octets, .cname, timeToLive: answer.timeToLive, target.octets))
            owner = target
        }
        return records
            + answer.addresses(type).map { Self.record(owner.octets, type, timeToLive: answer.timeToLive, $0.bytes) }
    }

    /// Returns the SOA with the lifetime of the negative answer, for a zone with the name itself.
    private func startOfAuthority(_ answer: ZoneAnswer) -> [UInt8] {
        let owner = answer.aliases.last.map { DNSName($0) } ?? name
        var content = owner.octets + owner.octets
        for number in [1, 7200, 3600, 1_209_600, answer.absence] { content.append(UInt32(truncatingIfNeeded: number)) }
        return Self.record(owner.octets, .soa, timeToLive: answer.absence, content)
    }

    private static func record(
        _ owner: [UInt8],
        _ type: DNSRecordType,
        class recordClass: UInt16 = DNSWireFormat.internetClass,
        timeToLive: Int,
        _ content: [UInt8]
    ) -> [UInt8] {
        var record = owner
        record.append(type.number)
        record.append(recordClass)
        record.append(UInt32(truncatingIfNeeded: timeToLive))
        record.append(UInt16(truncatingIfNeeded: content.count))
        return record + content
    }
}

extension [UInt8] {
    /// Appends the number with its highest byte first.
    fileprivate mutating func append(_ value: some FixedWidthInteger & UnsignedInteger) {
        for shift in stride(from: value.bitWidth - 8, through: 0, by: -8) {
            append(UInt8(truncatingIfNeeded: value >> shift))
        }
    }
}
#endif
