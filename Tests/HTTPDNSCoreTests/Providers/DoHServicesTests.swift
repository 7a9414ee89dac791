// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

import HTTPDNSMessages
import HTTPDNSTesting
import HTTPTypes
import Testing

@testable import HTTPDNSCore

private let address = HTTPDNSAddress(v4: 127, 0, 0, 2)

struct DoHServicesTests {
    /// A service that answers addresses, and as HTTPS records what `build` makes.
    private func scripted(
        fields: HTTPFields = [.contentType: "application/dns-message"],
        _ build: @escaping @Sendable (inout DNSMessageBuilder) -> Void
    ) throws -> ScriptedDoHService {
        try ScriptedDoHService { sent in
            guard sent.question.type == .https else { return .loopback(to: sent) }
            return .message(to: sent, fields: fields, build)
        }
    }

    private func query(_ families: HTTPDNSAddress.Families = .both) throws -> HTTPDNSProviderQuery {
        var query = HTTPDNSProviderQuery(host: try HTTPDNSName("one.test"), families: families, timeLimit: .seconds(3))
        query.wantsHTTPSRecords = true
        return query
    }

    @Test("HTTPS records are a third concurrent request")
    func concurrent() async throws {
        let meeting = Meeting(of: 3)
        let scripted = try ScriptedDoHService { sent in
            await meeting.arrive()
            guard sent.question.type == .https else { return .loopback(to: sent) }
            return .message(to: sent) { $0.service(target: "two.test", timeToLive: 40) }
        }
        let answer = try await scripted.provider.resolve(query())
        let expected = HTTPDNSProviderAnswer.HTTPSRecord(priority: 1, target: try HTTPDNSName("two.test"))
        #expect(answer.httpsRecords == .bindings([expected], timeToLive: .seconds(40)))
        #expect(answer.v4 != nil && answer.v6 != nil)
        #expect(scripted.exchange.sent.count == 3)
    }

    @Test("HTTPS records are requested only when the query asks for them")
    func notWanted() async throws {
        let scripted = try scripted { $0.service() }
        #expect(try await scripted.resolve().httpsRecords == nil)
        #expect(scripted.exchange.sent.count == 2)
    }

    @Test(
        "The records' content is returned, less the age of the response",
        arguments: [
            (
                records { $0.service(priority: 0, target: "two.test") },
                .alias(HTTPDNSName(canonical: "two.test"), timeToLive: .seconds(50))
            ),
            (records { $0.service(priority: 0) }, .unavailable(timeToLive: .seconds(50))),
            (records { $0.service(parameters: [(3, [1])]) }, .none(timeToLive: .seconds(50))),
            (records { _ in }, .none(timeToLive: nil)),
            (
                records { $0.startOfAuthority("test", timeToLive: 60, minimum: 15) },
                .none(timeToLive: .seconds(5))
            ),
            (
                records { $0.service(priority: 7) },
                .bindings([HTTPDNSProviderAnswer.HTTPSRecord(priority: 7)], timeToLive: .seconds(50))
            ),
        ] as [(DNSMessageBuilder, HTTPDNSProviderAnswer.HTTPSRecords)]
    )
    func outcomes(records: DNSMessageBuilder, expected: HTTPDNSProviderAnswer.HTTPSRecords) async throws {
        let scripted = try scripted(fields: [.contentType: "application/dns-message", .age: "10"]) { $0 = records }
        #expect(try await scripted.provider.resolve(query()).httpsRecords == expected)
    }

    private static func records(_ build: (inout DNSMessageBuilder) -> Void) -> DNSMessageBuilder {
        var builder = DNSMessageBuilder(to: .https("one.test"))
        build(&builder)
        return builder
    }

    @Test("Of several aliases one is picked at random")
    func aliases() throws {
        let question = DNSQuestion.https("one.test")
        var builder = DNSMessageBuilder(to: question)
        for index in 0..<4 { builder.service(priority: 0, target: "n\(index).test") }
        let reply = UpstreamReply(
            status: 200,
            headerFields: [.contentType: "application/dns-message"],
            body: builder.octets,
            endpoint: HTTPDNSEndpoint(address: address, port: 443)
        )
        var generator = SeededGenerator()
        let picked = try (0..<64).map { _ in
            try reply.messageHTTPSRecords(for: question, clientSubnet: nil, using: &generator)
        }
        #expect(Set(picked).count == 4)
    }

    @Test(
        "A failure of the HTTPS request leaves the addresses usable",
        arguments: [(503, 0, .httpStatus), (200, 2, .serverFailure), (200, 5, .refused), (200, 3, .serverFailure)]
            as [(Int, UInt16, HTTPDNSProviderError.Code)]
    )
    func failure(status: Int, responseCode: UInt16, code: HTTPDNSProviderError.Code) async throws {
        let scripted = try ScriptedDoHService { sent in
            guard sent.question.type == .https else { return .loopback(to: sent) }
            guard status == 200 else { return .status(status, to: sent) }
            // With NXDOMAIN it contradicts itself.
            return .message(to: sent) {
                $0.responseCode = responseCode
                $0.service()
            }
        }
        let answer = try await scripted.provider.resolve(query())
        #expect(answer.v4 == .addresses([address], timeToLive: .seconds(60), canonicalName: nil))
        guard case .failed(let error) = answer.httpsRecords else {
            Issue.record("\(answer)")
            return
        }
        #expect(error.code == code)
    }

    @Test("HTTPS records without an address answer fail the query")
    func addressesFail() async throws {
        let scripted = try ScriptedDoHService { sent in
            sent.question.type == .https ? .message(to: sent) { $0.service() } : .status(503, to: sent)
        }
        let query = try query()
        await #expect(throws: HTTPDNSProviderError.self) { try await scripted.provider.resolve(query) }
    }

    /// The addresses arrive immediately.
    @Test("Missing HTTPS records delay the addresses by 50 ms, not by the time limit")
    func silence() async throws {
        let time = HTTPDNSManualClock()
        let exchange = ScriptedExchange { sent in
            guard sent.question.type == .https else { return .loopback(to: sent) }
            try await HTTPDNSManualClock().sleep(until: MonotonicTime(nanoseconds: .max))
            throw CancellationError()
        }
        var configuration = HTTPDNSDoHProvider.Configuration(name: "doh", url: "https://doh.test/dns-query")
        configuration.bootstrap = [address]
        let provider = try HTTPDNSDoHProvider(configuration, exchange: exchange, time: time)
        let query = try query(.v4)
        async let answer = provider.resolve(query)
        await time.sleepers(atLeast: 1)
        time.advance(by: .milliseconds(50))
        guard case .addresses = try await answer.v4, case .failed(let error) = try await answer.httpsRecords else {
            Issue.record("\(try await answer)")
            return
        }
        #expect(error == HTTPDNSProviderError(code: .timedOut, message: "no answer within 50 ms of the addresses"))
    }

    @Test("Every request has the client's network, cut to 24 bits")
    func clientSubnet() async throws {
        let scripted = try ScriptedDoHService(method: .post) { .loopback(to: $0) }
        var query = try query()
        query.clientSubnet = HTTPDNSAddressBlock("203.0.113.77/32")
        _ = try await scripted.provider.resolve(query)
        #expect(scripted.exchange.sent.count == 3)
        let subnet = DNSClientSubnet(try #require(HTTPDNSAddressBlock("203.0.113.0/24")))
        for sent in scripted.exchange.sent {
            #expect(sent.request.body == DNSQuery.encoded(sent.question, clientSubnet: subnet))
            #expect(sent.request.body != DNSQuery.encoded(sent.question))
        }
    }

    @Test(
        "An answer is valid for all clients when the scope of every family is 0",
        arguments: [([0, 0], true), ([0, 24], false), ([24, 0], false), ([0, nil], false), ([nil, nil], false)]
            as [([UInt8?], Bool)]
    )
    func scope(scopes: [UInt8?], expected: Bool) async throws {
        let scripted = try ScriptedDoHService { sent in
            .message(to: sent) {
                $0.address("one.test", sent.question.type == .a ? [127, 0, 0, 2] : Array(repeating: 1, count: 16))
                if let scope = scopes[sent.question.type == .a ? 0 : 1] {
                    $0.options(data: [0, 8, 0, 7, 0, 1, 24, scope, 203, 0, 113])
                }
            }
        }
        let answer = try await scripted.resolve(clientSubnet: HTTPDNSAddressBlock("203.0.113.0/24"))
        #expect(answer.holdsForAllClients == expected)
        #expect(try await scripted.resolve().holdsForAllClients == false)
    }

    @Test("An answer for another network is a bad response")
    func foreignSubnet() async throws {
        let scripted = try ScriptedDoHService { sent in
            .message(to: sent) {
                $0.address("one.test", [127, 0, 0, 2])
                $0.options(data: [0, 8, 0, 7, 0, 1, 24, 0, 198, 51, 100])
            }
        }
        var query = try query(.v4)
        query.clientSubnet = HTTPDNSAddressBlock("203.0.113.0/24")
        let asked = query
        let error = await #expect(throws: HTTPDNSProviderError.self) { try await scripted.provider.resolve(asked) }
        #expect(error?.code == .badResponse)
        #expect(error?.message.contains("client subnet option") == true)
    }
}

struct QuestionGatheringTests {
    private static let start = MonotonicTime(nanoseconds: 1_000_000_000)
    private static let found = QuestionGathering.Outcome.addresses(
        .addresses([address], timeToLive: .seconds(60), canonicalName: nil)
    )
    private static let empty = QuestionGathering.Outcome.addresses(.noData(timeToLive: nil))

    private func gathering(_ families: HTTPDNSAddress.Families = .both, wantsHTTPS: Bool = true) -> QuestionGathering {
        let end = Self.start + .seconds(3)
        return QuestionGathering(families: families, wantsHTTPSRecords: wantsHTTPS, since: Self.start, deadline: end)
    }

    /// 50 ms at least, 500 ms at most, and half of the time that is left.
    @Test(
        "HTTPS records get as long again as the addresses took, within limits",
        arguments: [(0, 50), (20, 50), (80, 80), (499, 499), (900, 500), (2_800, 100)]
    )
    func httpsRecords(took: Int, patience: Int) throws {
        var gathering = gathering(.v4)
        let now = Self.start + .milliseconds(took)
        let action = gathering.received(Self.found, for: .v4, at: now)
        #expect(action == .wait(until: now + .milliseconds(patience)))
    }

    @Test(
        "The second family is awaited for 50 ms after the first one's addresses",
        arguments: [QuestionGathering.Question.v4, .v6],
        [(0, 50), (900, 50), (2_960, 20)]
    )
    func secondFamily(first: QuestionGathering.Question, times: (took: Int, patience: Int)) throws {
        var gathering = gathering(wantsHTTPS: false)
        let now = Self.start + .milliseconds(times.took)
        let action = gathering.received(Self.found, for: first, at: now)
        #expect(action == .wait(until: now + .milliseconds(times.patience)))
    }

    @Test("HTTPS records that arrive leave 50 ms for the family that is missing")
    func familyAfterRecords() throws {
        var gathering = gathering()
        let first = Self.start + .milliseconds(400)
        #expect(gathering.received(Self.found, for: .v4, at: first) == .wait(until: first + .milliseconds(400)))
        let records = QuestionGathering.Outcome.httpsRecords(.none(timeToLive: nil))
        let action = gathering.received(records, for: .httpsRecords, at: first + .milliseconds(10))
        #expect(action == .wait(until: first + .milliseconds(60)))
        gathering.giveUp()
        guard case .failed(let error) = try gathering.answer().v6 else {
            Issue.record("\(try gathering.answer())")
            return
        }
        #expect(error.message == "no answer within 50 ms of the addresses")
    }

    @Test("An earlier end of the wait stays when a family arrives")
    func recordsAfterFamily() throws {
        var gathering = gathering()
        let first = Self.start + .milliseconds(100)
        #expect(gathering.received(Self.found, for: .v4, at: first) == .wait(until: first + .milliseconds(100)))
        #expect(gathering.received(Self.found, for: .v6, at: first + .milliseconds(50)) == .keepWaiting)
    }

    @Test("A family that failed or has no address starts no wait for the other one")
    func withoutFirstFamily() throws {
        for outcome in [Self.empty, .failure(HTTPDNSProviderError(code: .timedOut, message: "late"))] {
            var gathering = gathering(wantsHTTPS: false)
            #expect(gathering.received(outcome, for: .v6, at: Self.start) == .keepWaiting)
        }
    }

    /// The name has none, or its families failed.
    @Test("HTTPS records are awaited for 50 ms when the name has no addresses")
    func withoutAddresses() throws {
        for outcome in [Self.empty, .failure(HTTPDNSProviderError(code: .timedOut, message: "late"))] {
            var gathering = gathering(.v4)
            let action = gathering.received(outcome, for: .v4, at: Self.start)
            #expect(action == .wait(until: Self.start + .milliseconds(50)))
        }
    }

    /// Without addresses they are of no use.
    @Test("HTTPS records that arrive first start no time limit")
    func servicesFirst() throws {
        var gathering = gathering()
        #expect(
            gathering.received(.httpsRecords(.none(timeToLive: nil)), for: .httpsRecords, at: Self.start)
                == .keepWaiting
        )
        #expect(gathering.received(Self.empty, for: .v4, at: Self.start) == .keepWaiting)
        #expect(gathering.received(Self.empty, for: .v6, at: Self.start) == .done)
        #expect(gathering.isComplete)
    }

    @Test("A query given up is a time-out; one canceled from outside is a cancellation")
    func givenUp() throws {
        var gathering = gathering(.v4)
        _ = gathering.received(Self.found, for: .v4, at: Self.start)
        var canceled = gathering
        gathering.giveUp()
        #expect(gathering.isComplete)
        _ = gathering.received(.canceled, for: .httpsRecords, at: Self.start)
        guard case .failed(let error) = try gathering.answer().httpsRecords else {
            Issue.record("\(try gathering.answer())")
            return
        }
        #expect(error.code == .timedOut)
        _ = canceled.received(.canceled, for: .httpsRecords, at: Self.start)
        #expect(throws: CancellationError.self) { try canceled.answer() }
    }
}

/// The numbers of SplitMix64 from the same seed, so that a test gives the same in each run.
struct SeededGenerator: RandomNumberGenerator {
    private var state: UInt64 = 0

    mutating func next() -> UInt64 {
        state &+= 0x9e37_79b9_7f4a_7c15
        var number = state
        number = (number ^ (number >> 30)) &* 0xbf58_476d_1ce4_e5b9
        number = (number ^ (number >> 27)) &* 0x94d0_49bb_1331_11eb
        return number ^ (number >> 31)
    }
}
