// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

import HTTPDNSCore
import HTTPDNSMessages
import Testing

private let question = DNSQuestion.a("one.test")
private let loopback2 = HTTPDNSAddress(v4: 127, 0, 0, 2)

struct JSONDNSMessageTests {
    private func outcome(_ text: String, _ question: DNSQuestion = question) throws -> HTTPDNSProviderAnswer.Family {
        try JSONDNSMessage(parsing: Array(text.utf8)).response(to: question).outcome()
    }

    /// An answer with these members beside the question.
    private func outcome(members: String, _ question: DNSQuestion = question) throws -> HTTPDNSProviderAnswer.Family {
        try outcome(JSONText.answer(to: question, members), question)
    }

    /// So many aliases, from `one.test` on.
    private static func chain(of hops: Int) -> String {
        let names = ["one.test"] + (1...hops).map { "c\($0).test" }
        return zip(names, names.dropFirst())
            .map { owner, target in #"{"name":"\#(owner)","type":5,"data":"\#(target)"}"# }
            .joined(separator: ",")
    }

    private func refusal(_ text: String) -> JSONDNSError.Code? {
        do {
            _ = try outcome(text)
            return nil
        } catch let error as JSONDNSError {
            #expect(error.description.utf8.allSatisfy { (0x20...0x7e).contains($0) })
            return error.code
        } catch {
            Issue.record("\(error)")
            return nil
        }
    }

    @Test("The documented samples of the services are read")
    func samples() throws {
        let example = DNSQuestion(name: DNSName(try HTTPDNSName("www.example.com")), type: .a)
        let aliases = """
            {"Status":0,"TC":false,"RD":true,"RA":true,"AD":false,"CD":false,
            "Question":[{"name":"www.example.com.","type":1}],
            "Answer":[{"name":"www.example.com.","type":5,"TTL":300,"data":"cdn.example.net."},
            {"name":"cdn.example.net.","type":1,"TTL":60,"data":"192.0.2.10"}],"edns_client_subnet":"1.2.3.0/24"}
            """
        let target = try HTTPDNSName("cdn.example.net")
        let expected = HTTPDNSProviderAnswer.Family.addresses(
            [HTTPDNSAddress(v4: 192, 0, 2, 10)],
            timeToLive: .seconds(60),
            canonicalName: target
        )
        #expect(try outcome(aliases, example) == expected)
        let list = #"[{"name":"www.example.com.","type":1}]"#
        let object = aliases.replacing(list, with: #"{"name":"www.example.com","type":1}"#)
        #expect(try outcome(object, example) == expected)
        let missing = """
            {"Status":3,"Question":[{"name":"www.example.com.","type":1}],
            "Authority":[{"name":"example.com.","type":6,"TTL":900,
            "data":"ns1.example.com. admin.example.com. 1 7200 3600 1209600 500"}]}
            """
        #expect(try outcome(missing, example) == .nameError(timeToLive: .seconds(500)))
        #expect(
            try outcome(missing.replacing("\"Status\":3", with: "\"Status\":0"), example)
                == .noData(timeToLive: .seconds(500))
        )
    }

    @Test(
        "Any TTL gives a life within the limits",
        arguments: [
            ("60", 60), ("0", 0), ("1", 1), ("2147483647", 604_800), ("2147483648", 604_800), ("4294967295", 604_800),
            ("4294967296", 604_800), ("1e20", 604_800), ("1e999", 604_800), ("-1", 0), ("-1e20", 0), ("60.9", 60),
            ("0.5", 0), ("6e1", 60), (#""60""#, 0), ("true", 0), ("null", 0), ("[60]", 0), ("{}", 0),
        ] as [(String, UInt32)]
    )
    func timeToLive(value: String, seconds: UInt32) throws {
        let record = JSONText.record(question, "127.0.0.2", timeToLive: value)
        let expected = HTTPDNSProviderAnswer.Family.addresses(
            [loopback2],
            timeToLive: .seconds(seconds),
            canonicalName: nil
        )
        #expect(try outcome(members: #""Status":0,"Answer":[\#(record)]"#) == expected)
    }

    @Test("A missing TTL serves the waiting callers, and no later ones")
    func missingTimeToLive() throws {
        let record = #"{"name":"one.test","type":1,"data":"127.0.0.2"}"#
        let expected = HTTPDNSProviderAnswer.Family.addresses([loopback2], timeToLive: .seconds(0), canonicalName: nil)
        #expect(try outcome(members: #""Status":0,"Answer":[\#(record)]"#) == expected)
    }

    /// Any other value that is no list is refused.
    @Test(
        "An Answer that is absent, null or empty is no data",
        arguments: ["", #","Answer":null"#, #","Answer":[]"#, #","Answer":[],"Authority":null"#]
    )
    func noAnswer(members: String) throws {
        #expect(try outcome(members: "\"Status\":0\(members)") == .noData(timeToLive: nil))
    }

    @Test(
        "Text that is no JSON object is refused",
        arguments: [
            ("{}", .wrongType), ("[]", .wrongType), ("null", .wrongType), ("0", .wrongType), ("", .notJSON),
            ("<html>", .notJSON), (String(repeating: "[", count: 10_000), .notJSON),
            (String(repeating: #"{"Answer":"#, count: 10_000), .notJSON),
        ] as [(String, JSONDNSError.Code)]
    )
    func wrongText(text: String, code: JSONDNSError.Code) {
        #expect(refusal(text) == code)
    }

    @Test(
        "A member of the wrong kind refuses the whole answer",
        arguments: [
            (#""Answer":[]"#, .wrongType), (#""Status":null"#, .wrongType), (#""Status":"0""#, .wrongType),
            (#""Status":-1"#, .wrongType), (#""Status":0.5"#, .wrongType), (#""Status":65536"#, .wrongType),
            (#""Status":true"#, .wrongType), (#""Status":0,"Status":3"#, .notJSON),
            (#""Status":0,"Answer":{}"#, .wrongType), (#""Status":0,"Answer":"127.0.0.2""#, .wrongType),
            (#""Status":0,"Answer":false"#, .wrongType), (#""Status":0,"Authority":1"#, .wrongType),
            (#""Status":0,"TC":true"#, .truncated), (#""Status":0,"Answer":["127.0.0.2"]"#, .badRecord),
            (#""Status":0,"Answer":[null]"#, .badRecord), (#""Status":0,"Answer":[{}]"#, .badRecord),
            (#""Status":0,"Answer":[{"name":1,"type":1,"data":"127.0.0.2"}]"#, .badRecord),
            (#""Status":0,"Answer":[{"name":"one..test","type":1,"data":"127.0.0.2"}]"#, .badRecord),
            (#""Status":0,"Answer":[{"name":"one.test","type":"A","data":"127.0.0.2"}]"#, .badRecord),
            (#""Status":0,"Answer":[{"name":"one.test","type":1}]"#, .badRecord),
            (#""Status":0,"Answer":[{"name":"one.test","type":1,"data":["127.0.0.2"]}]"#, .badRecord),
            (#""Status":0,"Answer":[{"name":"one.test","type":1,"data":"two.test."}]"#, .badRecord),
            (#""Status":0,"Answer":[{"name":"one.test","type":1,"data":"127.0.0.02"}]"#, .badRecord),
            (#""Status":0,"Answer":[{"name":"one.test","type":1,"data":"::1"}]"#, .badRecord),
            (#""Status":0,"Answer":[{"name":"x.test","type":28,"data":"127.0.0.1"}]"#, .badRecord),
            (#""Status":0,"Answer":[{"name":"one.test","type":5,"data":""}]"#, .badRecord),
            (#""Status":0,"Answer":[{"name":"one.test","name":"one.test","type":5,"data":"a"}]"#, .notJSON),
        ] as [(String, JSONDNSError.Code)]
    )
    func wrongMembers(members: String, code: JSONDNSError.Code) {
        #expect(refusal(JSONText.answer(to: question, members)) == code)
    }

    @Test(
        "One question must come back with its name and type, in any letter case",
        arguments: [
            (#"[{"name":"one.test.","type":1}]"#, true), (#"[{"name":"ONE.test","type":1}]"#, true),
            (#"{"name":"One.Test.","type":1}"#, true), (#"[{"name":"two.test.","type":1}]"#, false),
            (#"[{"name":"one.test.","type":28}]"#, false), (#"[{"name":"one.test.","type":"A"}]"#, false),
            (#"[{"name":"one.test.","type":1},{"name":"one.test.","type":1}]"#, false), ("[]", false),
            ("null", false), ("\"one.test\"", false), (#"[{"type":1}]"#, false), (#"[{"name":"one.test"}]"#, false),
            (#"[{"name":"xone.test","type":1}]"#, false),
        ]
    )
    func questions(text: String, isAccepted: Bool) {
        let code = refusal(#"{"Status":0,"Question":\#(text)}"#)
        #expect(code == (isAccepted ? nil : .wrongQuestion))
    }

    @Test("Only an answer with an error status may omit the question")
    func noQuestion() throws {
        #expect(refusal(#"{"Status":0}"#) == .wrongQuestion)
        #expect(refusal(#"{"Status":3}"#) == .wrongQuestion)
        #expect(try outcome(#"{"Status":2}"#) == .failed(.sample(.serverFailure)))
        #expect(try outcome(#"{"Status":5,"Answer":null}"#) == .failed(.sample(.refused)))
        #expect(refusal(#"{"Status":2,"Question":[{"name":"two.test","type":1}]}"#) == .wrongQuestion)
    }

    @Test(
        "The owner rule is that of the wire format, in any order of the records",
        arguments: [
            // An address of another name, alone and beside the right one.
            (#"{"name":"two.test","type":1,"TTL":9,"data":"127.0.0.9"}"#, .noData(timeToLive: nil)),
            (
                #"{"name":"two.test","type":1,"TTL":9,"data":"127.0.0.9"},{"name":"one.test","type":1,"TTL":60,"data":"127.0.0.2"}"#,
                .addresses([loopback2], timeToLive: .seconds(60), canonicalName: nil)
            ),
            // The chain out of order; the alias has the shortest life.
            (
                #"{"name":"c.test","type":1,"TTL":60,"data":"127.0.0.2"},{"name":"one.test","type":5,"TTL":7,"data":"C.test"}"#,
                .addresses([loopback2], timeToLive: .seconds(7), canonicalName: try? HTTPDNSName("c.test"))
            ),
            // An alias to nowhere; other types; the other family; the same address twice.
            (#"{"name":"one.test","type":5,"TTL":7,"data":"c.test."}"#, .noData(timeToLive: nil)),
            (#"{"name":"one.test","type":65,"TTL":7,"data":"1 . alpn=h2"}"#, .noData(timeToLive: nil)),
            (#"{"name":"one.test","type":46,"data":17}"#, .noData(timeToLive: nil)),
            (#"{"name":"one.test","type":28,"TTL":7,"data":"::1"}"#, .noData(timeToLive: nil)),
            (
                #"{"name":"one.test","type":1,"TTL":9,"data":"127.0.0.2"},{"name":"one.test.","type":1,"TTL":60,"data":"127.0.0.2"}"#,
                .addresses([loopback2], timeToLive: .seconds(9), canonicalName: nil)
            ),
        ] as [(String, HTTPDNSProviderAnswer.Family)]
    )
    func owners(records: String, expected: HTTPDNSProviderAnswer.Family) throws {
        #expect(try outcome(members: #""Status":0,"Answer":[\#(records)]"#) == expected)
    }

    /// So are addresses of a name that does not exist.
    @Test(
        "Alias loops, double aliases and too long chains are refused",
        arguments: [
            (0, #"{"name":"one.test","type":5,"data":"one.test"}"#, .aliasLoop),
            (
                0, #"{"name":"one.test","type":5,"data":"b.test"},{"name":"b.test","type":5,"data":"one.test"}"#,
                .aliasLoop
            ),
            (
                0, #"{"name":"one.test","type":5,"data":"b.test"},{"name":"one.test","type":5,"data":"c.test"}"#,
                .ambiguousAlias
            ),
            (
                0, #"{"name":"one.test","type":5,"data":"b.test"},{"name":"one.test","type":1,"data":"127.0.0.2"}"#,
                .ambiguousAlias
            ),
            (3, #"{"name":"one.test","type":1,"data":"127.0.0.2"}"#, .contradiction),
            (
                0,
                Self.chain(of: 17),
                .aliasChainTooLong
            ),
        ] as [(Int, String, DNSMessageError.Code)]
    )
    func chains(status: Int, records: String, code: DNSMessageError.Code) {
        let error = #expect(throws: DNSMessageError.self) {
            try outcome(members: #""Status":\#(status),"Answer":[\#(records)]"#)
        }
        #expect(error?.code == code)
    }

    /// Without an SOA its life is none.
    @Test(
        "A negative answer lives for the lesser of the SOA's two values",
        arguments: [
            (#"{"name":"test","type":6,"TTL":9,"data":"a. b. 1 2 3 4 5"}"#, 5),
            (#"{"name":"test","type":6,"TTL":4,"data":"a.  b. 1 2 3 4 5"}"#, 4),
            (#"{"name":"test","type":6,"data":"a. b. 1 2 3 4 5"}"#, 0),
            (#"{"name":"other","type":6,"TTL":9,"data":"a. b. 1 2 3 4 5"}"#, nil),
            (#"{"name":"test","type":2,"TTL":9,"data":"ns.test."}"#, nil),
            (#"{"name":"test","type":6,"TTL":9,"data":"a. b. 1 2 3 4"}"#, nil),
            (#"{"name":"test","type":6,"TTL":9,"data":"a. b. 1 2 3 4 -5"}"#, nil),
            (#"{"name":"test","type":6,"TTL":9,"data":"a. b. 1 2 3 4 99999999999"}"#, nil),
            (#"{"name":"test","type":6,"TTL":9}"#, nil), ("null,7", nil),
        ] as [(String, UInt32?)]
    )
    func negative(authority: String, seconds: UInt32?) throws {
        #expect(
            try outcome(members: #""Status":3,"Authority":[\#(authority)]"#)
                == .nameError(timeToLive: seconds.map { .seconds($0) })
        )
    }

    @Test("At most sixteen addresses are kept")
    func manyAddresses() throws {
        let records = (0..<200).map { JSONText.record(question, "127.0.1.\($0)") }.joined(separator: ",")
        guard case .addresses(let addresses, _, _) = try outcome(members: #""Status":0,"Answer":[\#(records)]"#) else {
            Issue.record("no addresses")
            return
        }
        #expect(addresses == (0..<16).map { HTTPDNSAddress(v4: 127, 0, 1, $0) })
    }
}
