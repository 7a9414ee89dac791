// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

import HTTPDNSCore
import HTTPDNSCurl
import HTTPDNSMessages
import HTTPDNSTesting
import HTTPTypes
import ServerRig
import Testing

private let loopback2 = HTTPDNSAddress(v4: 127, 0, 0, 2)
private let loopback6 = HTTPDNSAddress(family: .v6, high: 0, low: 1)

struct DoHProviderTests {
    @Test("Both families are requested separately, and both are answered")
    func bothFamilies() async throws {
        let scripted = try ScriptedDoHService { .loopback(to: $0) }
        let answer = try await scripted.resolve()
        #expect(answer.v4 == .addresses([loopback2], timeToLive: .seconds(60), canonicalName: nil))
        #expect(answer.v6 == .addresses([loopback6], timeToLive: .seconds(60), canonicalName: nil))
        #expect(Set(scripted.exchange.sent.map(\.question)) == [.a("one.test"), .aaaa("one.test")])
        #expect(scripted.exchange.sent.count == 2)
    }

    @Test("Only the families of the query are requested", arguments: [HTTPDNSAddress.Families.v4, .v6])
    func oneFamily(families: HTTPDNSAddress.Families) async throws {
        let scripted = try ScriptedDoHService { .loopback(to: $0) }
        let answer = try await scripted.resolve("one.test", families)
        #expect(scripted.exchange.sent.map(\.question.type) == [families == .v4 ? .a : .aaaa])
        #expect((answer.v4 == nil) == (families == .v6))
        #expect((answer.v6 == nil) == (families == .v4))
    }

    /// FORMERR with the question, and NOTIMP without it.
    @Test("A service without EDNS is asked without it, for 15 minutes", arguments: [UInt16(1), 4])
    func withoutEDNS(code: UInt16) async throws {
        let scripted = try ScriptedDoHService(method: .post) { sent in
            guard sent.request.body?[11] == 1 else { return .loopback(to: sent) }
            return .message(to: sent) { builder in
                builder.responseCode = code
                if code == 4 { builder.questions = [] }
            }
        }
        func records() -> [Int] { scripted.exchange.sent.map { Int($0.request.body?[11] ?? 9) } }
        for expected in [[1, 0], [1, 0, 0]] {
            #expect(try await scripted.resolve("one.test", .v4).v4 != nil)
            #expect(records() == expected)
        }
        let plain = try #require(scripted.exchange.sent.last?.request.body)
        #expect(plain == DNSQuery.encoded(.a("one.test"), usesEDNS: false) && plain.count == 12 + 10 + 4)
        scripted.time.advance(by: .seconds(900))
        _ = try await scripted.resolve("one.test", .v4)
        #expect(records() == [1, 0, 0, 1, 0])
    }

    @Test("A service that rejects the client subnet alone keeps EDNS for other queries")
    func withoutClientSubnet() async throws {
        let scripted = try ScriptedDoHService(method: .post) { sent in
            let body = sent.request.body ?? []
            // The first option's code in the OPT record.
            let hasSubnet = body.count > 38 && body[37] == 0 && body[38] == 8
            return hasSubnet ? .message(to: sent) { $0.responseCode = 1 } : .loopback(to: sent)
        }
        let subnet = try #require(HTTPDNSAddressBlock("203.0.113.0/24"))
        for count in [2, 3] {
            let answer = try await scripted.resolve("one.test", .v4, clientSubnet: subnet)
            #expect(answer.v4 == .addresses([loopback2], timeToLive: .seconds(60), canonicalName: nil))
            #expect(!answer.holdsForAllClients)
            #expect(scripted.exchange.sent.count == count)
        }
        _ = try await scripted.resolve("one.test", .v4)
        #expect(scripted.exchange.sent.last?.request.body?[11] == 1 && scripted.exchange.sent.count == 4)
    }

    @Test("A query that the service rejects without EDNS as well is a server failure")
    func rejectedTwice() async throws {
        let scripted = try ScriptedDoHService(method: .post) { sent in .message(to: sent) { $0.responseCode = 1 } }
        for count in [2, 4] {
            let answer = try await scripted.resolve("one.test", .v4)
            guard case .failed(let error) = answer.v4 else {
                Issue.record("\(answer)")
                return
            }
            #expect(error.code == .serverFailure && scripted.exchange.sent.count == count)
        }
    }

    @Test("The families are requested concurrently")
    func concurrent() async throws {
        // Each request is answered only once the other was sent too.
        let meeting = Meeting(of: 2)
        let scripted = try ScriptedDoHService { sent in
            await meeting.arrive()
            return .loopback(to: sent)
        }
        let answer = try await scripted.resolve()
        #expect(answer.v4 != nil && answer.v6 != nil)
    }

    @Test("GET carries the query as base64url without padding, with RFC 8484's fields")
    func get() async throws {
        let scripted = try ScriptedDoHService { .loopback(to: $0) }
        _ = try await scripted.resolve("one.test", .v4)
        let request = try #require(scripted.exchange.sent.first).request
        #expect(request.method == .get)
        #expect(request.body == nil)
        #expect(request.headerFields[.accept] == "application/dns-message")
        #expect(request.headerFields[.contentType] == nil)
        let parameter = try #require(request.dnsParameter)
        #expect(request.url.target == "/dns-query?dns=\(parameter)")
        #expect(parameter.allSatisfy { $0.isASCII && ($0.isLetter || $0.isNumber || $0 == "-" || $0 == "_") })
        #expect(ScriptedExchange.decodeBase64URL(parameter) == DNSQuery.encoded(.a("one.test")))
    }

    @Test("POST has the query as its body, with its type")
    func post() async throws {
        let scripted = try ScriptedDoHService(method: .post) { .loopback(to: $0) }
        _ = try await scripted.resolve("one.test", .v4)
        let request = try #require(scripted.exchange.sent.first).request
        #expect(request.method == .post)
        #expect(request.url.target == "/dns-query")
        #expect(request.headerFields[.accept] == "application/dns-message")
        #expect(request.headerFields[.contentType] == "application/dns-message")
        #expect(request.body == DNSQuery.encoded(.a("one.test")))
    }

    @Test(
        "The template form is read, and the URL's own query is kept",
        arguments: [
            ("https://doh.test/q{?dns}", "/q?dns="), ("https://doh.test/q?key=1", "/q?key=1&dns="),
            ("https://doh.test/q?key=1{&dns}", "/q?key=1&dns="), ("https://doh.test/{?dns}", "/?dns="),
            ("https://doh.test", "/?dns="),
        ]
    )
    func template(url: String, prefix: String) async throws {
        let scripted = try ScriptedDoHService(url: url) { .loopback(to: $0) }
        _ = try await scripted.resolve("one.test", .v4)
        let target = try #require(scripted.exchange.sent.first).request.url.target
        #expect(target.hasPrefix(prefix))
        #expect(target.dropFirst(prefix.count).allSatisfy { $0 != "=" && $0 != "?" && $0 != "&" })
    }

    @Test("A failed family does not fail the other", arguments: [DNSRecordType.a, .aaaa])
    func partialFailure(failing: DNSRecordType) async throws {
        let scripted = try ScriptedDoHService { sent in
            guard sent.question.type == failing else { return .loopback(to: sent) }
            throw TransferFailure(code: .connectFailed, phase: .connect, message: "refused")
        }
        let answer = try await scripted.resolve()
        let (failed, good) = failing == .a ? (answer.v4, answer.v6) : (answer.v6, answer.v4)
        guard case .failed(let error) = failed, case .addresses = good else {
            Issue.record("\(answer)")
            return
        }
        #expect(error.code == .unreachable)
    }

    @Test("When every request fails, the query throws")
    func totalFailure() async throws {
        let scripted = try ScriptedDoHService { _ in
            throw TransferFailure(code: .connectFailed, phase: .connect, message: "refused")
        }
        let error = try #require(await scripted.error())
        #expect(error.code == .unreachable)
        #expect(error.message == "192.0.2.1:443: refused")
    }

    @Test(
        "An error code inside a message is the family's own outcome",
        arguments: [(2, .serverFailure), (5, .refused), (4, .serverFailure), (9, .serverFailure)]
            as [(UInt16, HTTPDNSProviderError.Code)]
    )
    func responseCode(code: UInt16, expected: HTTPDNSProviderError.Code) async throws {
        let scripted = try ScriptedDoHService { sent in .message(to: sent) { $0.responseCode = code } }
        let answer = try await scripted.resolve()
        for family in [answer.v4, answer.v6] {
            guard case .failed(let error) = family else {
                Issue.record("\(answer)")
                return
            }
            #expect(error.code == expected)
            #expect(error.message.hasPrefix("\(DNSResponseCode(number: code)) from 192.0.2.1:443 for one.test."))
        }
    }

    @Test("NXDOMAIN and no data are distinct, with or without a time to live")
    func negative() async throws {
        let scripted = try ScriptedDoHService { sent in
            .message(to: sent) { builder in
                if sent.question.type == .a {
                    builder.responseCode = 3
                    builder.startOfAuthority("test", timeToLive: 9, minimum: 5)
                }
            }
        }
        let answer = try await scripted.resolve()
        #expect(answer.v4 == .nameError(timeToLive: .seconds(5)))
        #expect(answer.v6 == .noData(timeToLive: nil))
    }

    @Test("Canceling the task throws CancellationError")
    func cancellation() async throws {
        let started = Meeting(of: 3)
        let scripted = try ScriptedDoHService { sent in
            await started.arrive()
            while !Task.isCancelled { await Task.yield() }
            throw CancellationError()
        }
        let task = Task { try await scripted.resolve() }
        await started.arrive()
        task.cancel()
        await #expect(throws: CancellationError.self) { try await task.value }
    }

    @Test("After shutdown nothing is sent, and queries throw shutDown")
    func shutdown() async throws {
        let scripted = try ScriptedDoHService { .loopback(to: $0) }
        await scripted.provider.shutdown()
        await scripted.provider.shutdown()
        #expect(scripted.exchange.isShutDown)
        #expect(try await scripted.error()?.code == .shutDown)
        #expect(scripted.exchange.sent.isEmpty)
    }
}

/// Lets tasks wait until so many have arrived.
final class Meeting: Sendable {
    private let missing: Lock<Int>
    private let gate = Gate()

    init(of count: Int) { missing = Lock(count) }

    func arrive() async {
        let isLast = missing.withLock { missing in
            missing -= 1
            return missing <= 0
        }
        if isLast { gate.open() }
        await gate.passage()
    }
}
