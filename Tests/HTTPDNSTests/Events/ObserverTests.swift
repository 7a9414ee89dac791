// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

import ServerRig
import Testing

@testable import HTTPDNS

struct ObserverTests {
    private typealias Request = HTTPDNSClient.Request

    /// An observer that keeps what it gets.
    private struct Keeping: DetailedObserver {
        var kinds: Set<HTTPDNSClient.RequestEvent.Kind>? = []
        var bodyLimit: Int?
        var lost: [String: Int] { [:] }
        let events = ObservedEvents()
        let records = Journal<HTTPDNSClient.CallRecord>()

        func observe(_ event: HTTPDNSClient.RequestEvent) async { events.note(event) }
        func callEnded(_ call: HTTPDNSClient.CallRecord) { records.write(call) }
    }

    @Test("An observer gets the events that it names, the last one, and each record")
    func events() async throws {
        let (some, all) = (Keeping(kinds: [.resolved, .responseHead]), Keeping(kinds: nil))
        let rig = try Rig { $0.observers = [some, all] }
        #expect(await rig.client.outcome(of: Request(url: "https://one.test/")) == nil)
        #expect(await some.events.text() == "resolved response-head finished")
        #expect(await all.events.all().count == 8)
        for observer in [some, all] { #expect(observer.records.all.map(\.outcome) == [.finished]) }
    }

    @Test("Events that nothing wants are not made")
    func unwanted() {
        let (request, start) = (Request(url: "https://one.test/"), MonotonicTime(nanoseconds: 0))
        var log = CallLog(1, request, at: start, making: [.redirect, .failed])
        for fact in [CallFact.began, .redirected(.found, to: request)] { log.note(fact, at: start) }
        _ = log.end(.failed(CancellationError()), at: start)
        #expect(log.takeEvents().map(\.kind) == [.redirect])
    }

    /// The log lives as long as the response.
    @Test("After the end of a call, its log keeps no request")
    func ended() {
        final class Body: AsyncSequence, AsyncIteratorProtocol, Sendable {
            func next() async throws -> [UInt8]? { nil }
            func makeAsyncIterator() -> Body { self }
        }
        weak var kept: Body?
        let start = MonotonicTime(nanoseconds: 0)
        func log() -> (CallLog, hasRecord: Bool) {
            let body = Body()
            kept = body
            let request = Request(method: .post, url: "https://one.test/", body: .stream(body))
            var log = CallLog(1, request, at: start, making: [], bodyLimit: 0)
            _ = log.beginSending(1, request, at: start)
            log.note(.hopEnded(1, request, since: start, .failure(CancellationError())), at: start)
            let record = log.end(.failed(CancellationError()), at: start)
            return (log, record?.hops.first?.messages != nil && kept != nil)
        }
        let (log, hasRecord) = log()
        withExtendedLifetime(log) { #expect(hasRecord && kept == nil) }
    }

    @Test("A body that has arrived whole ends its call once, however it is read", arguments: [true, false])
    func arrivedWhole(isCollected: Bool) async throws {
        let server = try RawServer(.readHead, .respond("hello"))
        let (client, observer) = (try await mappedClient(server.port), Keeping(kinds: nil))
        client.addObserver(observer)
        let body = try await client.get("http://one.test/").body
        while body.summary == nil, !Task.isCancelled { await Task.yield() }
        if isCollected {
            #expect(try await body.collect(upTo: .bytes(5)) == Array("hello".utf8))
        } else {
            var chunks: [[UInt8]] = []
            for try await chunk in body { chunks.append(chunk) }
            #expect(chunks == [Array("hello".utf8)])
        }
        #expect(await clientError { try await body.collect(upTo: .bytes(5)) }?.code == .bodyConsumedTwice)
        #expect(observer.records.all.map(\.outcome) == [.finished])
        let record = try #require(observer.records.all.first)
        #expect(record.isBodyComplete && record.bodyBytes == 5 && record.hops.first?.decodedBodyBytes == 5)
        #expect(await observer.events.text().hasSuffix("response-head body-progress finished"))
        try await client.shutdown()
    }

    @Test("A stopped observer gets no event and no record of a call in progress")
    func stopped() async throws {
        let (asked, answered) = (Gate(), Gate())
        let wire = ScriptedWire(opening: asked, holding: answered)
        let (rig, stopped, other) = (try Rig(wire: wire), Keeping(kinds: [.responseHead]), Keeping(kinds: nil))
        let observation = rig.client.addObserver(stopped)
        rig.client.addObserver(other)
        let call = Task { await rig.client.outcome(of: Request(url: "https://one.test/")) }
        await asked.passage()
        observation.stop()
        answered.open()
        #expect(await call.value == nil)
        #expect(await other.events.all().last?.kind == .finished && other.records.all.count == 1)
        #expect(stopped.events.count == 0 && stopped.records.all.isEmpty && observation.counters.calls == 0)
    }

    @Test("Only observers that ask for details get them, and a record shows none of them")
    func details() async throws {
        let (plain, detailed) = (Keeping(), Keeping(bodyLimit: 2))
        let wire = ScriptedWire { request, _ in .ok(from: request, fields: [.setCookie: "hidden"]) }
        let rig = try Rig(wire: wire) { $0.observers = [plain, detailed] }
        #expect(await rig.client.outcome(of: Request(url: "https://one.test/")) == nil)
        let (record, other) = (try #require(detailed.records.all.first), try #require(plain.records.all.first))
        let (details, hop) = (try #require(record.details), try #require(record.hops.first))
        #expect(hop.messages?.response?.headerFields[.setCookie] == "hidden" && details.bodyStart.count == 2)
        var text = ""
        dump(record, to: &text)
        #expect(other.details == nil && other.hops.first?.messages == nil && !text.contains("hidden"))
    }
}
