// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

import HTTPDNSCurl
import HTTPDNSTesting
import ServerRig
import Testing

@testable import HTTPDNS

/// The system path for a provider's addresses that cannot be connected to, over a scripted wire.
struct ConnectionFallbackTests {
    private static let sick = HTTPDNSAddress(v4: 203, 0, 113, 1)
    private static let good = HTTPDNSAddress(v4: 203, 0, 113, 51)

    private static func refused(_ request: TransferRequest) -> TransferFailure {
        var failure = TransferFailure(code: .connectFailed, phase: .connect, message: "refused")
        failure.endpoint = request.endpoints[0]
        failure.attempts = request.endpoints.map {
            TransferAttempt(endpoint: $0, phase: .connect, code: .connectFailed, message: "refused", elapsed: .zero)
        }
        return failure
    }

    /// A rig whose provider gives an address that refuses, while the system knows another one.
    private func rig(
        fallback: HTTPDNSRoute.Fallback = .system,
        system: [HTTPDNSAddress] = [good],
        refuses: @escaping @Sendable (HTTPDNSAddress, Int) -> Bool = { address, _ in address == sick },
        wire: ScriptedWire? = nil,
        _ change: (inout HTTPDNSClient.Configuration) -> Void = { _ in }
    ) throws -> Rig {
        let scripted = ScriptedWire { request, number in
            if refuses(request.endpoints[0].address, number) { throw ConnectionFallbackTests.refused(request) }
            return .ok(from: request)
        }
        let rig = try Rig(wire: wire ?? scripted, timeToLive: .seconds(3600)) {
            $0.resolver.routes = [HTTPDNSRoute(try .init("*.test"), .providers(["scripted"], fallback: fallback))]
            change(&$0)
        }
        rig.system.answer(.success(system), for: try HTTPDNSName("one.test"))
        rig.system.answer(.success([Self.good]), for: try HTTPDNSName("map.test"))
        return rig
    }

    /// A provider whose IPv6 addresses come late: its first answer lacks them, and the second one waits for the gate.
    private struct LateProvider: HTTPDNSProvider {
        static let address = HTTPDNSAddress(family: .v6, high: 0x2001_0db8_0000_0000, low: 7)

        let name = "scripted"
        let gate: Gate
        /// Whether the second answer has an address.
        var hasAddress = true

        func resolve(_ query: HTTPDNSProviderQuery) async throws -> HTTPDNSProviderAnswer {
            let life = Duration.seconds(3600)
            guard query.families == .v6 else {
                return HTTPDNSProviderAnswer(
                    v4: .addresses([ConnectionFallbackTests.sick], timeToLive: life, canonicalName: nil),
                    v6: .failed(HTTPDNSProviderError(code: .timedOut, message: "no answer in time"))
                )
            }
            await gate.passage()
            guard hasAddress else {
                return HTTPDNSProviderAnswer(v6: .failed(HTTPDNSProviderError(code: .timedOut, message: "no answer")))
            }
            return HTTPDNSProviderAnswer(v6: .addresses([Self.address], timeToLive: life, canonicalName: nil))
        }
    }

    /// A rig with such a provider, while the system knows an address that is good as well.
    private func lateRig(
        _ gate: Gate,
        hasAddress: Bool = true,
        fallback: HTTPDNSRoute.Fallback = .system,
        wire: ScriptedWire
    ) throws -> Rig {
        let rig = try Rig(wire: wire) {
            $0.resolver.providers = [LateProvider(gate: gate, hasAddress: hasAddress)]
            $0.resolver.routes = [
                HTTPDNSRoute(try .init("*.test"), .providers(["scripted"], fallback: fallback), families: .both)
            ]
            $0.timeouts.connect = .seconds(60)
        }
        rig.system.answer(.success([Self.good]), for: try HTTPDNSName("one.test"))
        return rig
    }

    /// The lookup of the late family ends after the refusal.
    @Test("A request whose first addresses refuse goes to the family that was late")
    func lateFamily() async throws {
        let gate = Gate()
        let rig = try lateRig(
            gate,
            wire: ScriptedWire { request, _ in
                guard request.endpoints[0].address == ConnectionFallbackTests.sick else { return .ok(from: request) }
                defer { gate.open() }
                throw ConnectionFallbackTests.refused(request)
            }
        )
        let response = try await rig.client.post("https://one.test/", body: .bytes([1]))
        #expect(first(rig) == [Self.sick, LateProvider.address])
        let exchange = try #require(response.exchanges.last)
        #expect(!exchange.usedSystemFallback && exchange.remote.address == LateProvider.address)
        #expect(rig.system.questions.isEmpty)
    }

    @Test(
        "The fallback follows when the late family refuses or has no address",
        arguments: [(true, HTTPDNSRoute.Fallback.system), (false, .system), (true, .off), (false, .off)]
    )
    func lateFamilyRefuses(hasAddress: Bool, fallback: HTTPDNSRoute.Fallback) async throws {
        let gate = Gate()
        gate.open()
        let refusing = ScriptedWire { request, _ in throw ConnectionFallbackTests.refused(request) }
        let rig = try lateRig(gate, hasAddress: hasAddress, fallback: fallback, wire: refusing)
        let error = try #require(await clientError { try await rig.client.get("https://one.test/") })
        let last = fallback == .system ? [Self.good] : []
        #expect(
            error.code == .connectFailed && error.usedSystemFallback != last.isEmpty && !error.requestMayHaveBeenSent
        )
        #expect(
            error.attempts.map(\.endpoint.address) == [Self.sick] + (hasAddress ? [LateProvider.address] : []) + last
        )
    }

    @Test("A stream that was read goes to no other address, and keeps its error")
    func spentBody() async throws {
        let wire = ScriptedWire { request, _ in
            guard case .stream(_, let chunks) = request.body else { throw CancellationError() }
            var iterator = chunks.makeAsyncIterator()
            _ = try await iterator.next(isolation: nil)
            throw ConnectionFallbackTests.refused(request)
        }
        let rig = try rig(wire: wire)
        let body = HTTPDNSClient.Request.Body.stream(AsyncStream<[UInt8]> { $0.yield([1]) })
        let error = try #require(await clientError { try await rig.client.post("https://one.test/", body: body) })
        #expect(error.code == .connectFailed && !error.usedSystemFallback)
        #expect(first(rig) == [Self.sick] && rig.system.questions.isEmpty)
    }

    @Test("A hop that newer settings prepare again repeats nothing of what it was before")
    func preparedAgain() async throws {
        let client = Lock<HTTPDNSClient?>(nil)
        let wire = ScriptedWire { request, number in
            guard number > 0 else { throw ConnectionFallbackTests.refused(request) }
            var failure = TransferFailure(code: .connectionLost, phase: .firstByte, message: "lost")
            failure.requestMayHaveBeenSent = true
            throw failure
        }
        let rig = try rig(wire: wire) {
            $0.computedHeaders = { _ in
                client.withLock { $0.take() }?.pipeline.exchangeSettings {}
                return [:]
            }
        }
        client.withLock { $0 = rig.client }
        let error = try #require(
            await clientError { try await rig.client.post("https://one.test/", body: .bytes([1])) }
        )
        #expect(error.requestMayHaveBeenSent && error.usedSystemFallback)
        #expect(first(rig) == [Self.sick, Self.good])
    }

    /// The closure for the fields asks for a token where one connection is allowed, after the settings have changed.
    @Test("A hop that is prepared again has no connection while its fields are computed")
    func permitOfPreparedAgain() async throws {
        let client = Lock<HTTPDNSClient?>(nil)
        let isChanged = Lock(false)
        let wire = ScriptedWire { request, number in
            guard number == 0 else { return .ok(from: request) }
            client.withLock { $0 }?.pipeline.exchangeSettings {}
            isChanged.withLock { $0 = true }
            throw ConnectionFallbackTests.refused(request)
        }
        let rig = try rig(wire: wire) {
            ($0.connections.maximumPerHost, $0.connections.queueWait) = (1, .seconds(5))
            $0.computedHeaders = { request in
                guard request.url.hasSuffix("/order"), isChanged.withLock({ $0 }) else { return [:] }
                _ = try await client.withLock { $0 }?.get("https://one.test/token")
                return [:]
            }
        }
        client.withLock { $0 = rig.client }
        #expect(try await rig.client.get("https://one.test/order").status == .ok)
        #expect(first(rig).count == 3)
        client.withLock { $0 = nil }
    }

    @Test("A transfer gets the addresses of the late family while it connects")
    func lateFamilyJoins() async throws {
        let gate = Gate()
        let rig = try lateRig(
            gate,
            wire: ScriptedWire { request, _ in
                gate.open()
                var late = request
                late.endpoints = await request.lateEndpoints?.value ?? []
                guard !late.endpoints.isEmpty else { throw ConnectionFallbackTests.refused(request) }
                return .ok(from: late)
            }
        )
        let response = try await rig.client.get("https://one.test/")
        #expect(first(rig) == [Self.sick])
        #expect(response.exchanges.last?.remote.address == LateProvider.address)
    }

    private func first(_ rig: Rig) -> [HTTPDNSAddress] { rig.wire.requests.map { $0.endpoints[0].address } }

    /// The exchange and the counters say so.
    @Test("A fallback goes to the system's addresses that were not tried")
    func fallsBack() async throws {
        let rig = try rig(system: [Self.sick, Self.good])
        let response = try await rig.client.post("https://one.test/", body: .bytes([1]))
        #expect(first(rig) == [Self.sick, Self.good])
        let exchange = try #require(response.exchanges.last)
        #expect(
            exchange.usedSystemFallback && exchange.remote.address == Self.good && exchange.request.source == .system
        )
        #expect(rig.client.connectionCounters.fallbacks == 1)
    }

    /// The next take the system path, and one of them tries again after 30 s.
    @Test("One request pays for an unreachable provider address, and the next do not")
    func breaker() async throws {
        let rig = try rig()
        for _ in 0..<10 {
            let response = try await rig.client.get("https://one.test/")
            #expect(response.exchanges.last?.usedSystemFallback == true)
        }
        #expect(first(rig).count(where: { $0 == Self.sick }) == 1)
        #expect(rig.client.connectionCounters.fallbacksShortCircuited == 9)
        #expect(rig.client.connectionCounters.fallenBackHosts == 1)
    }

    /// The request comes after the breaker's time.
    @Test("The breaker closes with the first request that reaches the provider's address")
    func closes() async throws {
        let isBack = Lock(false)
        let rig = try rig(refuses: { address, _ in address == Self.sick && !isBack.withLock { $0 } })
        _ = try await rig.client.get("https://one.test/")
        isBack.withLock { $0 = true }
        rig.clock.advance(by: .seconds(31))
        let response = try await rig.client.get("https://one.test/")
        #expect(
            response.exchanges.last?.usedSystemFallback == false && response.exchanges.last?.remote.address == Self.sick
        )
        #expect(rig.client.connectionCounters.fallenBackHosts == 0)
    }

    @Test("A failed fallback is one error with all attempts, and nothing was sent")
    func bothFail() async throws {
        let rig = try rig(refuses: { _, _ in true })
        let error = try #require(await clientError { try await rig.client.get("https://one.test/") })
        #expect(error.code == .connectFailed && error.usedSystemFallback && !error.requestMayHaveBeenSent)
        #expect(error.attempts.map(\.endpoint.address) == [Self.sick, Self.good])
        #expect(rig.client.connectionCounters.fallbacksFailed == 1)
        #expect(rig.client.connectionCounters.fallenBackHosts == 0)
    }

    /// The pin is an address of the request. A sent request is one that may have been sent.
    @Test("No fallback follows a closed route, a mapping, a pin or a sent request")
    func never() async throws {
        let closed = try rig(fallback: .off)
        #expect(await clientError { try await closed.client.get("https://one.test/") }?.usedSystemFallback == false)
        let all = try rig(refuses: { _, _ in true })
        #expect(await clientError { try await all.client.get("https://map.test/") }?.usedSystemFallback == false)
        let pinned = await clientError {
            try await all.client.get("https://one.test/") { $0.addresses = .only(["203.0.113.9"]) }
        }
        #expect(pinned?.usedSystemFallback == false)
        let sent = try rig(
            wire: ScriptedWire { request, _ in
                var failure = Self.refused(request)
                failure.requestMayHaveBeenSent = true
                throw failure
            }
        )
        #expect(await clientError { try await sent.client.get("https://one.test/") }?.usedSystemFallback == false)
        #expect(closed.wire.requests.count + sent.wire.requests.count == 2 && all.wire.requests.count == 2)
        #expect(closed.system.questions.isEmpty && all.system.questions.isEmpty)
    }

    @Test(
        "A connection fallback may go no further inside than the providers' answers",
        arguments: [
            HTTPDNSAddress(v4: 10, 0, 0, 5), HTTPDNSAddress(v4: 127, 0, 0, 1),
            HTTPDNSAddress(family: .v6, high: 0, low: 1),
        ]
    )
    func staysOutside(inside: HTTPDNSAddress) async throws {
        let rig = try rig(system: [inside])
        let error = try #require(await clientError { try await rig.client.get("https://one.test/") })
        #expect(error.code == .connectFailed && error.message.contains("in place of providers"), "\(error)")
        #expect(first(rig) == [Self.sick])
        #expect(rig.client.connectionCounters.fallbacksFailed == 1)
        let mixed = try self.rig(system: [inside, Self.good])
        _ = try await mixed.client.get("https://one.test/")
        #expect(mixed.wire.requests.last?.endpoints.map(\.address) == [Self.good])
    }

    @Test("An address from a request to the system resolver is not used by a later fallback")
    func holdIsLimited() async throws {
        let (old, newer) = (HTTPDNSAddress(v4: 10, 0, 0, 5), HTTPDNSAddress(v4: 10, 0, 0, 6))
        let rig = try rig(system: [newer])
        for address in [newer, old] {
            rig.system.answer(.success([address]), for: try HTTPDNSName("one.test"))
            rig.clock.advance(by: .seconds(31))
            _ = try await rig.client.get("https://one.test/") { $0.addresses = .system }
        }
        rig.system.answer(.success([Self.good]), for: try HTTPDNSName("one.test"))
        rig.clock.advance(by: .seconds(31))
        _ = try await rig.client.get("https://one.test/")
        #expect(rig.wire.requests.last?.endpoints.map(\.address) == [Self.good])
    }

    /// The answer's own addresses are behind it.
    @Test("A warm address that the newest answer lacks is tried first")
    func hold() async throws {
        let rig = try Rig(timeToLive: .seconds(1))
        _ = try await rig.client.get("https://one.test/")
        func rotate(to last: UInt8, timeToLive: Duration) async throws -> HTTPDNSClient.Exchange? {
            rig.provider.answer(
                .answer(.addresses([HTTPDNSAddress(v4: 203, 0, 113, last)], timeToLive: timeToLive)),
                for: try HTTPDNSName("one.test")
            )
            rig.clock.advance(by: .seconds(2))
            return try await rig.client.get("https://one.test/").exchanges.last
        }
        let first = try await rotate(to: 7, timeToLive: .seconds(1))
        #expect(
            first?.keptPreviousAddress == false && first?.remote.address == HTTPDNSAddress(v4: 203, 0, 113, 7),
            "one change alone"
        )
        #expect(try await rotate(to: 8, timeToLive: .seconds(3600))?.keptPreviousAddress == true)
        let addresses = [HTTPDNSAddress(v4: 203, 0, 113, 7), HTTPDNSAddress(v4: 203, 0, 113, 8)]
        #expect(rig.wire.requests.last?.endpoints.map(\.address) == addresses)
        #expect(rig.client.connectionCounters.keptPreviousAddress == 1)
        try rig.client.mappings.apply { $0["other.test"] = .addresses(["203.0.113.9"]) }
        let moved = try await rig.client.get("https://one.test/")
        #expect(moved.exchanges.last?.remote.address == HTTPDNSAddress(v4: 203, 0, 113, 8), "mappings move at once")
    }

    @Test("The first request after a change of address goes ahead to the new one")
    func firstGoesAhead() async throws {
        let rig = try Rig(timeToLive: .seconds(1)) {
            $0.resolver.cache.refreshesAhead = false
            $0.connections.onAddressChange = .warmThenMove
        }
        _ = try await rig.client.get("https://one.test/")
        let moved = HTTPDNSAddress(v4: 203, 0, 113, 7)
        rig.provider.answer(.answer(.addresses([moved], timeToLive: .seconds(60))), for: try HTTPDNSName("one.test"))
        rig.clock.advance(by: .seconds(2))
        let ahead = try await rig.client.get("https://one.test/").exchanges.last
        #expect(ahead?.remote.address == moved && ahead?.keptPreviousAddress == false)
    }

    /// They do not decide where later requests stay.
    @Test("Requests from before a retirement of connections keep no address")
    func holdAfterRetiring() async throws {
        let (isInFlight, mayEnd) = ([OneShot<Void>(), OneShot<Void>()], [OneShot<Void>(), OneShot<Void>()])
        let wire = ScriptedWire { request, number in
            if number < 2 {
                isInFlight[number].deliver(())
                await mayEnd[number].value()
            }
            return .ok(from: request)
        }
        let rig = try Rig(wire: wire, timeToLive: .seconds(1)) {
            $0.resolver.cache.refreshesAhead = false
            $0.connections.onAddressChange = .warmThenMove
        }
        async let first = rig.client.get("https://one.test/")
        await isInFlight[0].value()
        rig.client.retireConnections()
        mayEnd[0].deliver(())
        _ = try await first
        let moved = HTTPDNSAddress(v4: 203, 0, 113, 7)
        rig.provider.answer(.answer(.addresses([moved], timeToLive: .seconds(60))), for: try HTTPDNSName("one.test"))
        rig.clock.advance(by: .seconds(2))
        // The first to go there. Others would stay on a warm address meanwhile, and there is none.
        async let ahead = rig.client.get("https://one.test/")
        await isInFlight[1].value()
        let beside = try await rig.client.get("https://one.test/").exchanges.last
        #expect(beside?.keptPreviousAddress == false && beside?.remote.address == moved)
        mayEnd[1].deliver(())
        _ = try await ahead
    }
}
