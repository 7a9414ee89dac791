// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

import Glibc
import HTTPDNS
import HTTPDNSCurl
import ServerRig
import Testing

struct SlowObserverTests {
    private typealias Request = HTTPDNSClient.Request

    /// Makes calls, 16 at a time.
    private func call(_ client: HTTPDNSClient, times count: Int, _ change: (inout Request) -> Void = { _ in }) async {
        var request = Request(url: "http://one.test/")
        change(&request)
        await withTaskGroup(of: Void.self) { [request] tasks in
            for number in 0..<count {
                if number >= 16 { await tasks.next() }
                tasks.addTask { #expect(await client.outcome(of: request) == nil) }
            }
        }
    }

    @Test("An observer that takes a second for each event delays no request")
    func slow() async throws {
        let server = try RawServer(.serve("hello"))
        let client = try await mappedClient(server.port)
        let (isOver, seen) = (Gate(), Journal<HTTPDNSClient.RequestEvent>())
        let start = ContinuousClock.now
        await call(client, times: 100) { request in
            request.observer = { event in
                seen.write(event)
                // It blocks its thread, as a bad observer does.
                if !isOver.isOpen { usleep(1_000_000) }
            }
        }
        // 100 calls have about 700 events.
        #expect(ContinuousClock.now - start < .seconds(400))
        #expect(seen.all.count < 500)
        isOver.open()
        try await client.shutdown()
    }

    @Test("No observer runs on the thread of the loop, or on a thread of the runtime")
    func thread() async throws {
        let server = try RawServer(.serve("hello"))
        let client = try await mappedClient(server.port)
        let (names, over) = (Journal<String>(), Gate())
        let recorded = Journal<String>()
        client.recordCalls { _ in recorded.write(ProcessState.threadName()) }
        await call(client, times: 1) { request in
            request.observer = { event in
                names.write(ProcessState.threadName())
                if event.kind.isTerminal { over.open() }
            }
        }
        await over.passage()
        #expect(Set(names.all) == ["httpdns-events"])
        #expect(recorded.all.count == 1 && recorded.all.allSatisfy { !$0.hasPrefix("httpdns-loop") })
        try await client.shutdown()
    }

    @Test("A subscriber that does not read loses calls, and knows their number")
    func subscriber() async throws {
        let server = try RawServer(.serve("hello"))
        let client = try await mappedClient(server.port)
        var events = client.requestEvents.buffered(upTo: 64).makeAsyncIterator()
        let recording = client.recordCalls { _ in }
        await call(client, times: 300)
        try await client.shutdown()
        var delivered = 0
        while let event = await events.next() { delivered += event.kind.isTerminal ? 1 : 0 }
        #expect(recording.counters.calls == 300 && recording.counters.finished == 300)
        #expect(delivered > 0 && events.lostCalls > 0 && delivered + events.lostCalls == 300)
    }

    @Test(
        "Observers that block at full load cost at most 16 MiB",
        .enabled("needs its process for itself: HTTPDNS_TEST_ALONE=1") { ServerRig.hasProcessForItself }
    )
    func memory() async throws {
        let server = try RawServer(.serve("hello"))
        let client = try await mappedClient(server.port)
        let (isOver, ended) = (Monitor(false), Journal<UInt64>())
        // The first calls set up what any number of calls needs.
        await call(client, times: 2000)
        let before = try ProcessState.residentBytes()
        let events = client.requestEvents.makeAsyncIterator()
        await call(client, times: 20_000) { request in
            request.observer = { event in
                _ = isOver.wait(until: SystemTimeSource().now() + .seconds(600)) { $0 ? true : nil }
                if event.kind.isTerminal { ended.write(event.callID) }
            }
        }
        let growth = try ProcessState.residentBytes() - before
        #expect(growth < 16 << 20)
        isOver.change { $0 = true }
        try await client.shutdown()
        #expect(events.lostCalls > 10_000)
        // What waited is delivered, and no more.
        while ended.all.isEmpty { await Task.yield() }
        #expect(ended.all.count <= 4096)
    }
}
