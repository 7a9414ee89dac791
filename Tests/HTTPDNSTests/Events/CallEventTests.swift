// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

import HTTPDNSCurl
import HTTPDNSTesting
import ServerRig
import Testing

@testable import HTTPDNS

struct CallEventTests {
    private typealias Request = HTTPDNSClient.Request
    private struct Refused: Error {}

    private static let hop = "resolved connecting connected request-sent response-head"

    /// A call without a wait, and the events that it must have.
    struct Scenario: Sendable, CustomTestStringConvertible {
        var testDescription: String
        var url = "https://one.test/"
        var outcome = HTTPDNSClient.CallRecord.Outcome.finished
        var events: String
        /// The numbers of hops, of redirects and of retries.
        var counts = [1, 0, 0]
        var configure: @Sendable (inout HTTPDNSClient.Configuration) -> Void = { _ in }
        var script: ScriptedWire.Script = { request, _ in .ok(from: request) }
    }

    private static func answer(_ text: String) -> HTTPDNSClient.Response {
        HTTPDNSClient.Response(head: HTTPResponse(status: .ok), body: .bytes(Array(text.utf8)))
    }

    private static let failure = TransferFailure(code: .connectFailed, phase: .connect, message: "scripted")

    private static let scenarios = [
        Scenario(testDescription: "success", events: "started \(hop) body-progress finished"),
        Scenario(
            testDescription: "empty body",
            events: "started \(hop) finished",
            script: { request, _ in .ok(from: request, chunks: []) }
        ),
        Scenario(
            testDescription: "failure",
            outcome: .failed,
            events: "started resolved failed",
            script: { _, _ in throw failure }
        ),
        Scenario(
            testDescription: "failure of the body",
            outcome: .failed,
            events: "started \(hop) body-progress failed",
            script: { request, _ in .ok(from: request, endingWith: failure) }
        ),
        Scenario(
            testDescription: "name without an address",
            url: "https://none.test/",
            outcome: .failed,
            events: "started failed"
        ),
        Scenario(testDescription: "unreadable URL", url: "https://", outcome: .failed, events: "started failed"),
        Scenario(
            testDescription: "redirect",
            events: "started \(hop) redirect \(hop) body-progress finished",
            counts: [2, 1, 0],
            script: { request, number in
                number > 0
                    ? .ok(from: request)
                    : .ok(from: request, status: .found, fields: [.location: "https://two.test/"], chunks: [])
            }
        ),
        Scenario(
            testDescription: "refused redirect",
            outcome: .failed,
            events: "started \(hop) failed",
            script: { request, _ in
                .ok(from: request, status: .found, fields: [.location: "http://two.test/"], chunks: [])
            }
        ),
        Scenario(
            testDescription: "retry after a status",
            events: "started \(hop) retry \(hop) body-progress finished",
            counts: [2, 0, 1],
            configure: { $0.retries = atOnce },
            script: { request, number in .ok(from: request, status: number == 0 ? .serviceUnavailable : .ok) }
        ),
        Scenario(
            testDescription: "retry after a failure",
            outcome: .failed,
            events: "started resolved retry resolved failed",
            counts: [2, 0, 1],
            configure: {
                $0.retries = atOnce
                $0.retries.limit = 1
            },
            script: { _, _ in throw failure }
        ),
        Scenario(
            testDescription: "handler of a scheme",
            url: "app:settings",
            events: "started response-head body-progress finished",
            configure: { $0.schemeHandlers["app"] = { _ in answer("x") } }
        ),
        Scenario(
            testDescription: "innermost interceptor",
            events: "started response-head body-progress finished",
            configure: { $0.innermost = Around { _, _, _ in answer("x") } }
        ),
        Scenario(
            testDescription: "application interceptor that answers",
            events: "started response-head body-progress finished",
            configure: { $0.applicationInterceptors = [Around { _, _, _ in answer("x") }] }
        ),
        Scenario(
            testDescription: "application interceptor that fails",
            outcome: .failed,
            events: "started failed",
            counts: [0, 0, 0],
            configure: { $0.applicationInterceptors = [Around { _, _, _ in throw Refused() }] }
        ),
        Scenario(
            testDescription: "network interceptor that fails",
            outcome: .failed,
            events: "started failed",
            configure: { $0.networkInterceptors = [Around { _, _, _ in throw Refused() }] }
        ),
        Scenario(
            testDescription: "network interceptor that sends twice",
            events: "started \(hop) \(hop) body-progress finished",
            counts: [2, 0, 0],
            configure: {
                $0.networkInterceptors = [
                    Around { request, context, next in
                        _ = try await next(request, context)
                        return try await next(request, context)
                    }
                ]
            }
        ),
    ]

    private static var atOnce: HTTPDNSClient.RetryPolicy {
        var policy = HTTPDNSClient.RetryPolicy()
        policy.delay = .zero
        return policy
    }

    @Test("Each call has the events of its path in order, one of them terminal", arguments: scenarios)
    func contract(_ scenario: Scenario) async throws {
        let rig = try Rig(wire: ScriptedWire(scenario.script), configure: scenario.configure)
        let observed = ObservedEvents()
        let live = rig.client.requestEvents.makeAsyncIterator()
        var request = Request(url: scenario.url)
        observed.observe(&request, of: rig.client)
        let error = await rig.client.outcome(of: request)
        let events = await observed.all()
        #expect(events.text == scenario.events)
        #expect(events.map(\.time) == events.map(\.time).sorted() && Set(events.map(\.callID)).count == 1)
        #expect(events.count { $0.kind.isTerminal } == 1 && events.last?.kind.isTerminal == true)
        #expect((error == nil) == (scenario.outcome == .finished))

        // The live events are the same, and end with the client.
        try await rig.client.shutdown()
        #expect(await rest(of: live).text == scenario.events)

        let record = try #require(observed.record)
        #expect(record.outcome == scenario.outcome && record.callID == events[0].callID)
        #expect([record.hops.count, record.redirects, record.retries] == scenario.counts)
        #expect(record.error?.code == (error as? HTTPDNSClientError)?.code)
        #expect(record.error?.code == events.last?.error?.code)
        #expect(record.isBodyComplete == (error == nil))
        let inProcess = events.contains(where: \.isAnsweredInProcess)
        #expect(record.hops.contains(where: \.isAnsweredInProcess) == inProcess)
        #expect(record.hops.allSatisfy { ($0.exchange == nil) == ($0.isAnsweredInProcess || $0.error != nil) })
    }

    private func rest(of iterator: HTTPDNSClient.RequestEvents.Iterator) async -> [HTTPDNSClient.RequestEvent] {
        var (iterator, events) = (iterator, [HTTPDNSClient.RequestEvent]())
        while let event = await iterator.next() { events.append(event) }
        return events
    }

    @Test("A call that is canceled while it resolves ends with that")
    func canceledResolving() async throws {
        let rig = try Rig()
        rig.provider.hold()
        let text = try await canceled(rig) { await rig.provider.queries(atLeast: 1) }
        #expect(text == "started canceled")
    }

    @Test("A call that is canceled while it waits for a connection ends with that")
    func canceledWaiting() async throws {
        let first = Gate()
        let rig = try Rig(
            wire: ScriptedWire { request, _ in
                await first.passage()
                return .ok(from: request)
            }
        ) { $0.connections.maximumPerHost = 1 }
        let holder = Task { await rig.client.outcome(of: Request(url: "https://one.test/")) }
        while rig.wire.requests.isEmpty { await Task.yield() }
        let text = try await canceled(rig) {
            while rig.client.requestsWaiting == 0 { await Task.yield() }
        }
        #expect(text == "started resolved canceled")
        first.open()
        #expect(await holder.value == nil)
    }

    @Test("A call that is canceled between two tries ends with that")
    func canceledBetweenTries() async throws {
        let rig = try Rig(
            wire: ScriptedWire { request, _ in .ok(from: request, status: .serviceUnavailable, chunks: []) }
        ) {
            $0.retries = .standard
            $0.random = { 1 }
        }
        var events = rig.client.requestEvents.makeAsyncIterator()
        // The event comes before the wait.
        let text = try await canceled(rig) { while let event = await events.next(), event.kind != .retry {} }
        #expect(text == "started \(CallEventTests.hop) retry canceled")
    }

    /// Cancels a call in a phase, and returns its events.
    private func canceled(_ rig: Rig, in phase: () async -> Void) async throws -> String {
        let observed = ObservedEvents()
        var request = Request(url: "https://one.test/")
        observed.observe(&request, of: rig.client)
        let call = Task { [request] in await rig.client.outcome(of: request) }
        await phase()
        call.cancel()
        #expect(await call.value is CancellationError)
        let text = await observed.text()
        let record = try #require(observed.record)
        #expect(record.outcome == .canceled && record.error == nil)
        return text
    }

    @Test("A response that is released unread ends its call, which is no failure", arguments: [false, true])
    func released(isBegun: Bool) async throws {
        let rig = try Rig(wire: ScriptedWire { request, _ in .ok(from: request, chunks: [[1], [2], [3]]) })
        let observed = ObservedEvents()
        var request = Request(url: "https://one.test/")
        observed.observe(&request, of: rig.client)
        var response: HTTPDNSClient.Response? = try await rig.client.execute(request)
        #expect(observed.recordCount == 0)
        if isBegun {
            var iterator = response?.body.makeAsyncIterator()
            _ = try await iterator?.next()
            // A body that is being read ends with its iterator.
            iterator = nil
        } else {
            response = nil
        }
        let end = isBegun ? "body-progress finished" : "finished"
        #expect(await observed.text() == "started \(CallEventTests.hop) \(end)")
        let record = try #require(observed.record)
        #expect(record.outcome == .finished && !record.isBodyComplete && record.status == .ok)
        #expect(record.bodyBytes == (isBegun ? 1 : 0))
        withExtendedLifetime(response) {}
    }

    @Test("Events have the facts of their kinds, and no secret")
    func facts() async throws {
        let wire = ScriptedWire { request, number in
            number > 0
                ? .ok(from: request)
                : .ok(from: request, status: .found, fields: [.location: "https://two.test/b?k=hidden"], chunks: [])
        }
        let rig = try Rig(wire: wire)
        let observed = ObservedEvents()
        var request = Request(url: "https://me:hidden@one.test/a?k=hidden", headerFields: [.cookie: "k=hidden"])
        observed.observe(&request, of: rig.client)
        #expect(await rig.client.outcome(of: request) == nil)
        let events = await observed.all()
        #expect(events[0].method == .get && events[0].url == "https://one.test/a")
        let resolved = events.filter { $0.kind == .resolved }
        #expect(resolved.map(\.source) == [.provider, .provider])
        #expect(resolved.map { $0.addresses.map(\.description) } == [["203.0.113.1:443"], ["203.0.113.2:443"]])
        let redirect = try #require(events.first { $0.kind == .redirect })
        #expect(redirect.status == .found && redirect.url == "https://two.test/b" && redirect.hop == 0)
        let heads = events.filter { $0.kind == .responseHead }
        #expect(heads.map(\.hop) == [0, 1] && heads.map(\.status) == [.found, .ok])
        #expect(heads.map(\.endpoint) == [resolved[0].addresses[0], resolved[1].addresses[0]])
        #expect(events.first { $0.kind == .bodyProgress }?.progress?.bytes == 5)
        let record = try #require(observed.record)
        #expect(record.hops.map(\.url) == ["https://one.test/a", "https://two.test/b"])
        #expect(record.hops.map(\.number) == [0, 1] && record.bodyBytes == 5)
        var text = "\(events) \(record)"
        dump(events, to: &text)
        dump(record, to: &text)
        #expect(!text.contains("hidden"))
    }

    @Test("A canceled hop has its own time, and one that was never begun is marked")
    func canceledHops() throws {
        func time(_ nanoseconds: Int64) -> MonotonicTime { MonotonicTime(nanoseconds: nanoseconds) }
        let request = Request(url: "https://one.test/")
        var log = CallLog(1, request, at: time(0))
        log.note(.hopEnded(0, request, since: time(10), .failure(CancellationError())), at: time(15))
        let sending = log.beginSending(1, request, at: time(20))
        log.note(.failed(sending, CancellationError()), at: time(27))
        log.note(.hopEnded(1, request, since: time(20), .failure(CancellationError())), at: time(28))
        let ended = log.end(.whole(decoded: nil), at: time(100))
        let record = try #require(ended)
        #expect(record.hops.map(\.cancellation) == [.nanoseconds(5), .nanoseconds(7)])
        #expect(record.hops.map(\.isUnsent) == [true, false] && record.hops.allSatisfy { $0.duration == nil })
    }

    @Test("A record keeps the first and the last 64 hops of a long wait")
    func boundedHops() throws {
        func time(_ nanoseconds: Int) -> MonotonicTime { MonotonicTime(nanoseconds: Int64(nanoseconds)) }
        let request = Request(url: "https://one.test/")
        var log = CallLog(1, request, at: time(0), bodyLimit: 0)
        var sendings: [Int] = []
        for number in 0..<200 {
            let sending = log.beginSending(number, request, at: time(number))
            sendings.append(sending)
            log.note(.waited(sending, since: time(0)), at: time(number + 1))
            log.note(.failed(sending, Refused()), at: time(number))
            log.note(.hopEnded(number, request, since: time(number), .failure(Refused())), at: time(number))
        }
        #expect(sendings == Array(0..<200))
        // Late notes of one that is left out, and of one that is kept.
        for sending in [100, 150] { log.note(.waited(sending, since: time(0)), at: time(1_000)) }
        let ended = log.end(.failed(Refused()), at: time(1_000))
        let record = try #require(ended)
        #expect(record.hops.map(\.number) == Array(0..<64) + Array(136..<200) && record.hopsLeftOut == 72)
        for hop in record.hops {
            let wait = Duration.nanoseconds(hop.number + (hop.number == 150 ? 1_001 : 1))
            #expect(hop.queueWait == wait && hop.error != nil)
        }
        #expect(record.hops.allSatisfy { $0.messages != nil } && record.description.hasSuffix(", 200 hops"))
        var counters = HTTPDNSClient.CallCounters()
        counters.add(record)
        #expect(counters.hops == 200)
    }

    @Test("Recorders start and stop beside each other, and their counters are exact")
    func recorders() async throws {
        let rig = try Rig(
            wire: ScriptedWire { request, _ in
                switch request.url.description {
                case let url where url.hasSuffix("/0"): throw CallEventTests.failure
                case let url where url.hasSuffix("/1"): throw CancellationError()
                default: .ok(from: request)
                }
            }
        )
        let (one, two) = (Journal<HTTPDNSClient.CallRecord>(), Journal<HTTPDNSClient.CallRecord>())
        let first = rig.client.recordCalls { one.write($0) }
        let second = rig.client.recordCalls { two.write($0) }
        func calls() async throws {
            try await concurrently(200) { number in
                _ = await rig.client.outcome(of: Request(url: "https://one.test/\(number % 4)"))
            }
        }
        try await calls()
        first.stop()
        first.stop()
        try await calls()
        second.stop()
        try await calls()
        #expect(one.all.count == 200 && two.all.count == 400)
        let counters = first.counters
        #expect(counters.calls == 200 && counters.finished == 100 && counters.failed == 50 && counters.canceled == 50)
        #expect(second.counters.calls == 400 && second.counters.hops == 400)
        #expect(Set(two.all.map(\.callID)).count == 400)
    }
}
