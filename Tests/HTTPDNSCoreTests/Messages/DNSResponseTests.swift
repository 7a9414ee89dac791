// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

import HTTPDNSCore
import HTTPDNSMessages
import Testing

struct DNSResponseTests {
    private static let question = DNSQuestion.a("one.test")
    private static let owner = DNSMessageBuilder.name("one.test")

    private static func good() -> DNSMessageBuilder {
        var builder = DNSMessageBuilder(to: question)
        builder.address("one.test", [127, 0, 0, 2])
        return builder
    }

    @Test("The plain response that the other tests vary is accepted")
    func accepted() {
        #expect(parsingError(Self.good().octets) == nil)
    }

    @Test("Messages of 0 to 12 octets are refused", arguments: 0...12)
    func short(length: Int) {
        #expect(parsingError(Array(Self.good().octets.prefix(length))) == .truncated)
        #expect(parsingError([UInt8](repeating: 0, count: length)) == (length < 12 ? .truncated : .notAResponse))
    }

    @Test(
        "The header must be that of a whole response with ID 0",
        arguments: [
            (0x0000, 0, .notAResponse), (0x8800, 0, .notAResponse), (0xa800, 0, .notAResponse),
            (0x8000, 1, .wrongID), (0x8000, 0xffff, .wrongID), (0x8200, 0, .truncationFlag),
        ] as [(UInt16, UInt16, DNSMessageError.Code)]
    )
    func header(flags: UInt16, id: UInt16, expected: DNSMessageError.Code) {
        var builder = Self.good()
        builder.flags = flags
        builder.id = id
        #expect(parsingError(builder.octets) == expected)
    }

    @Test("The question may come back in any letter case, and otherwise unchanged")
    func echo() {
        let cases: [([[UInt8]], DNSMessageError.Code?)] = [
            ([DNSMessageBuilder.question(DNSMessageBuilder.name("ONE.tEsT"), type: 1)], nil),
            ([DNSMessageBuilder.question(DNSMessageBuilder.name("two.test"), type: 1)], .wrongQuestion),
            ([DNSMessageBuilder.question(DNSMessageBuilder.name("one.test.test"), type: 1)], .wrongQuestion),
            ([DNSMessageBuilder.question([8] + Array("one.test".utf8) + [0], type: 1)], .wrongQuestion),
            ([DNSMessageBuilder.question(Self.owner, type: 28)], .wrongQuestion),
            ([DNSMessageBuilder.question(Self.owner, type: 1, recordClass: 3)], .wrongQuestion),
            ([DNSMessageBuilder.question([0], type: 1)], .wrongQuestion),
            ([], .wrongQuestion),
            (
                [DNSMessageBuilder.question(Self.owner, type: 1), DNSMessageBuilder.question(Self.owner, type: 1)],
                .wrongQuestion
            ),
        ]
        for (questions, expected) in cases {
            var builder = Self.good()
            builder.questions = questions
            #expect(parsingError(builder.octets) == expected, "\(questions)")
        }
    }

    @Test("A response with an error code may omit the question", arguments: [1, 2, 4, 5] as [UInt16])
    func failureWithoutQuestion(code: UInt16) throws {
        var builder = DNSMessageBuilder()
        builder.responseCode = code
        #expect(try outcome(builder) == .failed(.sample(DNSResponseCode(number: code))))
        builder.responseCode = 3
        #expect(parsingError(builder.octets) == .wrongQuestion)
    }

    @Test(
        "Counts above the records are refused, and counts below leave octets behind",
        arguments: [(0, .trailingBytes), (2, .truncated), (65_535, .truncated)] as [(UInt16, DNSMessageError.Code)]
    )
    func counts(count: UInt16, expected: DNSMessageError.Code) {
        for section in [DNSMessageBuilder.Section.answer, .authority, .additional] {
            var builder = DNSMessageBuilder(to: Self.question)
            builder.address("one.test", [127, 0, 0, 2], in: section)
            builder.counts = [section: count]
            #expect(parsingError(builder.octets) == expected, "\(section)")
        }
    }

    @Test("Counts of 65,535 in 40 octets are refused")
    func hugeCounts() {
        var builder = DNSMessageBuilder(to: Self.question)
        builder.counts = [.answer: 65_535, .authority: 65_535, .additional: 65_535]
        builder.trailing = [UInt8](repeating: 0, count: 14)
        #expect(builder.octets.count == 40)
        #expect(parsingError(builder.octets) == .truncated)
    }

    @Test(
        "A record's data must have the length of its type",
        arguments: [
            (1, [127, 0, 0], .badRecordLength), (1, [127, 0, 0, 2, 0], .badRecordLength), (1, [], .badRecordLength),
            (28, [UInt8](repeating: 0, count: 15), .badRecordLength),
            (28, [UInt8](repeating: 0, count: 17), .badRecordLength),
            (5, DNSMessageBuilder.name("two.test") + [0], .badRecordLength),
            (5, Array(DNSMessageBuilder.name("two.test").dropLast()), .truncated),
            (5, [0xc0], .truncated), (5, [], .truncated),
            (6, [0, 0] + [UInt8](repeating: 0, count: 19), .truncated),
            (6, [0, 0] + [UInt8](repeating: 0, count: 21), .badRecordLength),
            (6, [0], .truncated),
            (16, [1, 2, 3], nil), (65, [], nil),
        ] as [(UInt16, [UInt8], DNSMessageError.Code?)]
    )
    func recordLengths(type: UInt16, data: [UInt8], expected: DNSMessageError.Code?) {
        for section in [DNSMessageBuilder.Section.answer, .authority, .additional] {
            var builder = Self.good()
            builder.append(DNSMessageBuilder.record(Self.owner, type: type, data: data), to: section)
            #expect(parsingError(builder.octets) == expected, "\(section)")
        }
    }

    @Test("A record length beyond the message is refused", arguments: [1, 5, 6, 16, 28, 41] as [UInt16])
    func lengthBeyondMessage(type: UInt16) {
        var builder = Self.good()
        builder.append(DNSMessageBuilder.record([0], type: type, data: [0, 0, 0, 0], length: 5), to: .additional)
        #expect(parsingError(builder.octets) == .truncated)
    }

    @Test("A compressed name may point outside its record's data, but not run past it")
    func compressedData() throws {
        var builder = DNSMessageBuilder(to: Self.question)
        // "www" and a pointer to "test" in the question.
        let target: [UInt8] = [3, 0x77, 0x77, 0x77, 0xc0, 16]
        builder.append(DNSMessageBuilder.record([0xc0, 12], type: 5, data: target))
        builder.address("www.test", [127, 0, 0, 2])
        #expect(
            try outcome(builder)
                == .addresses(
                    [HTTPDNSAddress(v4: 127, 0, 0, 2)],
                    timeToLive: .seconds(60),
                    canonicalName: try HTTPDNSName("www.test")
                )
        )
        var cut = DNSMessageBuilder(to: Self.question)
        cut.append(DNSMessageBuilder.record([0xc0, 12], type: 5, data: target, length: 5))
        #expect(parsingError(cut.octets) == .truncated)
    }

    @Test("Records of another class are skipped by their length, whatever they contain")
    func otherClass() throws {
        var builder = Self.good()
        builder.append(DNSMessageBuilder.record(Self.owner, type: 1, recordClass: 3, timeToLive: 1, data: [1, 2, 3]))
        #expect(
            try outcome(builder)
                == .addresses([HTTPDNSAddress(v4: 127, 0, 0, 2)], timeToLive: .seconds(60), canonicalName: nil)
        )
    }

    @Test("One OPT record of the root in the additional section is allowed, and no other")
    func options() {
        var builder = Self.good()
        builder.options(data: [0, 12, 0, 2, 0, 0, 0, 15, 0, 0])
        #expect(parsingError(builder.octets) == nil)
        builder.options()
        #expect(parsingError(builder.octets) == .misplacedOption)

        for section in [DNSMessageBuilder.Section.answer, .authority] {
            var builder = Self.good()
            builder.options(in: section)
            #expect(parsingError(builder.octets) == .misplacedOption)
        }
        var owned = Self.good()
        owned.append(DNSMessageBuilder.record(Self.owner, type: 41, recordClass: 1232, data: []), to: .additional)
        #expect(parsingError(owned.octets) == .misplacedOption)
    }

    @Test(
        "The options must fill their record",
        arguments: [[0], [0, 12, 0], [0, 12, 0, 1], [0, 12, 0, 0, 0]] as [[UInt8]]
    )
    func optionLengths(data: [UInt8]) {
        var builder = Self.good()
        builder.options(data: data)
        #expect(parsingError(builder.octets) == .truncated)
    }

    @Test(
        "Extended errors are read, at most four, with printable text",
        arguments: [
            ([0, 15, 0, 2, 0, 15], ["Blocked (15)"]),
            ([0, 15, 0, 5, 0, 3, 111, 108, 100], ["Stale Answer (3): old"]),
            ([0, 15, 0, 6, 0, 6, 27, 91, 195, 164], ["DNSSEC Bogus (6): ?[?"]),
            ([0, 15, 0, 2, 1, 0], ["extended error (256)"]), ([0, 15, 0, 1, 0], []),
            (
                (0..<6).flatMap { [0, 15, 0, 2, 0, $0] },
                [
                    "Other Error (0)", "Unsupported DNSKEY Algorithm (1)", "Unsupported DS Digest Type (2)",
                    "Stale Answer (3)",
                ]
            ),
            (
                [0, 15, 0, 202, 0, 0] + [UInt8](repeating: 97, count: 200),
                ["Other Error (0): \(String(repeating: "a", count: 80))..."]
            ),
        ] as [([UInt8], [String])]
    )
    func extendedErrors(data: [UInt8], expected: [String]) throws {
        var builder = Self.good()
        builder.options(data: data)
        let response = try DNSResponse(parsing: builder.octets, to: Self.question)
        #expect(response.extendedErrors.map(\.description) == expected)
    }

    @Test("The OPT record has the upper bits of the response code")
    func extendedResponseCode() throws {
        var builder = DNSMessageBuilder(to: Self.question)
        builder.options(extendedCode: 1)
        #expect(try outcome(builder) == .failed(.sample(DNSResponseCode(number: 16))))
        builder.responseCode = 3
        #expect(try outcome(builder) == .failed(.sample(DNSResponseCode(number: 19))))
    }

    @Test("A message of 65,535 octets is read, and a longer one is refused")
    func longest() throws {
        var builder = Self.good()
        let filler = 65_535 - builder.octets.count - 11
        builder.append(
            DNSMessageBuilder.record([0], type: 16, data: [UInt8](repeating: 0, count: filler)),
            to: .additional
        )
        #expect(builder.octets.count == 65_535)
        #expect(parsingError(builder.octets) == nil)
        #expect(parsingError(builder.octets + [0]) == .tooLong)
    }

    @Test("A message of many records with long compressed names is read")
    func manyRecords() throws {
        // The longest name is the first answer's owner; all others point at it.
        let long =
            (0..<3).flatMap { _ in [63] + [UInt8](repeating: 0x61, count: 63) } + [61]
            + [UInt8](repeating: 0x61, count: 61) + [0]
        var builder = Self.good()
        builder.append(DNSMessageBuilder.record(long, type: 1, data: [1, 1, 1, 1]))
        let offset = Self.good().octets.count
        let pointer: [UInt8] = [0xc0 | UInt8(offset >> 8), UInt8(offset & 0xff)]
        while builder.octets.count < 10_000 {
            for _ in 0..<100 { builder.append(DNSMessageBuilder.record(pointer, type: 5, data: pointer)) }
        }
        let response = try DNSResponse(parsing: builder.octets, to: Self.question)
        #expect(response.answers.count > 500)
        #expect(
            try response.outcome()
                == .addresses([HTTPDNSAddress(v4: 127, 0, 0, 2)], timeToLive: .seconds(60), canonicalName: nil)
        )
    }

    @Test("An error has the position, the value found and the values allowed")
    func errorText() {
        var builder = Self.good()
        builder.questions = [DNSMessageBuilder.question(DNSMessageBuilder.name("two.test"), type: 28)]
        #expect(
            throws: DNSMessageError(
                .wrongQuestion,
                at: 12,
                "it answers two.test. AAAA of class 1, asked was one.test. A of class 1"
            )
        ) {
            try DNSResponse(parsing: builder.octets, to: Self.question)
        }
        #expect(
            DNSMessageError(.truncated, at: 7, "why").description == "DNS message refused at octet 7: why"
        )
    }
}
