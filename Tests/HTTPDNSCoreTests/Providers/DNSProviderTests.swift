// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

import HTTPDNSMessages
import HTTPDNSPrimitives
import HTTPDNSTesting
import ServerRig
import Testing

@testable import HTTPDNSCore

@Suite("DNS provider", .timeLimit(.minutes(1)))
struct DNSProviderTests {
    private static let address = HTTPDNSProviderAnswer.Family.addresses(
        [HTTPDNSAddress(v4: 192, 0, 2, 1)],
        timeToLive: .seconds(60),
        canonicalName: nil
    )

    private func provider(
        _ servers: [HTTPDNSEndpoint],
        over transport: HTTPDNSDNSProvider.Transport = .udp,
        time: any TimeSource = HTTPDNSManualClock()
    ) throws -> HTTPDNSDNSProvider {
        var configuration = HTTPDNSDNSProvider.Configuration(name: "dns", servers: .addresses(servers))
        configuration.transport = transport
        return try HTTPDNSDNSProvider(configuration, time: time)
    }

    private func query(
        _ name: String = "a-name-with-many-letters.test",
        _ families: HTTPDNSAddress.Families = .v4,
        timeLimit: Duration = .seconds(20)
    ) throws -> HTTPDNSProviderQuery {
        HTTPDNSProviderQuery(host: try HTTPDNSName(name), families: families, timeLimit: timeLimit)
    }

    /// Returns the address family of a provider that asks these servers, each time the same.
    private func v4(
        _ servers: [HTTPDNSEndpoint],
        over transport: HTTPDNSDNSProvider.Transport = .udp,
        times: Int = 1
    ) async throws -> HTTPDNSProviderAnswer.Family? {
        let provider = try provider(servers, over: transport)
        let answer = try await provider.resolve(query())
        for _ in 1..<times { #expect(try await provider.resolve(query()) == answer) }
        await provider.shutdown()
        return answer.v4
    }

    @Test("Each query has its own ID, port and case, and EDNS without padding")
    func draws() async throws {
        let server = try ScriptedNameServer { [$0.answer()] }
        #expect(try await v4([server.endpoint], times: 8) == Self.address)
        let queries = server.queries
        #expect(queries.count == 8 && server.streams == 0)
        // Eight of 65,536, and of 2^20: another draw than the first is certain but for one run in 2^100.
        #expect(Set(queries.map(\.id)).count > 1 && Set(queries.map(\.name)).count > 1)
        #expect(Set(queries.map(\.lowercased)).count == 1)
        #expect(queries.allSatisfy { $0.hasOptions && $0.message.count == 12 + $0.name.count + 4 + 11 })
    }

    @Test("Both families and HTTPS records are queries of their own")
    func families() async throws {
        let server = try ScriptedNameServer { [$0.answer()] }
        let provider = try provider([server.endpoint])
        var query = try query("one.test", .both)
        query.wantsHTTPSRecords = true
        let answer = try await provider.resolve(query)
        await provider.shutdown()
        #expect(answer.v4 == Self.address && answer.v6 == .noData(timeToLive: nil))
        #expect(answer.httpsRecords == HTTPDNSProviderAnswer.HTTPSRecords.none(timeToLive: nil))
        #expect(server.queries.map(\.type).sorted() == [1, 28, 65])
    }

    @Test("Messages that are no answer are passed over, and the eighth leads to TCP", arguments: [7, 8, 20])
    func unrelated(_ count: Int) async throws {
        let server = try ScriptedNameServer { query in
            if query.isStream { return [query.answer()] }
            let forged: [[UInt8]] = [
                query.answer(id: query.id ^ 1), query.answer(flags: 0x0100), query.answer(flags: 0x8980), [1, 2, 3],
                query.answer(name: DNSMessageBuilder.name("other.test")), Array(query.answer().prefix(20)),
                query.answer(repeatsQuestion: false), query.answer(code: 2, repeatsQuestion: false),
            ]
            return (0..<count).map { forged[$0 % forged.count] } + [query.answer()]
        }
        #expect(try await v4([server.endpoint]) == Self.address)
        #expect(server.streams == (count < 8 ? 0 : 1))
    }

    @Test("A truncated answer is asked for over TCP, and arrives in pieces of any size", arguments: [1, 2, 7, 1000])
    func truncated(_ pieces: Int) async throws {
        let server = try ScriptedNameServer(pieces: pieces) { [$0.answer(flags: $0.isStream ? 0x8180 : 0x8380)] }
        #expect(try await v4([server.endpoint]) == Self.address)
        #expect(server.queries.map(\.isStream) == [false, true])
    }

    @Test("A truncated answer of a server without TCP fails the query, and not the server")
    func truncatedWithoutTCP() async throws {
        let flags = [0x8380, 0x8180] as [UInt16]
        let server = try ScriptedNameServer(takesStreams: false) { [$0.answer(flags: flags[$0.number])] }
        let other = try ScriptedNameServer { [$0.answer(code: 2)] }
        let provider = try provider([server.endpoint, other.endpoint])
        let error = try await #require(throws: HTTPDNSProviderError.self) { _ = try await provider.resolve(query()) }
        #expect(error.message.contains("over TCP: Connection refused"), "\(error)")
        #expect(try await provider.resolve(query()).v4 == Self.address)
        await provider.shutdown()
        #expect(server.queries.count == 2 && other.queries.count == 1)
    }

    struct RecordCase: Sendable {
        var code = "NOERROR"
        var transport = HTTPDNSDNSProvider.Transport.udp
        var queries = 1
        var script: ScriptedNameServer.Script
    }

    private static let recordCases: [RecordCase] = [
        RecordCase { [$0.answer()] }, RecordCase(code: "NXDOMAIN") { [$0.answer(code: 3)] },
        RecordCase(code: "SERVFAIL") { [$0.answer(code: 2)] }, RecordCase(code: "REFUSED") { [$0.answer(code: 5)] },
        RecordCase(transport: .tcp, queries: 2) { [$0.answer(flags: $0.isStream ? 0x8180 : 0x8380)] },
        RecordCase(queries: 2) { [$0.answer(code: $0.hasOptions ? 1 : 0)] },
        RecordCase { [$0.answer(id: $0.id ^ 1), $0.answer(name: [0]), $0.answer()] },
    ]

    @Test(
        "Records for display have any code, over UDP or TCP, with EDNS or without",
        arguments: recordCases
    )
    func records(_ example: RecordCase) async throws {
        let server = try ScriptedNameServer(example.script)
        let other = try ScriptedNameServer { [$0.answer()] }
        let provider = try provider([server.endpoint, other.endpoint])
        let question = DNSQuestion(try HTTPDNSName("one.test"), type: .a)
        let answer = try await provider.records(for: question, clientSubnet: nil, timeLimit: .seconds(20))
        await provider.shutdown()
        #expect("\(answer.response.responseCode)" == example.code)
        #expect(answer.server == server.endpoint && answer.transport == example.transport)
        #expect(answer.response.answers.map(\.data) == (example.code == "NOERROR" ? ["192.0.2.1"] : []))
        #expect(server.queries.count == example.queries && other.queries.isEmpty)
    }

    @Test("Over TCP alone no datagram is sent")
    func streams() async throws {
        let server = try ScriptedNameServer { [$0.answer()] }
        #expect(try await v4([server.endpoint], over: .tcp) == Self.address)
        #expect(server.queries.map(\.isStream) == [true])
    }

    @Test("A server that changes the case is asked over TCP once in an hour")
    func changesCase() async throws {
        let clock = HTTPDNSManualClock()
        let server = try ScriptedNameServer { [$0.answer(name: $0.lowercased)] }
        let provider = try provider([server.endpoint], time: clock)
        func asks() async throws -> [Bool] {
            let before = server.queries.count
            #expect(try await provider.resolve(query()).v4 == Self.address)
            return server.queries[before...].map(\.isStream)
        }
        #expect(try await asks() == [false, true])
        #expect(try await asks() == [false])
        clock.advance(by: .seconds(3599))
        #expect(try await asks() == [false])
        clock.advance(by: .seconds(1))
        #expect(try await asks() == [false, true])
        await provider.shutdown()
    }

    @Test("A server that changes the case and has no TCP is asked in lower case")
    func changesCaseWithoutTCP() async throws {
        let server = try ScriptedNameServer(takesStreams: false) { [$0.answer(name: $0.lowercased)] }
        #expect(try await v4([server.endpoint]) == Self.address)
        #expect(server.queries.map { $0.name == $0.lowercased } == [false, false, true])
    }

    @Test("A forged answer in another case leads to TCP, and changes nothing")
    func forgedCase() async throws {
        let server = try ScriptedNameServer { query in
            query.isStream || query.number == 1 ? [query.answer()] : [query.answer(code: 3, name: query.lowercased)]
        }
        #expect(try await v4([server.endpoint], times: 2) == Self.address)
        #expect(server.queries.map(\.isStream) == [false, true, false])
        #expect(server.queries.allSatisfy { $0.name != $0.lowercased })
    }

    @Test(
        "A server without EDNS is queried without it, however it refuses it",
        arguments: [true, false]
    )
    func withoutEDNS(_ repeatsQuestion: Bool) async throws {
        let server = try ScriptedNameServer {
            [$0.hasOptions ? $0.answer(code: 1, repeatsQuestion: repeatsQuestion) : $0.answer()]
        }
        #expect(try await v4([server.endpoint], times: 2) == Self.address)
        #expect(server.queries.map(\.hasOptions) == [true, false, false])
    }

    @Test(
        "A server that fails or refuses leads to the next one, and alone is the error",
        arguments: [
            (2, .serverFailure), (4, .serverFailure), (5, .refused), (9, .serverFailure),
        ] as [(UInt16, HTTPDNSProviderError.Code)]
    )
    func failures(_ code: UInt16, _ expected: HTTPDNSProviderError.Code) async throws {
        let (bad, good) = (try ScriptedNameServer { [$0.answer(code: code)] }, try ScriptedNameServer { [$0.answer()] })
        #expect(try await v4([bad.endpoint, good.endpoint]) == Self.address)
        let error = try await #require(throws: HTTPDNSProviderError.self) { _ = try await v4([bad.endpoint]) }
        #expect(error.code == expected && error.message.contains("\(bad.endpoint)"), "\(error)")
    }

    @Test("A name that does not exist is an answer, and no reason for another server")
    func nameError() async throws {
        let first = try ScriptedNameServer { [$0.answer(code: 3)] }
        let second = try ScriptedNameServer { [$0.answer()] }
        #expect(try await v4([first.endpoint, second.endpoint]) == .nameError(timeToLive: nil))
        #expect(second.queries.isEmpty)
    }

    @Test(
        "A closed port leads to the next server at once",
        arguments: [.udp, .tcp] as [HTTPDNSDNSProvider.Transport]
    )
    func closedPort(_ transport: HTTPDNSDNSProvider.Transport) async throws {
        let server = try ScriptedNameServer { [$0.answer()] }
        let closed = HTTPDNSEndpoint(address: HTTPDNSAddress(v4: 127, 0, 0, 1), port: 1)
        #expect(try await v4([closed, server.endpoint], over: transport) == Self.address)
        let error = try await #require(throws: HTTPDNSProviderError.self) {
            _ = try await v4([closed], over: transport)
        }
        #expect(error.code == .unreachable && error.message == "127.0.0.1:1: Connection refused", "\(error)")
    }

    @Test("A lost datagram is sent again after 0.4 s, 0.8 s and so on, unchanged")
    func lost() async throws {
        let server = try ScriptedNameServer { $0.number < 2 ? [] : [$0.answer()] }
        let clock = HTTPDNSManualClock()
        let provider = try provider([server.endpoint], time: clock)
        let query = try query()
        let task = Task { try await provider.resolve(query) }
        for (sent, wait) in [(1, 400), (2, 800)] {
            while server.queries.count < sent { try await Task.sleep(for: .milliseconds(1)) }
            await clock.sleepers(atLeast: 1)
            clock.advance(by: .milliseconds(wait - 1))
            #expect(server.queries.count == sent)
            clock.advance(by: .milliseconds(1))
        }
        #expect(try await task.value.v4 == Self.address)
        #expect(server.queries.count == 3 && Set(server.queries.map(\.message)).count == 1)
        await provider.shutdown()
    }

    @Test("A silent server has its share of the time", arguments: [.udp, .tcp] as [HTTPDNSDNSProvider.Transport])
    func silent(_ transport: HTTPDNSDNSProvider.Transport) async throws {
        let (silent, good) = (try ScriptedNameServer { _ in [] }, try ScriptedNameServer { [$0.answer()] })
        let clock = HTTPDNSManualClock()
        let provider = try provider([silent.endpoint, good.endpoint], over: transport, time: clock)
        let query = try query(timeLimit: .milliseconds(600))
        let task = Task { try await provider.resolve(query) }
        while silent.queries.isEmpty { try await Task.sleep(for: .milliseconds(1)) }
        await clock.sleepers(atLeast: 1)
        clock.advance(by: .milliseconds(300))
        #expect(try await task.value.v4 == Self.address)
        // Now the other one is first.
        #expect(try await provider.resolve(query).v4 == Self.address)
        #expect(silent.queries.count == 1 && good.queries.count == 2)
        await provider.shutdown()
        let alone = try self.provider([silent.endpoint], over: transport, time: SystemTimeSource())
        let error = try await #require(throws: HTTPDNSProviderError.self) {
            _ = try await alone.resolve(self.query(timeLimit: .milliseconds(200)))
        }
        #expect(error.code == .timedOut && error.message.hasSuffix("no answer over \(transport.rawValue.uppercased())"))
        await alone.shutdown()
    }

    @Test("What is no answer over TCP fails this server", arguments: [0, 1, 2])
    func badStream(_ kind: Int) async throws {
        let bad = try ScriptedNameServer { [[$0.answer(id: $0.id ^ 1), $0.answer(flags: 0x8380), []][kind]] }
        let good = try ScriptedNameServer { [$0.answer()] }
        #expect(try await v4([bad.endpoint, good.endpoint], over: .tcp) == Self.address)
        let error = try await #require(throws: HTTPDNSProviderError.self) {
            _ = try await v4([bad.endpoint], over: .tcp)
        }
        #expect(error.code == .badResponse, "\(error)")
    }

    @Test("A malformed message is refused with its reason")
    func malformed() async throws {
        let server = try ScriptedNameServer { [$0.answer() + [0]] }
        let error = try await #require(throws: HTTPDNSProviderError.self) { _ = try await v4([server.endpoint]) }
        #expect(error.code == .badResponse && error.message.contains("behind the last record"), "\(error)")
    }

    @Test(
        "A shutdown ends the query in flight, and later ones",
        arguments: [.udp, .tcp] as [HTTPDNSDNSProvider.Transport]
    )
    func shutsDown(_ transport: HTTPDNSDNSProvider.Transport) async throws {
        let server = try ScriptedNameServer { _ in [] }
        let provider = try provider([server.endpoint], over: transport)
        let query = try query(timeLimit: .seconds(600))
        let pending = Task { try await provider.resolve(query) }
        while server.queries.isEmpty { try await Task.sleep(for: .milliseconds(1)) }
        await provider.shutdown()
        let first = await #expect(throws: HTTPDNSProviderError.self) { _ = try await pending.value }
        let second = await #expect(throws: HTTPDNSProviderError.self) { _ = try await provider.resolve(query) }
        #expect(first?.code == .shutDown && second?.code == .shutDown)
    }

    @Test("A canceled query ends at once")
    func canceled() async throws {
        let server = try ScriptedNameServer { _ in [] }
        let provider = try provider([server.endpoint])
        let query = try query(timeLimit: .seconds(600))
        let task = Task { try await provider.resolve(query) }
        while server.queries.isEmpty { try await Task.sleep(for: .milliseconds(1)) }
        task.cancel()
        await #expect(throws: CancellationError.self) { _ = try await task.value }
        await provider.shutdown()
    }

    @Test("It keeps the contract of providers", arguments: [.udp, .tcp] as [HTTPDNSDNSProvider.Transport])
    func contract(_ transport: HTTPDNSDNSProvider.Transport) async throws {
        let v6 = HTTPDNSAddress(family: .v6, high: 0x2001_0db8 << 32, low: 1)
        let server = try ScriptedNameServer { query in
            switch query.lowercased {
            case DNSMessageBuilder.name("silent.test"): []
            case DNSMessageBuilder.name("nowhere.test"): [query.answer(code: 3)]
            case DNSMessageBuilder.name("dual.test"): [query.answer(address: query.type == 28 ? v6.bytes : nil)]
            default: [query.answer()]
            }
        }
        let fixture = HTTPDNSProviderCompatibility.Fixture(
            dualStackName: try HTTPDNSName("dual.test"),
            dualStackAddresses: [HTTPDNSAddress(v4: 192, 0, 2, 1), v6],
            v4OnlyName: try HTTPDNSName("v4only.test"),
            unknownName: try HTTPDNSName("nowhere.test"),
            silentName: try HTTPDNSName("silent.test")
        ) { try provider([server.endpoint], over: transport, time: SystemTimeSource()) }
        #expect(await HTTPDNSProviderCompatibility(fixture).violations() == [])
    }

    @Test("Without servers or ports there is no provider")
    func settings() {
        #expect(throws: HTTPDNSProviderConfigurationError.self) { _ = try provider([]) }
        let endpoint = HTTPDNSEndpoint(address: HTTPDNSAddress(v4: 127, 0, 0, 1), port: 0)
        #expect(throws: HTTPDNSProviderConfigurationError.self) { _ = try provider([endpoint]) }
    }

    @Test("A server's reason is in the error of a failure, and beside every other answer")
    func reasons() async throws {
        let server = try ScriptedNameServer { query in
            switch query.lowercased {
            case DNSMessageBuilder.name("failed.test"):
                [query.answer(code: 2, options: [0, 15, 0, 5, 0, 22, 117, 112, 33])]
            case DNSMessageBuilder.name("blocked.test"): [query.answer(code: 3, options: [0, 15, 0, 2, 0, 15])]
            default: [query.answer(options: [0, 15, 0, 2, 0, 3])]
            }
        }
        let provider = try provider([server.endpoint])
        let error = await #expect(throws: HTTPDNSProviderError.self) {
            _ = try await provider.resolve(query("failed.test", .both))
        }
        #expect(error?.message.hasSuffix("(No Reachable Authority (22): up!)") == true, "\(error?.message ?? "")")
        let blocked = try await provider.resolve(query("blocked.test", .both))
        #expect(blocked.extendedErrors.map(\.code) == [15] && blocked.v4 == .nameError(timeToLive: nil))
        let stale = try await provider.resolve(query("stale.test", .both))
        #expect(stale.extendedErrors.map(\.code) == [3] && stale.v4 == Self.address)
        await provider.shutdown()
    }

    /// A server that knows a name for each word, and says of "none" that it has no address and of "down" that it fails.
    private func searched(_ host: String, _ search: HTTPDNSSearchList) async throws -> (
        asked: [String], answer: HTTPDNSProviderAnswer
    ) {
        let known = ["db.two.test", "a.b.test", "deep.sub.one.test"].map(DNSMessageBuilder.name)
        let server = try ScriptedNameServer { query in
            if query.lowercased == DNSMessageBuilder.name("down.two.test") { return [query.answer(code: 2)] }
            if query.lowercased == DNSMessageBuilder.name("none.one.test") { return [query.answer(address: [])] }
            return [query.answer(code: known.contains(query.lowercased) ? 0 : 3)]
        }
        let provider = try provider([server.endpoint])
        var query = try query(host)
        query.search = search
        let answer: HTTPDNSProviderAnswer
        do {
            answer = try await provider.resolve(query)
        } catch let error as HTTPDNSProviderError {
            answer = HTTPDNSProviderAnswer(v4: .failed(error))
        }
        await provider.shutdown()
        let names = server.queries.map { query -> String in
            var (text, rest) = ("", query.lowercased[...])
            while let length = rest.first, length > 0 {
                text += String(decoding: rest.dropFirst().prefix(Int(length)), as: UTF8.self) + "."
                rest = rest.dropFirst(Int(length) + 1)
            }
            return String(text.dropLast())
        }
        return (names, answer)
    }

    @Test(
        "A search list is gone through in order, and a failure ends it",
        arguments: [
            ("db", nil, ["db.one.test", "db.two.test"], "db.two.test"),
            ("db.", nil, ["db"], nil),
            ("a.b.test", nil, ["a.b.test"], ""),
            ("a.b.test", 5, ["a.b.test.one.test", "a.b.test.two.test", "a.b.test"], ""),
            ("deep.sub", nil, ["deep.sub", "deep.sub.one.test"], "deep.sub.one.test"),
            ("deep.sub", 2, ["deep.sub.one.test"], "deep.sub.one.test"),
            ("gone", 0, ["gone", "gone.one.test", "gone.two.test"], nil),
            ("down", nil, ["down.one.test", "down.two.test"], "failed"),
            (String(repeating: "a.", count: 124) + "a", 300, [String(repeating: "a.", count: 124) + "a"], nil),
        ] as [(String, Int?, [String], String?)]
    )
    func searches(_ host: String, _ dots: Int?, _ names: [String], _ found: String?) async throws {
        let zones = try ["one.test", "two.test"].map { try HTTPDNSName($0) }
        let (asked, answer) = try await searched(host, HTTPDNSSearchList(.names(zones), dots: dots))
        #expect(asked == names)
        switch answer.v4 {
        case .addresses(_, _, let name)?: #expect(found == (name?.description ?? ""))
        case .failed?: #expect(found == "failed")
        default: #expect(found == nil && answer.v4 == .nameError(timeToLive: nil))
        }
    }

    @Test("A name with records of another type in one zone has no address, and exists")
    func searchesWithoutAddress() async throws {
        let zones = try ["one.test", "two.test"].map { try HTTPDNSName($0) }
        let (asked, answer) = try await searched("none", HTTPDNSSearchList(.names(zones)))
        #expect(asked.count == 3 && answer.v4 == .noData(timeToLive: nil))
    }

    @Test("The search list of a file is followed, with its number of dots")
    func searchesByFile() async throws {
        let folder = try TemporaryFolder()
        try folder.replace("resolv.conf", with: "domain two.test\nsearch one.test two.test\noptions ndots:3 rotate\n")
        let search = HTTPDNSSearchList(.file(folder.path("resolv.conf")))
        #expect(try await searched("a.b.test", search).asked == ["a.b.test.one.test", "a.b.test.two.test", "a.b.test"])
        #expect(try await searched("a.b.test", HTTPDNSSearchList(search.zones, dots: 1)).asked == ["a.b.test"])
        let lost = HTTPDNSSearchList(.file(folder.path("none")))
        let error = try await searched("db", lost).answer.v4?.error
        #expect(error?.code == .notConfigured)
    }

    /// Returns a record for the answer or authority section, whose owner is the question's name unless said.
    private static func record(_ query: ScriptedNameServer.Query, type: UInt16, _ data: [UInt8]) -> [UInt8] {
        DNSMessageBuilder.record(query.name, type: type, data: data)
    }

    /// Returns a message with records, and name servers in its authority section.
    private static func message(
        _ query: ScriptedNameServer.Query,
        _ records: [[UInt8]],
        nameServers: Int = 0
    ) -> [UInt8] {
        var builder = DNSMessageBuilder()
        (builder.id, builder.flags) = (query.id, 0x8180)
        builder.questions = [DNSMessageBuilder.question(query.name, type: query.type)]
        for record in records { builder.append(record) }
        for _ in 0..<nameServers {
            let data = DNSMessageBuilder.name("ns.test")
            builder.append(
                DNSMessageBuilder.record(DNSMessageBuilder.name("test"), type: 2, data: data),
                to: .authority
            )
        }
        return builder.octets
    }

    @Test("A referral leads to the next server, and alone is the failure of a server")
    func referral() async throws {
        let lame = try ScriptedNameServer { [Self.message($0, [], nameServers: 2)] }
        let good = try ScriptedNameServer { [$0.answer()] }
        #expect(try await v4([lame.endpoint, good.endpoint]) == Self.address)
        let error = try await #require(throws: HTTPDNSProviderError.self) { _ = try await v4([lame.endpoint]) }
        #expect(error.code == .serverFailure && error.message.contains("(a referral)"), "\(error)")
    }

    @Test("Records that contradict one another are a failure about the name", arguments: [0, 1])
    func contradiction(_ kind: Int) async throws {
        let server = try ScriptedNameServer { query in
            let loop = Self.record(query, type: 5, query.name)
            let other = Self.record(query, type: 5, DNSMessageBuilder.name("other.test"))
            return [Self.message(query, [[loop], [other, Self.record(query, type: 1, [192, 0, 2, 1])]][kind])]
        }
        let error = try await #require(throws: HTTPDNSProviderError.self) { _ = try await v4([server.endpoint]) }
        #expect(error.code == .serverFailure, "\(error)")
    }

    private static func server(_ priority: UInt8, _ weight: UInt8, _ port: UInt16, _ target: String) -> [UInt8] {
        [0, priority, 0, weight, UInt8(port >> 8), UInt8(port & 255)]
            + (target == "." ? [0] : DNSMessageBuilder.name(target))
    }

    private func service(_ records: [[UInt8]]) async throws -> (answer: HTTPDNSProviderAnswer, types: [UInt16]) {
        let server = try ScriptedNameServer { query in
            [Self.message(query, records.map { Self.record(query, type: 33, $0) })]
        }
        let provider = try provider([server.endpoint])
        let answer = try await provider.resolve(query("_grpc._tcp.orders.test", .both))
        await provider.shutdown()
        return (answer, server.queries.map(\.type))
    }

    @Test("A service is one query for SRV records, ordered by priority, with their ports")
    func servers() async throws {
        let (answer, types) = try await service([
            Self.server(20, 0, 8443, "c.test"), Self.server(10, 1, 8081, "b.test"), Self.server(10, 0, 8080, "a.test"),
            Self.server(30, 0, 1, "."),
        ])
        #expect(types == [33])
        #expect(answer.v4 == .noData(timeToLive: .seconds(60)) && answer.v6 == answer.v4)
        guard case .bindings(let records, .seconds(60)) = answer.httpsRecords else {
            Issue.record("\(String(describing: answer.httpsRecords))")
            return
        }
        let found = records.map { "\($0.target?.description ?? ""):\($0.port ?? 0)" }
        #expect(Set(found.prefix(2)) == ["a.test:8080", "b.test:8081"] && found[2...] == ["c.test:8443"])
        #expect(records.map(\.priority) == [1, 2, 3])
    }

    @Test("The root as the only target says that a service is not available")
    func noServers() async throws {
        #expect(
            try await service([Self.server(0, 0, 0, ".")]).answer.httpsRecords
                == .unavailable(timeToLive: .seconds(60))
        )
        #expect(try await service([]).answer.httpsRecords == HTTPDNSProviderAnswer.HTTPSRecords.none(timeToLive: nil))
    }

    @Test("Of servers with one priority each is first by the share of its weight")
    func weights() async throws {
        var first: [String: Int] = [:]
        var generator = SeededGenerator()
        let message = Self.message(
            ScriptedNameServer.Query(message: Self.serviceQuestion, isStream: false, number: 0),
            [(1, "a.test"), (3, "b.test"), (0, "c.test")].map { weight, target in
                DNSMessageBuilder.record(
                    DNSMessageBuilder.name("_a._tcp.test"),
                    type: 33,
                    data: Self.server(0, weight, 80, target)
                )
            }
        )
        let response = try DNSResponse(parsing: message, to: DNSQuestion(try HTTPDNSName("_a._tcp.test"), type: .srv))
        let records = response.answers.compactMap { if case .server(let server) = $0.content { server } else { nil } }
        for _ in 0..<10_000 {
            let order = ServerRecord.order(records, using: &generator)
            #expect(order.count == 3)
            first[order[0].target.hostName?.description ?? "", default: 0] += 1
        }
        // Of the numbers 0 to 4 the first is c's, the next one a's, and three are b's (RFC 2782, "Weight").
        #expect((1_800...2_200).contains(first["c.test"] ?? 0), "\(first)")
        #expect((1_800...2_200).contains(first["a.test"] ?? 0), "\(first)")
        #expect((5_800...6_200).contains(first["b.test"] ?? 0), "\(first)")
    }

    private static let serviceQuestion: [UInt8] =
        [0, 0, 1, 0, 0, 1, 0, 0, 0, 0, 0, 0] + DNSMessageBuilder.name("_a._tcp.test") + [0, 33, 0, 1]
}
