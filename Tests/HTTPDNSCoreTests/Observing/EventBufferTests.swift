// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

import Testing

@testable import HTTPDNSCore

struct EventBufferTests {
    private func drain(_ buffer: inout EventBuffer<Int, String>) -> [(event: Int, missed: Int)] {
        var all: [(event: Int, missed: Int)] = []
        while case .event(let delivery) = buffer.take(orWaitAs: "last") {
            all.append((delivery.event, delivery.lost))
        }
        return all
    }

    @Test("Events come out in order, however full the buffer was before", arguments: 1...5, 0...12)
    func order(limit: Int, count: Int) {
        var buffer = EventBuffer<Int, String>(limit: limit, losing: .oldest)
        var expected: [Int] = []
        // Half of it is taken out in between, so that the ring turns.
        for round in 0..<3 {
            for number in 0..<count {
                guard case .stored = buffer.offer(round * 100 + number) else {
                    Issue.record("the buffer did something else")
                    return
                }
                expected.append(round * 100 + number)
            }
            expected = Array(expected.suffix(limit))
            for _ in 0..<expected.count / 2 {
                guard case .event(let delivery) = buffer.take(orWaitAs: "nobody") else {
                    Issue.record("the buffer did something else")
                    return
                }
                #expect(delivery.event == expected.removeFirst())
            }
        }
        #expect(drain(&buffer).map(\.event) == expected)
    }

    @Test("A full buffer loses its oldest events, and the next event has their number")
    func missed() {
        var buffer = EventBuffer<Int, String>(limit: 3, losing: .oldest)
        for number in 0..<8 { _ = buffer.offer(number) }
        let taken = drain(&buffer)
        #expect(taken.map(\.event) == [5, 6, 7])
        #expect(taken.map(\.missed) == [5, 0, 0])
    }

    /// An event that was delivered is not kept.
    @Test("A waiting reader gets the next event, the longest waiting one first")
    func waiting() {
        var buffer = EventBuffer<Int, String>(limit: 3, losing: .oldest)
        guard case .waiting = buffer.take(orWaitAs: "first"),
            case .waiting(let second) = buffer.take(orWaitAs: "second")
        else {
            Issue.record("the buffer did something else")
            return
        }
        guard case .delivered("first", let delivery) = buffer.offer(1) else {
            Issue.record("the waiting reader got nothing")
            return
        }
        #expect(delivery.event == 1)
        #expect(buffer.cancel(second) == "second")
        #expect(buffer.cancel(second) == nil)
        _ = buffer.offer(2)
        #expect(drain(&buffer).map(\.event) == [2])
    }

    /// Waiting readers are released.
    @Test("After the end buffered events can be taken, and new ones are refused")
    func end() {
        var buffer = EventBuffer<Int, String>(limit: 3, losing: .oldest)
        _ = buffer.offer(1)
        #expect(buffer.end().isEmpty)
        _ = buffer.offer(2)
        #expect(drain(&buffer).map(\.event) == [1])
        guard case .ended = buffer.take(orWaitAs: "late") else {
            Issue.record("the buffer did something else")
            return
        }
        var other = EventBuffer<Int, String>(limit: 3, losing: .oldest)
        _ = other.take(orWaitAs: "waiting")
        #expect(other.end() == ["waiting"])
        #expect(other.end().isEmpty)
    }
}
