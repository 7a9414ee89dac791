// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

import HTTPDNSMessages
import HTTPTypes

@testable import HTTPDNSCore

/// Builds DNS messages octet by octet, good and bad ones alike.
struct DNSMessageBuilder {
    enum Section {
        case answer, authority, additional
    }

    var id: UInt16 = 0
    /// QR and RA.
    var flags: UInt16 = 0x8080
    var responseCode: UInt16 = 0
    var questions: [[UInt8]] = []
    private(set) var sections: [Section: [[UInt8]]] = [:]
    /// What the header says in place of the truth.
    var counts: [Section: UInt16] = [:]
    var trailing: [UInt8] = []

    init() {}

    /// A response to `question` that has no records yet.
    init(to question: DNSQuestion) {
        questions = [Self.question(question.name.octets, type: question.type.number)]
    }

    static func question(_ name: [UInt8], type: UInt16, recordClass: UInt16 = 1) -> [UInt8] {
        name + type.octets + recordClass.octets
    }

    /// The uncompressed wire form of a name; letters keep their case.
    static func name(_ text: String) -> [UInt8] {
        text.split(separator: ".").flatMap { [UInt8($0.utf8.count)] + Array($0.utf8) } + [0]
    }

    static func record(
        _ owner: [UInt8],
        type: UInt16,
        recordClass: UInt16 = 1,
        timeToLive: UInt32 = 60,
        data: [UInt8],
        length: UInt16? = nil
    ) -> [UInt8] {
        owner + type.octets + recordClass.octets + timeToLive.octets + (length ?? UInt16(data.count)).octets + data
    }

    mutating func append(_ record: [UInt8], to section: Section = .answer) {
        sections[section, default: []].append(record)
    }

    mutating func address(_ owner: String, _ octets: [UInt8], timeToLive: UInt32 = 60, in section: Section = .answer) {
        let type: UInt16 = octets.count == 4 ? 1 : 28
        append(Self.record(Self.name(owner), type: type, timeToLive: timeToLive, data: octets), to: section)
    }

    mutating func alias(_ owner: String, _ target: String, timeToLive: UInt32 = 60) {
        append(Self.record(Self.name(owner), type: 5, timeToLive: timeToLive, data: Self.name(target)))
    }

    /// A record of type HTTPS whose data is well-formed as far as `parameters` are.
    mutating func service(
        _ owner: String = "one.test",
        priority: UInt16 = 1,
        target: String = "",
        parameters: [(UInt16, [UInt8])] = [],
        timeToLive: UInt32 = 60,
        type: UInt16 = 65,
        in section: Section = .answer
    ) {
        let data = priority.octets + Self.name(target) + Self.parameters(parameters)
        append(Self.record(Self.name(owner), type: type, timeToLive: timeToLive, data: data), to: section)
    }

    /// Parameters of a record of type HTTPS, in the order given.
    static func parameters(_ parameters: [(UInt16, [UInt8])]) -> [UInt8] {
        parameters.flatMap { $0.0.octets + UInt16($0.1.count).octets + $0.1 }
    }

    mutating func startOfAuthority(_ owner: String, timeToLive: UInt32, minimum: UInt32) {
        let data = Self.name("ns." + owner) + Self.name("admin." + owner) + [UInt8](repeating: 1, count: 16)
        append(
            Self.record(Self.name(owner), type: 6, timeToLive: timeToLive, data: data + minimum.octets),
            to: .authority
        )
    }

    mutating func options(extendedCode: UInt8 = 0, data: [UInt8] = [], in section: Section = .additional) {
        let timeToLive = UInt32(extendedCode) << 24
        append(Self.record([0], type: 41, recordClass: 1232, timeToLive: timeToLive, data: data), to: section)
    }

    var octets: [UInt8] {
        var message = id.octets + (flags | responseCode).octets + UInt16(questions.count).octets
        let order: [Section] = [.answer, .authority, .additional]
        for section in order { message += (counts[section] ?? UInt16(sections[section, default: []].count)).octets }
        for question in questions { message += question }
        for section in order { message += sections[section, default: []].flatMap { $0 } }
        return message + trailing
    }
}

extension FixedWidthInteger {
    fileprivate var octets: [UInt8] {
        stride(from: bitWidth - 8, through: 0, by: -8).map { UInt8(truncatingIfNeeded: self >> $0) }
    }
}

extension DNSQuestion {
    /// A question for a name that is written correctly.
    static func a(_ name: String) -> DNSQuestion {
        DNSQuestion(name: DNSName(validatedOctets: DNSMessageBuilder.name(name)), type: .a)
    }

    static func https(_ name: String) -> DNSQuestion {
        DNSQuestion(name: DNSName(validatedOctets: DNSMessageBuilder.name(name)), type: .https)
    }

    static func aaaa(_ name: String) -> DNSQuestion {
        DNSQuestion(name: DNSName(validatedOctets: DNSMessageBuilder.name(name)), type: .aaaa)
    }
}

/// The error that parsing gives; nil when the message is accepted.
func parsingError(_ octets: [UInt8], _ question: DNSQuestion = .a("one.test")) -> DNSMessageError.Code? {
    do {
        _ = try DNSResponse(parsing: octets, to: question)
        return nil
    } catch {
        return error.code
    }
}

func outcome(
    _ builder: DNSMessageBuilder,
    _ question: DNSQuestion = .a("one.test")
) throws -> HTTPDNSProviderAnswer.Family {
    try DNSResponse(parsing: builder.octets, to: question).outcome()
}

func serviceOutcome(
    to question: DNSQuestion = .https("one.test"),
    _ build: (inout DNSMessageBuilder) -> Void
) throws -> HTTPDNSProviderAnswer.HTTPSRecords {
    var builder = DNSMessageBuilder(to: question)
    build(&builder)
    return try DNSResponse(parsing: builder.octets, to: question).serviceOutcome()
}

/// The outcomes in an HTTP response without an age. A failure has the server's code as its message.
extension DNSResponse {
    func outcome() throws(DNSMessageError) -> HTTPDNSProviderAnswer.Family {
        try outcome(HTTPFreshness(HTTPFields())) { .sample($0) }
    }

    func serviceOutcome() throws(DNSMessageError) -> HTTPDNSProviderAnswer.HTTPSRecords {
        var generator = SystemRandomNumberGenerator()
        return try serviceOutcome(HTTPFreshness(HTTPFields()), using: &generator) { .sample($0) }
    }
}

extension HTTPDNSProviderError {
    static func sample(_ code: DNSResponseCode) -> HTTPDNSProviderError {
        HTTPDNSProviderError(code: .serverFailure, message: "\(code)")
    }
}
