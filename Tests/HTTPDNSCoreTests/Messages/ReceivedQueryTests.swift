// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

import HTTPDNSMessages
import HTTPDNSPrimitives
import Testing

struct ReceivedQueryTests {
    /// A query for `OnE.test`, in this case.
    private static func message(
        flags: UInt16 = 0x0100,
        type: UInt16 = 1,
        change: (inout DNSMessageBuilder) -> Void = { _ in }
    ) -> [UInt8] {
        var builder = DNSMessageBuilder()
        (builder.id, builder.flags) = (0x1234, flags)
        builder.questions = [DNSMessageBuilder.question([3] + "OnE".utf8 + [4] + "test".utf8 + [0], type: type)]
        change(&builder)
        return builder.octets
    }

    private static func plain() throws -> ReceivedQuery { try ReceivedQuery(message()) }

    private static func withOptions(_ data: [UInt8] = []) throws -> ReceivedQuery {
        try ReceivedQuery(message { $0.options(data: data) })
    }

    private static func parsed(_ response: [UInt8]) throws -> DNSResponse {
        var message = response
        #expect(Array(message.prefix(2)) == [0x12, 0x34])
        (message[0], message[1]) = (0, 0)
        return try DNSResponse(parsing: message, to: .a("one.test"))
    }

    @Test("A query has one question, in lower case, and what EDNS says")
    func parses() throws {
        let query = try Self.plain()
        #expect(query.question == .a("one.test") && query.recordClass == 1 && query.options == nil)
        #expect(query.datagramOctets == 512)
        let cookie = Array(1...8).map(UInt8.init)
        let server = Array(repeating: 7 as UInt8, count: 16)
        let other = try Self.withOptions([0, 10, 0, 24] + cookie + server)
        #expect(other.options?.clientCookie == cookie && other.options?.serverCookie == server)
        #expect(other.datagramOctets == min(Int(try #require(other.options).payloadOctets), 1232))
    }

    private static let refused: [(name: String, message: [UInt8], response: [UInt8]?)] = [
        ("a response", message(flags: 0x8180), nil), ("nothing", [], nil),
        ("eleven octets", Array(message().prefix(11)), nil),
        ("a status request", message(flags: 0x1000), [0x12, 0x34, 0x90, 4, 0, 0, 0, 0, 0, 0, 0, 0]),
        ("an update", message(flags: 0x2800), [0x12, 0x34, 0xa8, 4, 0, 0, 0, 0, 0, 0, 0, 0]),
        ("no question", message { $0.questions = [] }, [0x12, 0x34, 0x81, 1, 0, 0, 0, 0, 0, 0, 0, 0]),
        ("two questions", message { $0.questions += $0.questions }, [0x12, 0x34, 0x81, 1, 0, 0, 0, 0, 0, 0, 0, 0]),
        ("half a question", Array(message().dropLast(3)), [0x12, 0x34, 0x81, 1, 0, 0, 0, 0, 0, 0, 0, 0]),
        ("more behind it", message() + [0], [0x12, 0x34, 0x81, 1, 0, 0, 0, 0, 0, 0, 0, 0]),
        ("an answer", message { $0.address("a.test", [1, 2, 3, 4]) }, [0x12, 0x34, 0x81, 1, 0, 0, 0, 0, 0, 0, 0, 0]),
        (
            "two OPT records",
            message {
                $0.options()
                $0.options()
            }, [0x12, 0x34, 0x81, 1, 0, 0, 0, 0, 0, 0, 0, 0]
        ),
        (
            "half a cookie", message { $0.options(data: [0, 10, 0, 4, 1, 2, 3, 4]) },
            [0x12, 0x34, 0x81, 1, 0, 0, 0, 0, 0, 0, 0, 0]
        ),
        (
            "an option too long", message { $0.options(data: [0, 10, 0, 9]) },
            [0x12, 0x34, 0x81, 1, 0, 0, 0, 0, 0, 0, 0, 0]
        ),
    ]

    @Test("What is no query is refused with a header alone, and a response is not answered", arguments: refused.indices)
    func refuses(_ index: Int) {
        let (name, message, response) = Self.refused[index]
        #expect(throws: DNSMessageError.self, "\(name)") { _ = try ReceivedQuery(message) }
        #expect(ReceivedQuery.refusal(of: message) == response, "\(name)")
    }

    @Test("A response repeats ID and question as they came, and EDNS if there was any")
    func responds() throws {
        let query = try Self.plain()
        let record = ReceivedQuery.record(.a, timeToLive: 30, [192, 0, 2, 1])
        let response = query.response(.noError, answers: [record], extendedErrors: [HTTPDNSExtendedError(code: 3)])
        let question = Array(Self.message().dropFirst(12))
        #expect(response == [0x12, 0x34, 0x81, 0x80, 0, 1, 0, 1, 0, 0, 0, 0] + question + record)
        #expect(try Self.parsed(response).extendedErrors.isEmpty)
        let other = try Self.withOptions([0, 10, 0, 8, 1, 2, 3, 4, 5, 6, 7, 8])
        let second = other.response(
            DNSResponseCode(number: 16),
            extendedErrors: [HTTPDNSExtendedError(code: 3, text: "old")],
            cookie: [9, 9, 9, 9, 9, 9, 9, 9]
        )
        let parsed = try Self.parsed(second)
        #expect(parsed.responseCode.number == 16)
        #expect(parsed.extendedErrors == [HTTPDNSExtendedError(code: 3, text: "old")])
        let cookie: [UInt8] = [0, 10, 0, 16, 1, 2, 3, 4, 5, 6, 7, 8] + Array(repeating: 9, count: 8)
        #expect(Array(second.suffix(29)) == cookie + [0, 15, 0, 5, 0, 3] + Array("old".utf8))
    }

    @Test("A response beyond the limit is marked as truncated, and has no records")
    func truncates() throws {
        let query = try Self.withOptions()
        let records = (0..<100).map { ReceivedQuery.record(.a, timeToLive: 30, [192, 0, 2, UInt8($0)]) }
        let whole = query.response(.noError, answers: records)
        #expect(query.response(.noError, answers: records, limit: whole.count) == whole)
        let short = query.response(.noError, answers: records, limit: whole.count - 1)
        #expect(short.count == Self.message().count + 11 && short[2] & 2 == 2)
        #expect(Array(short[4..<12]) == [0, 1, 0, 0, 0, 0, 0, 1])
    }

    /// Returns a server's message to the question in lower case, with ID 0.
    private static func answer(_ change: (inout DNSMessageBuilder) -> Void) -> [UInt8] {
        var builder = DNSMessageBuilder(to: .a("one.test"))
        builder.flags = 0x8180
        change(&builder)
        return builder.octets
    }

    @Test("A relayed message has the client's ID and question, and the server's records")
    func relays() throws {
        let answer = Self.answer {
            $0.alias("one.test", "two.test")
            $0.address("two.test", [192, 0, 2, 1])
            $0.options(data: [0, 15, 0, 2, 0, 3, 0, 10, 0, 8, 1, 2, 3, 4, 5, 6, 7, 8])
        }
        let plain = try Self.plain().response(relaying: answer)
        #expect(Array(plain[12..<22]) == Array(Self.message()[12..<22]) && plain[11] == 0)
        #expect(try Self.parsed(plain).answers.count == 2)
        let other = try Self.withOptions().response(relaying: answer)
        let parsed = try Self.parsed(other)
        #expect(parsed.answers.count == 2 && parsed.extendedErrors.map(\.code) == [3])
        // The server's cookie is for one hop.
        #expect(!other.suffix(20).contains(8) && other.count == plain.count + 11 + 6)
        let short = try Self.plain().response(relaying: answer, limit: plain.count - 1)
        #expect(short[2] & 2 == 2 && short.count == Self.message().count)
    }

    @Test("Records behind an OPT record are left out, since their names may point over it")
    func relaysWithoutAdditional() throws {
        let answer = Self.answer {
            $0.address("one.test", [192, 0, 2, 1])
            $0.options()
            $0.address("ns.test", [192, 0, 2, 2], in: .additional)
        }
        let response = try Self.plain().response(relaying: answer)
        #expect(response[11] == 0)
        #expect(try Self.parsed(response).answers.count == 1)
    }

    @Test("A message that cannot be read is not relayed", arguments: [0, 13, 20, 30, 40])
    func refusesToRelay(_ count: Int) throws {
        let answer = Self.answer {
            $0.address("one.test", [192, 0, 2, 1])
            $0.options()
        }
        let query = try Self.plain()
        #expect(throws: DNSMessageError.self) { _ = try query.response(relaying: Array(answer.prefix(count))) }
    }

    @Test("A client's wishes for signatures are passed on")
    func wishes() throws {
        var message = Self.message(flags: 0x0130) { $0.options() }
        // The bit DO in the TTL of the OPT record, which ends the message.
        message[message.count - 4] |= 0x80
        let query = try ReceivedQuery(message)
        var generator = SystemRandomNumberGenerator()
        let asked = DNSServerQuery(query.question, wishes: query.wishes, using: &generator).message
        #expect(asked[2] == 0x01 && asked[3] == 0x30 && asked[asked.count - 4] == 0x80)
        let response = query.response(.noError)
        #expect(response[3] == 0x90 && response[response.count - 4] == 0x80)
    }
}
