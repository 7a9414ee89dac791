// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

import HTTPDNSCore
import HTTPDNSCurl
import HTTPDNSTesting
import HTTPTypes
import Testing

struct DoHBootstrapTests {
    private static let addresses = (1...3).map { HTTPDNSAddress(v4: 192, 0, 2, $0) }

    private static func failure(_ code: TransferFailure.Code = .connectFailed) -> TransferFailure {
        TransferFailure(code: code, phase: .connect, message: "\(code)")
    }

    @Test("The port is the URL's, and the first address is asked first")
    func endpoint() async throws {
        let scripted = try ScriptedDoHService(url: "https://doh.test:8443/", addresses: Self.addresses) {
            .loopback(to: $0)
        }
        _ = try await scripted.resolve("one.test", .v4)
        #expect(scripted.exchange.sent.map(\.endpoint) == [HTTPDNSEndpoint(address: Self.addresses[0], port: 8443)])
    }

    @Test(
        "After a failed connection the next address is asked, and preferred from then on",
        arguments: [
            .connectFailed, .tlsFailed, .certificateRefused, .timedOut, .wrongPeer, .protocolViolation, .transport,
        ] as [TransferFailure.Code]
    )
    func failover(code: TransferFailure.Code) async throws {
        let scripted = try ScriptedDoHService(addresses: Self.addresses) { sent in
            guard sent.endpoint.address == Self.addresses[1] else { throw Self.failure(code) }
            return .loopback(to: sent)
        }
        _ = try await scripted.resolve("one.test", .v4)
        _ = try await scripted.resolve("one.test", .v4)
        #expect(
            scripted.exchange.sent.map(\.endpoint.address)
                == [Self.addresses[0], Self.addresses[1], Self.addresses[1]]
        )
    }

    @Test("An address that is silent about one name stays in use")
    func deadZone() async throws {
        let isCut = Lock(false)
        let scripted = try ScriptedDoHService(addresses: Self.addresses) { sent in
            switch sent.endpoint.address {
            case Self.addresses[0] where !isCut.withLock({ $0 }):
                var failure = TransferFailure(code: .timedOut, phase: .total, message: "no answer")
                failure.reached = .firstByte
                throw failure
            case Self.addresses[1] where isCut.withLock({ $0 }): throw Self.failure()
            default: return .loopback(to: sent)
            }
        }
        _ = try await scripted.resolve("one.test", .v4)
        isCut.withLock { $0 = true }
        _ = try await scripted.resolve("one.test", .v4)
        let order = [0, 1, 1, 0].map { Self.addresses[$0] }
        #expect(scripted.exchange.sent.map(\.endpoint.address) == order)
    }

    @Test("After the last address the first one is asked again")
    func order() async throws {
        let dead = Lock<Set<HTTPDNSAddress>>([Self.addresses[0], Self.addresses[1]])
        let scripted = try ScriptedDoHService(addresses: Self.addresses) { sent in
            if dead.withLock({ $0.contains(sent.endpoint.address) }) { throw Self.failure() }
            return .loopback(to: sent)
        }
        _ = try await scripted.resolve("one.test", .v4)
        dead.withLock { $0 = [Self.addresses[2]] }
        _ = try await scripted.resolve("one.test", .v4)
        #expect(
            scripted.exchange.sent.map(\.endpoint.address)
                == [Self.addresses[0], Self.addresses[1], Self.addresses[2], Self.addresses[2], Self.addresses[0]]
        )
    }

    @Test(
        "A failure that every address would share is not retried elsewhere",
        arguments: [
            (.invalidRequest, .unreachable), (.trustRootsMissing, .unreachable), (.lookupDenied, .unreachable),
            (.responseTooLarge, .badResponse), (.shutDown, .shutDown),
        ] as [(TransferFailure.Code, HTTPDNSProviderError.Code)]
    )
    func finalFailure(code: TransferFailure.Code, expected: HTTPDNSProviderError.Code) async throws {
        let scripted = try ScriptedDoHService(addresses: Self.addresses) { _ in throw Self.failure(code) }
        #expect(try await scripted.error(.v4)?.code == expected)
        #expect(scripted.exchange.sent.count == 1)
    }

    @Test("After a server failure the next address is asked", arguments: [500, 502, 503, 421, 408])
    func serverFailure(status: Int) async throws {
        let scripted = try ScriptedDoHService(addresses: Self.addresses) { sent in
            guard sent.endpoint.address == Self.addresses[1] else { return .status(status, to: sent) }
            return .loopback(to: sent)
        }
        for _ in 0..<3 { _ = try await scripted.resolve("one.test", .v4) }
        #expect(
            scripted.exchange.sent.map(\.endpoint.address)
                == [Self.addresses[0], Self.addresses[1], Self.addresses[1], Self.addresses[1]]
        )
    }

    @Test(
        "A service's Retry-After is a number or a date by the service's own clock",
        arguments: [
            ("7", 7), ("6.2", 7), ("7s", 7), ("3, 7", 7), ("Sun, 06 Nov 1994 08:49:44 GMT", 7), ("soon", nil),
        ] as [(String, Int64?)]
    )
    func retryAfter(value: String, expected: Int64?) async throws {
        for status in [429, 503] {
            let scripted = try ScriptedDoHService(addresses: [Self.addresses[0]]) { sent in
                .status(status, to: sent, fields: [.retryAfter: value, .date: "Sun, 06 Nov 1994 08:49:37 GMT"])
            }
            let error = try #require(await scripted.error(.v4))
            #expect(error.retryAfter == expected.map { .seconds($0) })
            #expect(error.message.contains("left alone for 7 s") == (expected != nil))
        }
    }

    /// Every address answers with a failure of the server.
    @Test("When every address fails, the error names all of them and the requested wait")
    func allServersFail() async throws {
        let scripted = try ScriptedDoHService(addresses: Self.addresses) { sent in
            .status(503, to: sent, fields: [.retryAfter: "7"])
        }
        let error = try #require(await scripted.error(.v4))
        #expect(error.code == .httpStatus && error.retryAfter == .seconds(7))
        for address in Self.addresses { #expect(error.message.contains("\(address)")) }
        #expect(scripted.exchange.sent.count == 3)
    }

    @Test("A failed address is tried when the others fail while time is left")
    func reserve() async throws {
        let broken = Lock(Self.addresses[0])
        let scripted = try ScriptedDoHService(addresses: Array(Self.addresses[0...1])) { sent in
            broken.withLock { $0 } == sent.endpoint.address ? .status(502, to: sent) : .loopback(to: sent)
        }
        _ = try await scripted.resolve("one.test", .v4)
        broken.withLock { $0 = Self.addresses[1] }
        _ = try await scripted.resolve("one.test", .v4)
        let order = [0, 1, 1, 0].map { Self.addresses[$0] }
        #expect(scripted.exchange.sent.map(\.endpoint.address) == order)
    }

    @Test("Another status or a bad body is an answer, and no other address is asked", arguments: [200, 403, 404, 429])
    func noFailoverAfterAnswer(status: Int) async throws {
        let scripted = try ScriptedDoHService(addresses: Self.addresses) { .status(status, to: $0) }
        #expect(try await scripted.error(.v4) != nil)
        #expect(scripted.exchange.sent.count == 1)
    }

    @Test("When all addresses fail, the error names each with its failure")
    func allFail() async throws {
        let scripted = try ScriptedDoHService(addresses: Self.addresses) { _ in throw Self.failure() }
        let error = try #require(await scripted.error(.v4))
        #expect(error.code == .unreachable)
        #expect(
            error.message
                == "192.0.2.1:443: connectFailed; 192.0.2.2:443: connectFailed; 192.0.2.3:443: connectFailed"
        )
    }

    @Test("A connection that breaks during a request is opened again, once")
    func brokenConnection() async throws {
        let scripted = try ScriptedDoHService { _ in throw Self.failure(.connectionLost) }
        #expect(try await scripted.error(.v4)?.code == .unreachable)
        #expect(scripted.exchange.sent.count == 2)

        let failures = Lock(1)
        let recovering = try ScriptedDoHService(addresses: Self.addresses) { sent in
            let fails = failures.withLock { count in
                count -= 1
                return count >= 0
            }
            if fails { throw Self.failure(.connectionLost) }
            return .loopback(to: sent)
        }
        _ = try await recovering.resolve("one.test", .v4)
        #expect(recovering.exchange.sent.map(\.endpoint.address) == [Self.addresses[0], Self.addresses[0]])
    }

    @Test("Each address has an equal share of the time left, and the last one all of it")
    func shares() async throws {
        let time = Lock<HTTPDNSManualClock?>(nil)
        let scripted = try ScriptedDoHService(addresses: Self.addresses) { _ in
            time.withLock { $0 }?.advance(by: .milliseconds(600))
            throw Self.failure(.timedOut)
        }
        time.withLock { $0 = scripted.time }
        let start = scripted.time.now()
        let error = try #require(await scripted.error(.v4))
        #expect(error.code == .timedOut)
        #expect(
            scripted.exchange.sent.map { $0.deadline - start }
                == [.milliseconds(1000), .milliseconds(1800), .milliseconds(3000)]
        )
    }

    @Test("No address is asked after the time limit")
    func timeLimit() async throws {
        let time = Lock<HTTPDNSManualClock?>(nil)
        let scripted = try ScriptedDoHService(addresses: Self.addresses) { _ in
            time.withLock { $0 }?.advance(by: .seconds(3))
            throw Self.failure(.timedOut)
        }
        time.withLock { $0 = scripted.time }
        #expect(try await scripted.error(.v4)?.code == .timedOut)
        #expect(scripted.exchange.sent.count == 1)
    }

    @Test("A time limit of zero or less throws timedOut, and nothing is sent", arguments: [0, -5])
    func noTime(seconds: Int) async throws {
        let scripted = try ScriptedDoHService { .loopback(to: $0) }
        await #expect(throws: HTTPDNSProviderError.self) {
            try await scripted.resolve("one.test", .both, timeLimit: .seconds(seconds))
        }
        #expect(scripted.exchange.sent.isEmpty)
    }
}
