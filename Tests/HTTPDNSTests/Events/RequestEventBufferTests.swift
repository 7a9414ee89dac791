// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

import HTTPDNSPrimitives
import Testing

@testable import HTTPDNS
@testable import HTTPDNSCore

struct RequestEventBufferTests {
    private typealias Kind = HTTPDNSClient.RequestEvent.Kind
    private typealias Event = HTTPDNSClient.RequestEvent
    private typealias Buffer = EventBuffer<Event, Int>

    private func event(_ kind: Kind, of call: UInt64, bytes: Int64? = nil) -> Event {
        var event = Event(kind, callID: call, at: .now)
        event.progress = bytes.map { HTTPDNSClient.Progress(bytes: $0, total: nil, isComplete: false) }
        return event
    }

    /// The events that are taken without a wait.
    private func taken(_ buffer: inout Buffer) -> [Event] {
        var events: [Event] = []
        while case .event(let delivery) = buffer.take(orWaitAs: 0) { events.append(delivery.event) }
        return events
    }

    /// A call on its way into a buffer.
    private struct Call {
        let id: UInt64
        var isLost = false

        mutating func send(_ event: Event, to buffer: inout Buffer) {
            guard !isLost else { return }
            if case .lost = buffer.offer(event, isLast: event.kind.isTerminal) { isLost = true }
        }
    }

    @Test("A full buffer loses whole calls: the lost and the delivered are all calls", arguments: [1, 2, 7, 64, 4096])
    func loss(limit: Int) {
        var buffer = Buffer(limit: limit, losing: .group)
        var random = SystemRandomNumberGenerator()
        var calls: [Call] = []
        var events: [Event] = []
        var lost = 0
        for id in 0..<1000 {
            let isOpen = buffer.open()
            #expect(isOpen)
            calls.append(Call(id: UInt64(id)))
        }
        for kind in [Kind.started, .resolved, .responseHead, .finished] {
            for index in calls.indices {
                calls[index].send(event(kind, of: calls[index].id), to: &buffer)
                guard buffer.count > 0, Int.random(in: 0..<3, using: &random) == 0 else { continue }
                guard case .event(let delivery) = buffer.take(orWaitAs: 0) else { continue }
                events.append(delivery.event)
                lost = delivery.lost
            }
        }
        let left = buffer.end()
        #expect(left.isEmpty)
        while case .event(let delivery) = buffer.take(orWaitAs: 0) {
            events.append(delivery.event)
            lost = delivery.lost
        }
        let delivered = events.count { $0.kind == .finished }
        #expect(delivered + buffer.lost == 1000)
        #expect(buffer.lost == calls.count { $0.isLost } && lost == buffer.lost)
        #expect((buffer.lost == 0) == (limit == 4096))
        // A call is lost from one event on, and has all events before it.
        for (_, own) in Dictionary(grouping: events, by: \.callID) {
            #expect(own.map(\.kind) == Array([Kind.started, .resolved, .responseHead, .finished].prefix(own.count)))
        }
        guard case .ended = buffer.take(orWaitAs: 0) else {
            Issue.record("the buffer has not ended")
            return
        }
    }

    @Test("Progress that waits is replaced by later progress of its call")
    func merging() async {
        let queue = EventQueue.ofCalls(limit: 8)
        #expect(queue.open() && queue.open())
        var (one, two) = (EventFeed(queue), EventFeed(queue))
        for bytes in 1...100 {
            _ = one.send(event(.bodyProgress, of: 1, bytes: Int64(bytes)))
            _ = two.send(event(.bodyProgress, of: 2, bytes: Int64(bytes * 2)))
        }
        _ = one.send(event(.requestBodyProgress, of: 1, bytes: 7))
        _ = one.send(event(.bodyProgress, of: 1, bytes: 101))
        _ = one.send(event(.finished, of: 1))
        _ = two.send(event(.bodyProgress, of: 2, bytes: 201))
        _ = two.send(event(.finished, of: 2))
        queue.end()
        #expect(queue.lost == 0)
        var events: [Event] = []
        while let event = await queue.next() { events.append(event) }
        #expect(events.map(\.callID) == [1, 2, 1, 1, 1, 2])
        #expect(events.compactMap(\.progress?.bytes) == [100, 201, 7, 101])
    }

    @Test("A waiting subscriber gets the event, and nil at the end")
    func waiting() {
        var buffer = Buffer(limit: 1, losing: .group)
        let isOpen = buffer.open()
        #expect(isOpen)
        guard case .waiting = buffer.take(orWaitAs: 5),
            case .delivered(5, let delivery) = buffer.offer(event(.started, of: 1))
        else {
            Issue.record("the waiter got no event")
            return
        }
        let more = taken(&buffer)
        #expect(delivery.event.kind == .started && more.isEmpty)
        // The call is not over, so the end has to wait for it.
        let (left, takesMore) = (buffer.end(), buffer.open())
        #expect(left.isEmpty && !takesMore)
        _ = buffer.offer(event(.canceled, of: 1), isLast: true)
        #expect(buffer.count == 0 && buffer.lost == 0)
    }

    @Test("A buffer whose subscriber has left takes nothing")
    func closed() {
        var buffer = Buffer(limit: 4, losing: .group)
        let isOpen = buffer.open()
        #expect(isOpen)
        _ = buffer.offer(event(.started, of: 1))
        let left = buffer.close()
        #expect(left.isEmpty && buffer.count == 0)
        guard case .closed = buffer.offer(event(.finished, of: 1), isLast: true) else {
            Issue.record("the buffer is open")
            return
        }
        let takesMore = buffer.open()
        #expect(!takesMore && buffer.lost == 0)
    }
}
