// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

import HTTPDNSCurl
import HTTPDNSTesting
import ServerRig
import Testing

@testable import HTTPDNS

struct RetryTests {
    private static let lost = failure(.connectionLost, .firstByte, mayHaveBeenSent: true)
    private static let refused = failure(.connectFailed, .connect, mayHaveBeenSent: false)

    private static func failure(
        _ code: TransferFailure.Code,
        _ phase: TransferFailure.Phase,
        mayHaveBeenSent: Bool
    ) -> TransferFailure {
        var failure = TransferFailure(code: code, phase: phase, message: "scripted")
        failure.requestMayHaveBeenSent = mayHaveBeenSent
        failure.endpoint = HTTPDNSEndpoint(address: HTTPDNSAddress(v4: 203, 0, 113, 1), port: 443)
        return failure
    }

    /// Retries without waits.
    private static var atOnce: HTTPDNSClient.RetryPolicy {
        var policy = HTTPDNSClient.RetryPolicy()
        policy.delay = .zero
        return policy
    }

    @Test("503, 503, 200 is 200 after two retries, with the right gaps between them")
    func gaps() async throws {
        let times = Lock<[MonotonicTime]>([])
        let clock = Lock<HTTPDNSManualClock?>(nil)
        let wire = ScriptedWire { request, number in
            let now = clock.withLock { $0?.now() }
            times.withLock { $0.append(now ?? MonotonicTime(nanoseconds: 0)) }
            return .ok(from: request, status: number < 2 ? .serviceUnavailable : .ok)
        }
        let rig = try Rig(wire: wire) {
            $0.retries = .standard
            $0.random = { 1 }
        }
        clock.withLock { $0 = rig.clock }
        let start = rig.clock.now()
        async let answer = rig.client.get("https://map.test/")
        for milliseconds in [100, 200] {
            await rig.clock.sleepers(atLeast: 1)
            rig.clock.advance(by: .milliseconds(milliseconds))
        }
        let response = try await answer
        #expect(response.status == .ok && response.exchanges.map(\.status.code) == [503, 503, 200])
        #expect(times.withLock { $0.map { $0 - start } } == [.zero, .milliseconds(100), .milliseconds(300)])
    }

    @Test("A refused client certificate is not tried again, and no network is waited for", arguments: [true, false])
    func refusedCertificate(mayHaveBeenSent: Bool) async throws {
        let failure = Self.failure(.clientCertificateRefused, .tls, mayHaveBeenSent: mayHaveBeenSent)
        let rig = try Rig(wire: ScriptedWire { _, _ in throw failure }) {
            $0.retries = Self.atOnce
            $0.retries.networkWait = .seconds(60)
        }
        let error = await clientError { try await rig.client.get("https://one.test/") }
        #expect(error?.code == .connectFailed && error?.phase == .tls && error?.retries == 0, "\(error as Any)")
        #expect(error?.hint?.contains("trust.clientCertificate") == true && rig.wire.requests.count == 1)
    }

    @Test("Nothing is sent again unless the client or the request asks for it")
    func optIn() async throws {
        for (policy, own, count) in [
            (.off, nil, 1), (.off, Self.atOnce, 3), (Self.atOnce, nil, 3), (Self.atOnce, .off, 1),
        ] as [(HTTPDNSClient.RetryPolicy, HTTPDNSClient.RetryPolicy?, Int)] {
            let rig = try Rig(wire: ScriptedWire(then: .status(.badGateway))) {
                $0.retries = policy
            }
            let response = try await rig.client.get("https://one.test/") { if let own { $0.retries = own } }
            // The last answer is the response, with its body.
            #expect(response.status == .badGateway && rig.wire.requests.count == count)
            #expect(try await response.body.collect(upTo: .bytes(5)) == Array("hello".utf8))
            #expect(response.exchanges.count == count)
        }
    }

    @Test(
        "A POST is sent again only while unsent, or with an Idempotency-Key",
        arguments: [(true, false, 1), (true, true, 3), (false, false, 3)]
    )
    func post(mayHaveBeenSent: Bool, hasKey: Bool, count: Int) async throws {
        let rig = try Rig(wire: ScriptedWire { _, _ in throw mayHaveBeenSent ? Self.lost : Self.refused }) {
            $0.retries = Self.atOnce
        }
        var request = HTTPDNSClient.Request(method: .post, url: "https://one.test/", body: .text("charge"))
        if hasKey { request.headerFields[try #require(HTTPField.Name("Idempotency-Key"))] = "8e03978e" }
        let error = await clientError { try await rig.client.execute(request) }
        #expect(rig.wire.requests.count == count)
        #expect(error?.code == (mayHaveBeenSent ? .connectionLost : .connectFailed))
        #expect(error?.requestMayHaveBeenSent == mayHaveBeenSent)
        // The trail has the addresses of all tries.
        #expect(error?.retries == count - 1 && error?.attempts.count == count)
    }

    @Test("A POST that was unsent, then perhaps sent, is not sent again")
    func secondTry() async throws {
        let wire = ScriptedWire { _, number in throw number == 0 ? Self.refused : Self.lost }
        let rig = try Rig(wire: wire) { $0.retries = Self.atOnce }
        let error = await clientError { try await rig.client.post("https://one.test/", body: .text("x")) }
        #expect(rig.wire.requests.count == 2 && error?.retries == 1 && error?.requestMayHaveBeenSent == true)
    }

    @Test("A redirected POST is tried again while its next hop is unsent, and was sent")
    func redirectedPost() async throws {
        let wire = ScriptedWire(.redirect(307, to: "/b"), then: .failure(Self.refused))
        let rig = try Rig(wire: wire) { $0.retries = Self.atOnce }
        let error = await clientError { try await rig.client.post("https://one.test/", body: .text("x")) }
        #expect(rig.wire.requests.map(\.url.target) == ["/", "/b", "/b", "/b"])
        #expect(error?.requestMayHaveBeenSent == true && error?.retries == 2)
    }

    /// What sees a call, and changes nothing.
    enum Watching: CaseIterable, Sendable {
        case nothing, recorder, observer, application, network, hook, computedHeaders
        #if Tracing
        case tracer
        #endif

        func apply(to configuration: inout HTTPDNSClient.Configuration) {
            let around = Around { request, context, next in try await next(request, context) }
            switch self {
            case .application: configuration.applicationInterceptors = [around]
            case .network: configuration.networkInterceptors = [around]
            case .hook: configuration.redirectHook = { _ in .follow }
            case .computedHeaders: configuration.computedHeaders = { _ in [.userAgent: "computed"] }
            #if Tracing
            case .tracer: configuration.tracing.tracer = FieldTracer()
            #endif
            case .nothing, .recorder, .observer: break
            }
        }

        func execute(_ request: HTTPDNSClient.Request, with client: HTTPDNSClient) async throws
            -> HTTPDNSClient.Response
        {
            var request = request
            if self == .recorder { _ = client.recordCalls { _ in } }
            if self == .observer { request.observer = { _ in } }
            return try await client.execute(request)
        }
    }

    /// What has happened in the call before its last hop.
    enum Before: CaseIterable, Sendable { case redirect, challenge, response }

    @Test("Nothing that sees a call changes its retries", arguments: Watching.allCases, Before.allCases)
    func watched(by watching: Watching, after before: Before) async throws {
        let wire = ScriptedWire { request, number in
            guard number == 0 else { throw Self.refused }
            switch before {
            case .redirect: return .redirect(307, to: "/b", from: request)
            case .challenge: return .ok(from: request, status: .unauthorized, fields: [.wwwAuthenticate: "Basic"])
            case .response: return .ok(from: request, status: .serviceUnavailable)
            }
        }
        let rig = try Rig(wire: wire) {
            $0.retries = Self.atOnce
            watching.apply(to: &$0)
            if before == .response {
                // A second `next` after the response to the first one.
                $0.applicationInterceptors.append(
                    Around { request, context, next in
                        _ = try await next(request, context)
                        return try await next(request, context)
                    }
                )
            }
        }
        var request = HTTPDNSClient.Request(method: .post, url: "https://one.test/", body: .text("x"))
        if before == .challenge {
            request.changeOptions { $0.credential = .basic(user: "u", password: HTTPDNSSecret { "p" }) }
        }
        let sent = request
        let error = await clientError { try await watching.execute(sent, with: rig.client) }
        #expect(rig.wire.requests.count == 4 && error?.retries == 2 && error?.code == .connectFailed)
        #expect(error?.requestMayHaveBeenSent == true)
    }

    @Test("Nothing that sees a call changes the wait for the network", arguments: Watching.allCases)
    func watchedWait(by watching: Watching) async throws {
        let wire = ScriptedWire { request, number in
            switch number {
            case 0: return .redirect(307, to: "/b", from: request)
            case 1, 2: throw Self.refused
            default: return .ok(from: request)
            }
        }
        let rig = try Rig(wire: wire) {
            $0.retries.networkWait = .seconds(60)
            watching.apply(to: &$0)
        }
        let request = HTTPDNSClient.Request(method: .post, url: "https://map.test/", body: .text("x"))
        async let answer = watching.execute(request, with: rig.client)
        for _ in 0..<2 {
            await rig.clock.sleepers(atLeast: 1)
            rig.clock.advance(by: .seconds(10))
        }
        #expect(try await answer.status == .ok && rig.wire.requests.count == 4)
    }

    @Test("A name that does not exist fails at once, whatever time waits for the network")
    func unknownName() async throws {
        let rig = try Rig { $0.retries.networkWait = .seconds(600) }
        for host in ["none.test", "none.example"] {
            let error = await clientError { try await rig.client.get("https://\(host)/") }
            #expect(error?.code == .resolveFailed && error?.retries == 0, "\(error as Any)")
        }
    }

    @Test("An error keeps the first and the last 64 attempts of a long wait")
    func boundedTrail() async throws {
        let numbers = Lock(0)
        let wire = ScriptedWire { _, number in
            numbers.withLock { $0 = number }
            var failure = Self.refused
            failure.endpoint = HTTPDNSEndpoint(address: HTTPDNSAddress(v4: 203, 0, 113, 1), port: UInt16(number + 1))
            throw failure
        }
        let rig = try Rig(wire: wire) {
            $0.retries = .off
            $0.retries.delay = .zero
            $0.retries.networkWait = .seconds(20)
        }
        async let answer = clientError { try await rig.client.get("https://map.test/") }
        for _ in 0..<200 {
            await rig.clock.sleepers(atLeast: 1)
            rig.clock.advance(by: .milliseconds(100))
        }
        let error = try #require(await answer)
        let ports = error.attempts.map { Int($0.endpoint.port) }
        #expect(numbers.withLock { $0 } == 200 && error.retries == 200)
        #expect(ports == Array(1...64) + Array(138...201) && error.attemptsLeftOut == 73)
    }

    @Test("A request that one of several loops could not send is sent by another, once", arguments: [1, 2])
    func anotherLoop(loops: Int) async throws {
        var failure = Self.refused
        failure.lacksSocket = true
        for failures in [1, 2] {
            let wire = ScriptedWire { [failure] request, number in
                if number < failures { throw failure }
                return .ok(from: request)
            }
            let rig = try Rig(wire: wire)
            let pipeline = Pipeline(
                rig.configuration,
                rewriter: rig.client.pipeline.rewriter,
                sender: wire,
                loops: loops
            )
            let request = HTTPDNSClient.Request(method: .post, url: "https://map.test/", body: .text("x"))
            let error = await clientError { try await pipeline.call(request) }
            #expect(wire.requests.count == (loops == 1 ? 1 : 2))
            #expect((error == nil) == (loops == 2 && failures == 1), "\(error as Any)")
            #expect(error?.retries ?? 0 == 0)
        }
    }

    @Test("A sent POST is not sent again when an interceptor's error hides the sending")
    func hiddenSending() async throws {
        let rig = try Rig(wire: ScriptedWire { _, _ in throw Self.lost }) {
            $0.retries = Self.atOnce
            $0.networkInterceptors = [
                Around { request, context, next in
                    do {
                        return try await next(request, context)
                    } catch {
                        throw HTTPDNSClientError(code: .connectFailed, phase: .connect, message: "so it says")
                    }
                }
            ]
        }
        _ = await clientError { try await rig.client.post("https://one.test/", body: .text("x")) }
        #expect(rig.wire.requests.count == 1)
    }

    /// An interceptor's own call may have failed for that reason.
    @Test("A sent POST is not sent by another loop for an error that lacks a socket")
    func hiddenSendingOnLoops() async throws {
        var failure = Self.refused
        failure.lacksSocket = true
        let cause = failure
        let wire = ScriptedWire { request, _ in .ok(from: request) }
        let rig = try Rig(wire: wire) { configuration in
            configuration.networkInterceptors = [
                Around { request, context, next in
                    _ = try await next(request, context)
                    var error = HTTPDNSClientError(code: .connectFailed, phase: .connect, message: "no socket")
                    error.underlying = cause
                    throw error
                }
            ]
        }
        let pipeline = Pipeline(
            rig.configuration,
            rewriter: rig.client.pipeline.rewriter,
            sender: wire,
            loops: 2
        )
        let request = HTTPDNSClient.Request(method: .post, url: "https://map.test/", body: .text("x"))
        _ = await clientError { try await pipeline.call(request) }
        #expect(wire.requests.count == 1)
    }

    @Test("A retry does not prefer the address that failed, and the next hop does", arguments: [true, false])
    func failedAddress(hasResponse: Bool) async throws {
        let wire = ScriptedWire { request, number in
            switch number {
            case 0 where hasResponse: return .ok(from: request, status: .serviceUnavailable)
            case 0: throw Self.refused
            case 1: return .redirect(302, to: "/b", from: request)
            default: return .ok(from: request)
            }
        }
        let rig = try Rig(wire: wire) { $0.retries = Self.atOnce }
        _ = try await rig.client.get("https://map.test/")
        let first = rig.wire.requests.first?.endpoints.first
        let failed = hasResponse ? first : Self.refused.endpoint
        #expect(rig.wire.requests.map(\.avoided) == [nil, failed, nil])
    }

    @Test("A stream is sent again only while nothing of it has been read")
    func streams() async throws {
        for isRead in [false, true] {
            let wire = ScriptedWire { request, number in
                if isRead, case .stream(_, let chunks) = request.body {
                    var iterator = chunks.makeAsyncIterator()
                    _ = try await iterator.next(isolation: nil)
                }
                if number == 0 { throw Self.refused }
                return .ok(from: request)
            }
            let rig = try Rig(wire: wire) { $0.retries = Self.atOnce }
            let body = HTTPDNSClient.Request.Body.stream(Chunks([Array("a".utf8)]))
            let error = await clientError {
                try await rig.client.execute(HTTPDNSClient.Request(method: .put, url: "https://one.test/", body: body))
            }
            #expect(rig.wire.requests.count == (isRead ? 1 : 2))
            #expect(error?.code == (isRead ? .connectFailed : nil))
        }
    }

    @Test("A retry repeats its hop, and not the redirect that led to it")
    func withRedirects() async throws {
        let wire = ScriptedWire(.redirect(302, to: "https://two.test/b"), .status(.badGateway))
        let rig = try Rig(wire: wire) { $0.retries = Self.atOnce }
        let response = try await rig.client.get("https://one.test/")
        #expect(response.exchanges.map(\.status.code) == [302, 502, 200])
        #expect(
            rig.wire.requests.map(\.url.description) == [
                "https://one.test/", "https://two.test/b", "https://two.test/b",
            ]
        )
    }

    /// The hops are numbered, and only the first has a tag.
    @Test("Two redirects and one retry are one call and four hops")
    func stages() async throws {
        let journal = Journal<String>()
        let wire = ScriptedWire { request, number in
            switch number {
            case 0: .redirect(302, to: "/b", from: request)
            case 1: .redirect(302, to: "/c", from: request)
            default: .ok(from: request, status: number == 2 ? .serviceUnavailable : .ok)
            }
        }
        let rig = try Rig(wire: wire) {
            $0.retries = Self.atOnce
            $0.applicationInterceptors = [Around.before { _ in journal.write("call") }]
            $0.networkInterceptors = [
                Around { request, context, next in
                    journal.write("\(context.hop)\(context.tag == nil ? "" : " tagged")")
                    return try await next(request, context)
                }
            ]
        }
        let rewritten = try await rig.client.rewrite("https://one.test/")
        #expect(try await rig.client.execute(rewritten).status == .ok)
        #expect(journal.all == ["call", "0 tagged", "1", "2", "3"])
    }

    /// 200 calls that fail make 20 of them at ten percent.
    @Test("The budget bounds the retries of a client")
    func budget() async throws {
        let rig = try Rig(wire: ScriptedWire(then: .status(.serviceUnavailable))) {
            $0.retries = Self.atOnce
            $0.retryBudget.percent = 10
            $0.retryBudget.perSecond = 0
        }
        for _ in 0..<200 { _ = try await rig.client.get("https://one.test/") }
        #expect(rig.wire.requests.count == 220)
        // It holds for requests with a policy of their own, too.
        _ = try await rig.client.get("https://one.test/") { $0.retries = .standard }
        #expect(rig.wire.requests.count == 221)
    }

    /// One that its caller canceled, and one that found no connection.
    @Test("A retry that is not sent takes nothing of the budget", arguments: [true, false])
    func unsentRetry(isCanceled: Bool) async throws {
        let wire = ScriptedWire(then: .status(.serviceUnavailable))
        let rig = try Rig(wire: wire) {
            $0.retries.limit = 1
            $0.retryBudget.percent = 0
            $0.retryBudget.perSecond = 1
            $0.random = { 1 }
            if !isCanceled {
                $0.connections.maximumPerHost = 1
                $0.connections.maximumQueued = 0
            }
        }
        let origin = HopOrigin(host: .name(try HTTPDNSName("map.test")), port: 443)
        // As many as the budget has.
        for _ in 0..<10 {
            let call = Task { try await rig.client.get("https://map.test/") }
            await rig.clock.sleepers(atLeast: 1)
            if isCanceled {
                call.cancel()
                await #expect(throws: CancellationError.self) { try await call.value }
            } else {
                let admission = try #require(rig.client.pipeline.admissions.queues.first)
                let (_, grant) = try await admission.enter(
                    for: origin,
                    .normal,
                    headDeadline: nil,
                    deadline: nil,
                    of: Admission.Member()
                )
                let permit = ConnectionPermit(admission, origin, grant, deadline: nil, outer: nil)
                rig.clock.advance(by: .milliseconds(100))
                let error = await clientError { try await call.value }
                #expect(error?.phase == .queue)
                withExtendedLifetime(permit) {}
            }
        }
        #expect(rig.wire.requests.count == 10)
        _ = try await rig.client.get("https://map.test/") {
            $0.retries = Self.atOnce
            $0.retries.limit = 1
        }
        #expect(rig.wire.requests.count == 12)
    }

    @Test("Retry-After is waited for, and one above the limit makes the response final")
    func retryAfter() async throws {
        for (value, isAwaited) in [("7", true), ("31", false)] {
            let wire = ScriptedWire { request, number in
                .ok(from: request, status: number == 0 ? .tooManyRequests : .ok, fields: [.retryAfter: value])
            }
            let rig = try Rig(wire: wire) {
                $0.retries = Self.atOnce
            }
            async let answer = rig.client.get("https://map.test/")
            if isAwaited {
                await rig.clock.sleepers(atLeast: 1)
                rig.clock.advance(by: .milliseconds(6_999))
                #expect(rig.wire.requests.count == 1 && rig.clock.sleeperCount == 1)
                rig.clock.advance(by: .milliseconds(1))
            }
            #expect(try await answer.status == (isAwaited ? .ok : .tooManyRequests))
            #expect(rig.wire.requests.count == (isAwaited ? 2 : 1))
        }
    }

    @Test("A wait that would outlast the call is not begun")
    func deadline() async throws {
        let rig = try Rig(wire: ScriptedWire { _, _ in throw Self.refused }) {
            $0.retries = .standard
            ($0.retries.delay, $0.retries.maximumDelay) = (.seconds(1200), .seconds(1200))
            $0.timeouts.responseHead = nil
            $0.random = { 1 }
        }
        let error = await clientError {
            try await rig.client.get("https://one.test/") { $0.timeouts.total = .seconds(600) }
        }
        #expect(error?.code == .connectFailed && rig.wire.requests.count == 1 && error?.retries == 0)
    }

    /// It ends with `CancellationError`.
    @Test("A call that is canceled during its wait ends, and a shutdown begins no new try")
    func endings() async throws {
        let rig = try Rig(wire: ScriptedWire { _, _ in throw Self.refused }) {
            $0.retries = .standard
            $0.random = { 1 }
        }
        let call = Task { [client = rig.client] in try await client.get("https://map.test/") }
        await rig.clock.sleepers(atLeast: 1)
        call.cancel()
        await #expect(throws: CancellationError.self) { try await call.value }
        let other = Task { [client = rig.client] in try await client.get("https://map.test/") }
        await rig.clock.sleepers(atLeast: 1)
        try await rig.client.shutdown()
        rig.clock.advance(by: .seconds(1))
        let error = await clientError { try await other.value }
        #expect(error?.code == .shutDown && rig.wire.requests.count == 2)
    }

    @Test("A shutdown ends the wait for a retry immediately, also one that drains", arguments: [0, 3600])
    func shutdownWakes(draining seconds: Int) async throws {
        let rig = try Rig(wire: ScriptedWire { _, _ in throw Self.lost }) {
            $0.retries = .standard
            $0.random = { 1 }
        }
        let call = Task { [client = rig.client] in try await client.get("https://map.test/") }
        await rig.clock.sleepers(atLeast: 1)
        // The clock stands still: nothing but the shutdown ends the wait, and a draining one waits for the call.
        try await rig.client.shutdown(drainingFor: .seconds(seconds))
        let error = await clientError { try await call.value }
        #expect(error?.code == .shutDown && error?.retries == 0 && rig.wire.requests.count == 1)
        #expect(error?.attempts.count == 1 && error?.requestMayHaveBeenSent == true)
        #expect(rig.clock.sleeperCount == 0)
    }

    // MARK: fresh resolve

    private func rigThatMoved(_ script: @escaping ScriptedWire.Script) async throws -> Rig {
        let rig = try Rig(wire: ScriptedWire(script)) { $0.retries = Self.atOnce }
        _ = try await rig.client.resolve("one.test")
        rig.clock.advance(by: .seconds(5))
        let moved = HTTPDNSProviderAnswer.addresses([HTTPDNSAddress(v4: 203, 0, 113, 9)], timeToLive: .seconds(30))
        rig.provider.answer(.answer(moved), for: try HTTPDNSName("one.test"))
        return rig
    }

    /// The age of the known answer does not matter.
    @Test("A retry after failed addresses asks the provider again")
    func freshResolve() async throws {
        let rig = try await rigThatMoved { request, _ in
            if request.endpoints[0].address == HTTPDNSAddress(v4: 203, 0, 113, 1) { throw Self.refused }
            return .ok(from: request)
        }
        let response = try await rig.client.post("https://one.test/", body: .text("x"))
        #expect(response.exchanges.last?.remote.address == HTTPDNSAddress(v4: 203, 0, 113, 9))
        #expect(rig.wire.requests.count == 2 && rig.provider.queries.count == 2)
        // It stays known: the next request asks nobody.
        _ = try await rig.client.get("https://one.test/")
        #expect(rig.provider.queries.count == 2)
    }

    @Test("A retry asks again for the addresses of a redirected hop")
    func freshResolveBehindARedirect() async throws {
        let wire = ScriptedWire { request, _ in
            if request.url.hostText == "one.test" { return .redirect(302, to: "https://two.test/", from: request) }
            if request.endpoints[0].address == HTTPDNSAddress(v4: 203, 0, 113, 2) { throw Self.refused }
            return .ok(from: request)
        }
        let rig = try Rig(wire: wire) { $0.retries = Self.atOnce }
        _ = try await rig.client.resolve("two.test")
        rig.clock.advance(by: .seconds(5))
        let moved = HTTPDNSProviderAnswer.addresses([HTTPDNSAddress(v4: 203, 0, 113, 9)], timeToLive: .seconds(30))
        rig.provider.answer(.answer(moved), for: try HTTPDNSName("two.test"))
        let response = try await rig.client.get("https://one.test/")
        #expect(response.exchanges.last?.remote.address == HTTPDNSAddress(v4: 203, 0, 113, 9))
        #expect(rig.provider.queries.count == 3 && rig.wire.requests.count == 3)
    }

    @Test("A retry asks the system resolver again where it replaces a provider")
    func freshSystemPath() async throws {
        let host = try HTTPDNSName("one.test")
        let wire = ScriptedWire { request, _ in
            guard request.endpoints[0].address == HTTPDNSAddress(v4: 203, 0, 113, 52) else { throw Self.refused }
            return .ok(from: request)
        }
        let rig = try Rig(wire: wire) {
            $0.retries = Self.atOnce
            $0.resolver.routes = [HTTPDNSRoute(try .init("*.test"), .providers(["scripted"], fallback: .system))]
        }
        rig.system.answer(.success([HTTPDNSAddress(v4: 203, 0, 113, 51)]), for: host)
        _ = try await rig.client.resolve("one.test") { $0.addresses = .system }
        rig.clock.advance(by: .seconds(5))
        rig.system.answer(.success([HTTPDNSAddress(v4: 203, 0, 113, 52)]), for: host)
        let exchange = try await rig.client.get("https://one.test/").exchanges.last
        #expect(exchange?.remote.address == HTTPDNSAddress(v4: 203, 0, 113, 52) && exchange?.usedSystemFallback == true)
        #expect(rig.system.questions == [host, host] && rig.wire.requests.count == 4)
    }

    @Test("A status causes no new query for addresses")
    func statusAsksNobody() async throws {
        let rig = try await rigThatMoved { request, number in
            .ok(from: request, status: number == 0 ? .badGateway : .ok)
        }
        #expect(try await rig.client.get("https://one.test/").status == .ok)
        #expect(rig.provider.queries.count == 1 && rig.wire.requests.count == 2)
    }

    @Test("A known answer serves on when the provider fails during a retry")
    func freshResolveFails() async throws {
        let rig = try await rigThatMoved { request, number in
            if number == 0 { throw Self.refused }
            return .ok(from: request)
        }
        let broken = HTTPDNSProviderError(code: .serverFailure, message: "broken")
        rig.provider.answer(.failure(broken), for: try HTTPDNSName("one.test"))
        let response = try await rig.client.get("https://one.test/")
        #expect(response.exchanges.last?.remote.address == HTTPDNSAddress(v4: 203, 0, 113, 1))
        #expect(rig.provider.queries.count == 2 && response.exchanges.last?.request.resolution.isStale == false)
    }

    /// The answer is new enough for all.
    @Test("A hundred requests that fail together share one new question")
    func storm() async throws {
        let rig = try await rigThatMoved { request, _ in
            if request.endpoints[0].address == HTTPDNSAddress(v4: 203, 0, 113, 1) { throw Self.refused }
            return .ok(from: request)
        }
        try await concurrently(100) { _ in
            let response = try await rig.client.get("https://one.test/")
            #expect(response.status == .ok)
        }
        #expect(rig.provider.queries.count == 2)
    }
}
