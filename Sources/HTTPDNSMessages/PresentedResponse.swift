// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

package import HTTPDNSPrimitives

/// The response to one question with its records of all types as text, for display.
///
/// Header, question and counts are checked as by ``DNSResponse``. A record with malformed data does not invalidate the message.
package struct PresentedResponse: Hashable, Sendable {
    package let responseCode: DNSResponseCode
    package let answers: [PresentedRecord]
    package let authorities: [PresentedRecord]
    /// See ``DNSResponse/extendedErrors``.
    package let extendedErrors: [HTTPDNSExtendedError]

    /// Reads `message` as the response to `question`.
    package init(parsing message: [UInt8], to question: DNSQuestion) throws(DNSMessageError) {
        var reader = DNSMessageReader(message)
        let header = try DNSResponse.readHead(&reader, expected: question)
        var code = header.responseCode
        var options = DNSRecordParser(reader: reader, wanted: question.type, clientSubnet: nil)
        func records(_ count: UInt16) throws(DNSMessageError) -> [PresentedRecord] {
            var records: [PresentedRecord] = []
            for _ in 0..<count {
                var frame = try DNSRecordFrame(parsing: &reader)
                if frame.type == .opt {
                    code |= frame.extendedResponseCode << 4
                    try options.readOptions(&frame.data)
                } else {
                    records.append(PresentedRecord(frame))
                }
            }
            return records
        }
        answers = try records(header.answerCount)
        authorities = try records(header.authorityCount)
        _ = try records(header.additionalCount)
        try DNSResponse.checkEnd(reader)
        responseCode = DNSResponseCode(number: code)
        extendedErrors = options.extendedErrors
    }
}

/// A record of any type as in a zone file (RFC 1035 section 5.1). All text is printable ASCII.
package struct PresentedRecord: Hashable, Sendable {
    package let owner: DNSName
    package let timeToLive: UInt32
    /// `IN`; `CLASS3` for others.
    package let recordClass: String
    package let type: DNSRecordType
    /// The data in the presentation form of its type. That of RFC 3597 section 5 for malformed data, and for types and classes that
    /// are not read.
    package let data: String
    /// The reason why the data is malformed.
    package let mistake: DNSMessageError?

    init(_ frame: DNSRecordFrame) {
        let isInternet = frame.recordClass == DNSWireFormat.internetClass
        (owner, timeToLive, type) = (frame.owner, frame.timeToLive, frame.type)
        recordClass = isInternet ? "IN" : "CLASS\(frame.recordClass)"
        var (rest, text, mistake) = (frame.data, nil as String?, nil as DNSMessageError?)
        do throws(DNSMessageError) {
            text = isInternet ? try Self.data(of: frame.type, &rest) : nil
            if text != nil, rest.remaining > 0 {
                let message = "\(rest.remaining) octets left over in the data of a \(frame.type) record"
                throw DNSMessageError(.badRecordLength, at: rest.offset, message)
            }
        } catch {
            (text, mistake) = (nil, error)
        }
        data = text ?? PresentationText.uninterpreted(frame.data)
        self.mistake = mistake
    }

    /// Returns the data in the presentation form of the type; nil for a type that is not read.
    private static func data(of type: DNSRecordType, _ data: inout DNSMessageReader) throws(DNSMessageError) -> String?
    {
        switch type {
        case .a, .aaaa:
            let start = data.offset
            guard let address = HTTPDNSAddress(bytes: try data.readOctets(type == .a ? 4 : 16)) else {
                throw DNSMessageError(.badRecordLength, at: start, "no address")
            }
            return "\(address)"
        case .cname, .ns, .ptr:
            return "\(try data.readName())"
        case .mx:
            return "\(try data.readUInt16()) \(try data.readName())"
        case .srv:
            let numbers = "\(try data.readUInt16()) \(try data.readUInt16()) \(try data.readUInt16())"
            return "\(numbers) \(try data.readName())"
        case .soa:
            var text = "\(try data.readName()) \(try data.readName())"
            for _ in 0..<5 { text += " \(try data.readUInt32())" }
            return text
        case .txt:
            var texts = [try PresentationText.characterString(&data)]
            while data.remaining > 0 { texts.append(try PresentationText.characterString(&data)) }
            return texts.joined(separator: " ")
        case .caa:
            let flags = try data.readUInt8()
            let start = data.offset
            let tag = try data.readOctets(Int(try data.readUInt8()))
            guard !tag.isEmpty, tag.allSatisfy({ $0.isLetterOrDigit(or: "") }) else {
                throw DNSMessageError(.badRecordLength, at: start, "a tag that is not letters and digits (RFC 8659)")
            }
            let value = PresentationText.quoted(Array(try data.readOctets(data.remaining)))
            return "\(flags) \(String(decoding: tag, as: UTF8.self)) \(value)"
        case .svcb, .https:
            let record = try ServiceRecord(parsing: &data)
            // The parameters of alias mode, which are ignored.
            _ = try data.readOctets(data.remaining)
            return "\(record)"
        default:
            return nil
        }
    }
}

/// The text forms of octets in a zone file.
enum PresentationText {
    /// Returns a quoted character string, with `\DDD` for octets that are not printable (RFC 1035 section 5.1).
    static func quoted(_ octets: [UInt8]) -> String {
        let text = octets.reduce(into: "") { text, octet in
            switch octet {
            case UInt8(ascii: "\""), UInt8(ascii: "\\"):
                text += "\\" + String(UnicodeScalar(octet))
            case 0x20...0x7e:
                text.unicodeScalars.append(UnicodeScalar(octet))
            default:
                let digits = String(octet)
                text += "\\" + String(repeating: "0", count: 3 - digits.utf8.count) + digits
            }
        }
        return "\"\(text)\""
    }

    /// Reads a character string (RFC 1035 section 3.3), and returns it quoted.
    static func characterString(_ data: inout DNSMessageReader) throws(DNSMessageError) -> String {
        let length = Int(try data.readUInt8())
        return quoted(Array(try data.readOctets(length)))
    }

    /// Returns the form of data that is not interpreted, such as `\# 2 0AFF` (RFC 3597 section 5).
    static func uninterpreted(_ data: DNSMessageReader) -> String {
        var data = data
        let octets = (try? data.readOctets(data.remaining)) ?? []
        let digits = octets.map { ($0 < 16 ? "0" : "") + String($0, radix: 16, uppercase: true) }.joined()
        return "\\# \(octets.count)" + (digits.isEmpty ? "" : " \(digits)")
    }
}
