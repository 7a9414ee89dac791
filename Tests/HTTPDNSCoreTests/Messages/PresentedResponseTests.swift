// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

import HTTPDNSMessages
import ServerRig
import Testing

/// RFC 1035 section 5.1, and RFC 3597 section 5.
struct PresentedResponseTests {
    private static let owner = DNSName(validatedOctets: name("one.test"))

    private static func name(_ text: String) -> [UInt8] { DNSMessageBuilder.name(text) }
    private static func ascii(_ text: String) -> [UInt8] { [UInt8(text.utf8.count)] + Array(text.utf8) }

    /// Returns the records of a message with one record of these data. The question is at offset 12, its zone at 16.
    private static func record(_ type: DNSRecordType, _ data: [UInt8], recordClass: UInt16 = 1) throws
        -> PresentedRecord
    {
        let question = DNSQuestion(name: owner, type: type)
        var builder = DNSMessageBuilder(to: question)
        builder.append(
            DNSMessageBuilder.record(
                [0xc0, 12],
                type: type.number,
                recordClass: recordClass,
                timeToLive: .max,
                data: data
            )
        )
        return try #require(try PresentedResponse(parsing: builder.octets, to: question).answers.first)
    }

    private static let numbers: [UInt8] = [0, 10, 0, 60, 0x13, 0xc4]
    private static let times: [UInt8] = [0, 0, 0, 1, 0, 0, 0, 2, 0, 0, 0, 3, 0, 0, 0, 4, 0xff, 0xff, 0xff, 0xff]
    /// `www` and the name at offset 16.
    private static let compressed: [UInt8] = [3, 0x77, 0x77, 0x77, 0xc0, 16]

    struct Row: Sendable {
        var type: DNSRecordType
        var data: [UInt8]
        var text: String

        init(_ type: DNSRecordType, _ data: [UInt8], _ text: String = "") {
            (self.type, self.data, self.text) = (type, data, text)
        }
    }

    private static let rows: [Row] = [
        Row(.a, [192, 0, 2, 1], "192.0.2.1"),
        Row(.aaaa, [0x20, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1], "2001::1"),
        Row(.cname, compressed, "www.test."),
        Row(.ns, compressed, "www.test."),
        Row(.ptr, [0], "."),
        Row(.ptr, [4, 0x61, 0x2e, 0x1b, 0x5c, 0], #"a\.\027\\."#),
        Row(.mx, [0, 10] + compressed, "10 www.test."),
        Row(.mx, [0, 0, 0], "0 ."),
        Row(.srv, numbers + compressed, "10 60 5060 www.test."),
        Row(.srv, numbers + name("A.test"), "10 60 5060 a.test."),
        Row(.soa, compressed + [0xc0, 12] + times, "www.test. one.test. 1 2 3 4 4294967295"),
        Row(.txt, ascii("v=spf1 -all"), #""v=spf1 -all""#),
        Row(.txt, [0], #""""#),
        Row(.txt, [1, 0x61, 0, 1, 0x62], #""a" "" "b""#),
        Row(.txt, [9, 0x22, 0x5c, 0x1b, 0x0a, 0x00, 0x7f, 0xc3, 0xbc, 0x3b], #""\"\\\027\010\000\127\195\188;""#),
        Row(.txt, [255] + [UInt8](repeating: 0x61, count: 255), "\"" + String(repeating: "a", count: 255) + "\""),
        Row(.caa, [128] + ascii("issue") + Array("ca.test".utf8), #"128 issue "ca.test""#),
        Row(.caa, [0] + ascii("iodef"), #"0 iodef """#),
        Row(.svcb, [0, 1] + name("two.test") + [0, 3, 0, 2, 0, 99], "1 two.test. port=99"),
        Row(.https, [0, 0] + name("two.test") + [1, 2, 3], "0 two.test."),
        Row(DNSRecordType(number: 48), [0x0a, 0xff, 0x00], "\\# 3 0AFF00"),
        Row(DNSRecordType(number: 99), [], "\\# 0"),
    ]

    @Test("Data is written as in a zone file", arguments: rows)
    func data(row: Row) throws {
        let record = try Self.record(row.type, row.data)
        #expect(record.data == row.text && record.mistake == nil)
        #expect(
            record.owner == Self.owner && record.type == row.type && record.timeToLive == .max
                && record.recordClass == "IN"
        )
        let other = try Self.record(row.type, [0xab], recordClass: 3)
        #expect(other.data == "\\# 1 AB" && other.recordClass == "CLASS3" && other.mistake == nil)
    }

    private static let malformedRows: [Row] = [
        Row(.a, [192, 0, 2]),
        Row(.a, [192, 0, 2, 1, 0]),
        Row(.aaaa, [1, 2, 3, 4]),
        Row(.cname, []),
        Row(.cname, [3, 0x77]),
        Row(.ns, [0, 0]),
        Row(.ptr, [0xc0, 0]),
        Row(.ptr, [0xc0, 0xff]),
        Row(.cname, [0x40]),
        Row(.mx, [0]),
        Row(.mx, [0, 10]),
        Row(.srv, numbers),
        Row(.srv, Array(numbers.dropLast())),
        Row(.srv, numbers + [0, 0]),
        Row(.soa, compressed + times),
        Row(.soa, [0, 0] + times.dropLast()),
        Row(.soa, [0, 0] + times + [0]),
        Row(.txt, []),
        Row(.txt, [2, 0x61]),
        Row(.txt, [1, 0x61, 5]),
        Row(.caa, []),
        Row(.caa, [0]),
        Row(.caa, [0, 0]),
        Row(.caa, [0, 9, 0x61]),
        Row(.caa, [0, 1, 0x1b]),
        Row(.svcb, [0, 1]),
        Row(.https, [0, 1, 0, 0, 3, 0, 1, 9]),
    ]

    @Test("Malformed data is written as octets, and does not invalidate the message", arguments: malformedRows)
    func malformed(row: Row) throws {
        let (record, data) = (try Self.record(row.type, row.data), row.data)
        let digits = data.map { ($0 < 16 ? "0" : "") + String($0, radix: 16, uppercase: true) }.joined()
        #expect(record.data == (data.isEmpty ? "\\# 0" : "\\# \(data.count) \(digits)"))
        #expect(record.mistake != nil)
    }

    @Test("Records of all sections are read, and code and reasons have those of EDNS")
    func sections() throws {
        let question = DNSQuestion(name: Self.owner, type: .txt)
        var builder = DNSMessageBuilder(to: question)
        builder.alias("one.test", "two.test")
        builder.startOfAuthority("test", timeToLive: 9, minimum: 5)
        builder.address("two.test", [192, 0, 2, 1], in: .additional)
        builder.options(extendedCode: 1, data: [0, 15, 0, 4, 0, 15, 0x68, 0x1b])
        builder.responseCode = 7
        let response = try PresentedResponse(parsing: builder.octets, to: question)
        #expect(response.responseCode == DNSResponseCode(number: 23))
        #expect(response.extendedErrors.map(\.description) == ["Blocked (15): h?"])
        #expect(response.answers.map(\.data) == ["two.test."])
        #expect(response.authorities.map(\.data) == ["ns.test. admin.test. 16843009 16843009 16843009 16843009 5"])
    }

    @Test("A message that does not answer the question, or is malformed, is refused")
    func refused() throws {
        let question = DNSQuestion(name: Self.owner, type: .txt)
        func code(_ change: (inout DNSMessageBuilder) -> Void) -> DNSMessageError.Code? {
            var builder = DNSMessageBuilder(to: question)
            builder.append(DNSMessageBuilder.record([0xc0, 12], type: 16, data: [0]))
            change(&builder)
            do throws(DNSMessageError) {
                _ = try PresentedResponse(parsing: builder.octets, to: question)
                return nil
            } catch {
                return error.code
            }
        }
        #expect(code { _ in } == nil)
        #expect(code { $0.id = 1 } == .wrongID)
        #expect(code { $0.flags = 0x0100 } == .notAResponse)
        #expect(code { $0.flags |= 0x0200 } == .truncationFlag)
        #expect(code { $0.questions = [DNSMessageBuilder.question(Self.name("one.test"), type: 1)] } == .wrongQuestion)
        #expect(code { $0.questions = [] } == .wrongQuestion)
        #expect(code { $0.counts = [.answer: 2] } == .truncated)
        #expect(code { $0.trailing = [0] } == .trailingBytes)
        #expect(code { $0.trailing = [UInt8](repeating: 0, count: 65_535) } == .tooLong)
    }

    @Test("Every input of the fuzzer is printed as lines of ASCII, or refused")
    func corpus() throws {
        var printed = 0
        var types: Set<DNSRecordType> = []
        for (name, octets) in try Repository.corpus("dns-response") {
            var reader = DNSMessageReader(octets)
            guard (try? reader.readOctets(12)) != nil, let owner = try? reader.readName(),
                let type = (try? reader.readUInt16()).map(DNSRecordType.init(number:)),
                let response = try? PresentedResponse(parsing: octets, to: DNSQuestion(name: owner, type: type))
            else { continue }
            for record in response.answers + response.authorities {
                let text = "\(record.owner) \(record.type) \(record.data)"
                #expect(text.utf8.allSatisfy { (0x20...0x7e).contains($0) }, "\(name)")
                printed += 1
                types.insert(record.type)
            }
        }
        #expect(printed > 100 && types.count > 10)
    }

    @Test("Types are read by name and number, in any case of letters")
    func typeNames() {
        #expect(
            ["a", "Aaaa", "srv", "TYPE16", "type65535", "caa"].map { DNSRecordType($0)?.number } == [
                1, 28, 33, 16, 65_535, 257,
            ]
        )
        for text in ["", "TYPE", "TYPE65536", "TYPE-1", "TYPE+1", "TYPE1x", "ANY", "one.test"] {
            #expect(DNSRecordType(text) == nil)
        }
    }
}
