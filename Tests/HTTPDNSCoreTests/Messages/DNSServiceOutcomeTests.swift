// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

import HTTPDNSCore
import HTTPDNSMessages
import Testing

/// RFC 9460 sections 2.2 to 2.5, over sets of records; the owner rule is that of addresses.
struct DNSServiceOutcomeTests {
    private static let bad: [(UInt16, [UInt8])] = [(3, [1])]

    private func targets(_ outcome: HTTPDNSProviderAnswer.HTTPSRecords) -> [String] {
        guard case .bindings(let bindings, _) = outcome else { return [] }
        return bindings.map { $0.target?.description ?? "." }
    }

    @Test("Records are sorted by priority, whatever the order of the message")
    func priorities() throws {
        let outcome = try serviceOutcome {
            $0.service(priority: 300, target: "three.test")
            $0.service(priority: 1, target: "")
            $0.service(priority: 2, target: "two.test")
        }
        #expect(targets(outcome) == [".", "two.test", "three.test"])
    }

    @Test("One malformed record voids all records", arguments: [true, false])
    func oneMalformed(isFirst: Bool) throws {
        let outcome = try serviceOutcome {
            if isFirst { $0.service(priority: 9, parameters: Self.bad) }
            $0.service(priority: 1, target: "two.test")
            if !isFirst { $0.service(priority: 9, parameters: Self.bad) }
        }
        #expect(outcome == .none(timeToLive: .seconds(60)))
    }

    @Test("A malformed record of another owner, or in another section, voids nothing")
    func foreignMalformed() throws {
        let outcome = try serviceOutcome {
            $0.service("x.test", parameters: Self.bad)
            $0.service(target: "two.test")
            $0.service(parameters: Self.bad, in: .additional)
            $0.service(parameters: Self.bad, in: .authority)
        }
        #expect(targets(outcome) == ["two.test"])
    }

    @Test("An alias voids records in service mode, wherever it is", arguments: [true, false])
    func aliasFirst(isFirst: Bool) throws {
        let outcome = try serviceOutcome {
            if isFirst { $0.service(priority: 0, target: "two.test", timeToLive: 9) }
            $0.service(priority: 1)
            if !isFirst { $0.service(priority: 0, target: "two.test", timeToLive: 9) }
        }
        #expect(outcome == .alias(try HTTPDNSName("two.test"), timeToLive: .seconds(9)))
    }

    @Test("One of several aliases is picked at random")
    func aliases() throws {
        let outcomes = try (0..<64).map { _ in
            try serviceOutcome {
                $0.service(priority: 0, target: "two.test")
                $0.service(priority: 0, target: "three.test")
                $0.service(priority: 0, target: "")
            }
        }
        let names = ["two.test", "three.test"]
        #expect(Set(outcomes) == Set(try names.map { .alias(try HTTPDNSName($0), timeToLive: .seconds(60)) }))
    }

    /// Whether there are records in service mode or not.
    @Test("An alias to the root marks the service as unavailable")
    func unavailable() throws {
        let outcome = try serviceOutcome {
            $0.service(priority: 0, target: "")
            $0.service(priority: 1, target: "two.test")
        }
        #expect(outcome == .unavailable(timeToLive: .seconds(60)))
    }

    @Test(
        "A target that is an address or no host name voids its record alone",
        arguments: ["127.0.0.1", "1", "a b.test"]
    )
    func noHostName(target: String) throws {
        let services = try serviceOutcome {
            $0.service(priority: 1, target: target)
            $0.service(priority: 2, target: "two.test")
        }
        #expect(targets(services) == ["two.test"])
        #expect(try serviceOutcome { $0.service(priority: 0, target: target) } == .none(timeToLive: .seconds(60)))
    }

    /// They live as long as the shortest time to live of the chain.
    @Test("HTTPS records behind aliases belong to the last name of the chain")
    func chain() throws {
        let outcome = try serviceOutcome {
            $0.service("three.test", priority: 1, target: "", timeToLive: 50)
            $0.service("three.test", priority: 2, target: "one.test", timeToLive: 50)
            $0.alias("two.test", "three.test", timeToLive: 7)
            $0.alias("one.test", "two.test", timeToLive: 45)
        }
        guard case .bindings(_, timeToLive: .seconds(7)) = outcome else {
            Issue.record("\(outcome)")
            return
        }
        #expect(targets(outcome) == ["three.test", "one.test"])
    }

    @Test("A record of another owner is not an answer")
    func foreignOwner() throws {
        #expect(try serviceOutcome { $0.service("two.test", target: "evil.test") } == .none(timeToLive: nil))
    }

    /// RFC 9460 section 9.
    @Test("An SVCB record does not answer an HTTPS question, nor the reverse")
    func otherType() throws {
        #expect(try serviceOutcome { $0.service(target: "two.test", type: 64) } == .none(timeToLive: nil))
        let question = DNSQuestion(name: DNSQuestion.a("one.test").name, type: .svcb)
        #expect(try serviceOutcome(to: question) { $0.service(target: "two.test") } == .none(timeToLive: nil))
        #expect(targets(try serviceOutcome(to: question) { $0.service(target: "two.test", type: 64) }) == ["two.test"])
    }

    @Test("HTTPS records in an address response are ignored, even malformed ones")
    func notAsked() throws {
        var builder = DNSMessageBuilder(to: .a("one.test"))
        builder.address("one.test", [127, 0, 0, 1])
        builder.service(parameters: Self.bad)
        guard case .addresses = try outcome(builder) else {
            Issue.record("\(try outcome(builder))")
            return
        }
    }

    @Test("Addresses in an HTTPS record answer are ignored, but must be well-formed")
    func addresses() throws {
        #expect(try serviceOutcome { $0.address("one.test", [127, 0, 0, 1]) } == .none(timeToLive: nil))
        #expect(throws: DNSMessageError.self) {
            try serviceOutcome {
                $0.append(DNSMessageBuilder.record(DNSMessageBuilder.name("one.test"), type: 1, data: [127]))
            }
        }
    }

    @Test(
        "An ambiguous chain of aliases refuses the response",
        arguments: [
            (.aliasLoop, message { $0.alias("one.test", "one.test") }),
            (
                .ambiguousAlias,
                message {
                    $0.alias("one.test", "two.test")
                    $0.service()
                }
            ),
            (
                .ambiguousAlias,
                message {
                    $0.alias("one.test", "two.test")
                    $0.alias("one.test", "three.test")
                }
            ),
            (
                .aliasChainTooLong,
                message { for index in 0..<17 { $0.alias(index == 0 ? "one.test" : "n\(index)", "n\(index + 1)") } }
            ),
            (
                .contradiction,
                message {
                    $0.responseCode = 3
                    $0.service()
                }
            ),
        ] as [(DNSMessageError.Code, DNSMessageBuilder)]
    )
    func refused(code: DNSMessageError.Code, message: DNSMessageBuilder) {
        let error = #expect(throws: DNSMessageError.self) {
            try DNSResponse(parsing: message.octets, to: .https("one.test")).serviceOutcome()
        }
        #expect(error?.code == code)
    }

    private static func message(_ build: (inout DNSMessageBuilder) -> Void) -> DNSMessageBuilder {
        var builder = DNSMessageBuilder(to: .https("one.test"))
        build(&builder)
        return builder
    }

    /// For a name that does not exist as for one without HTTPS records.
    @Test(
        "An absence of HTTPS records lives as long as its SOA record says",
        arguments: [0, 3]
    )
    func absence(code: UInt16) throws {
        let outcome = try serviceOutcome {
            $0.responseCode = code
            $0.startOfAuthority("test", timeToLive: 60, minimum: 5)
        }
        #expect(outcome == .none(timeToLive: .seconds(5)))
    }

    @Test("A server failure is reported as such", arguments: [DNSResponseCode.serverFailure, .refused])
    func failed(code: DNSResponseCode) throws {
        #expect(try serviceOutcome { $0.responseCode = code.number } == .failed(.sample(code)))
    }

    @Test("Of a hundred records the 16 preferred ones are kept")
    func many() throws {
        let outcome = try serviceOutcome {
            for priority in (1...100).reversed() { $0.service(priority: UInt16(priority)) }
        }
        guard case .bindings(let bindings, _) = outcome else {
            Issue.record("\(outcome)")
            return
        }
        #expect(bindings.map(\.priority) == Array(1...16))
    }

    @Test("No prefix and no suffix of an answer is an answer")
    func cut() throws {
        var builder = DNSMessageBuilder(to: .https("one.test"))
        builder.service(priority: 1, target: "two.test", parameters: [(1, [2, 0x68, 0x32]), (3, [1, 187])])
        builder.service(priority: 0, target: "three.test")
        let octets = builder.octets
        for length in 0..<octets.count {
            #expect(parsingError(Array(octets.prefix(length)), .https("one.test")) != nil, "the first \(length)")
            #expect(parsingError(Array(octets.suffix(length)), .https("one.test")) != nil, "the last \(length)")
        }
        #expect(parsingError(octets, .https("one.test")) == nil)
    }
}
