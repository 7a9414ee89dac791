// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

import HTTPDNSTesting
import Testing

@testable import HTTPDNS

struct RateQueueTests {
    /// Bytes per second; a portion is 100 bytes.
    private static let rate = 800
    private static let portion = 100
    private let begin = MonotonicTime(nanoseconds: 1_000_000_000_000)

    private func part(
        _ bytes: Int = portion,
        left: Int64? = 100,
        start: Duration = .zero,
        until deadline: Duration? = nil
    ) -> RateQueue.Portion {
        RateQueue.Portion(bytes: bytes, left: left, start: begin + start, deadline: deadline.map { begin + $0 })
    }

    /// Bodies that arrive evenly, each with a time limit, as their readers would read them.
    private struct Load {
        private struct Body {
            var left: Int
            let start: MonotonicTime
        }

        let size: Int
        let limit: Duration
        /// The time between two arrivals.
        let gap: Duration
        private var queue = RateQueue(bytesPerSecond: RateQueueTests.rate)
        private var bodies: [RateQueue.Ticket: Body] = [:]
        private var turn: (ticket: RateQueue.Ticket, end: MonotonicTime)?
        private(set) var ended = 0
        private(set) var passed = 0

        init(size: Int, limit: Duration, gap: Duration) {
            (self.size, self.limit, self.gap) = (size, limit, gap)
        }

        mutating func run(from begin: MonotonicTime, for time: Duration) {
            var arrival = begin
            while true {
                if let (ticket, end) = turn, end <= arrival {
                    guard end < begin + time else { return }
                    turn = nil
                    note(queue.leave(ticket, at: end))
                    guard var body = bodies.removeValue(forKey: ticket) else { continue }
                    body.left -= RateQueueTests.portion
                    passed += RateQueueTests.portion
                    // One that ends too late is lost to its caller.
                    if body.left > 0 { add(body, at: end) } else if end <= body.start + limit { ended += 1 }
                } else {
                    guard arrival < begin + time else { return }
                    add(Body(left: size, start: arrival), at: arrival)
                    arrival = arrival + gap
                }
            }
        }

        private mutating func add(_ body: Body, at now: MonotonicTime) {
            let portion = RateQueue.Portion(
                bytes: RateQueueTests.portion,
                left: Int64(body.left),
                start: body.start,
                deadline: body.start + limit
            )
            let (ticket, events) = queue.enter(portion, at: now)
            bodies[ticket] = body
            note(events)
        }

        private mutating func note(_ events: [RateQueue.Event]) {
            for event in events {
                if let end = event.turn?.end { turn = (event.ticket, end) } else { bodies[event.ticket] = nil }
            }
        }
    }

    /// Readers that share the rate would all be too late.
    @Test(
        "Under overload the rate is used up by bodies that end in time",
        arguments: [100, 200, 400, 800],
        [1.2, 1.5, 3]
    )
    func overload(size: Int, load: Double) {
        let time = Double(size) / Double(Self.rate)
        for patience in [1.5, 3, 8] {
            var bodies = Load(size: size, limit: .seconds(time * patience), gap: .seconds(time / load))
            bodies.run(from: begin, for: .seconds(60))
            let share = Double(bodies.ended * size) / Double(60 * Self.rate)
            #expect(share > 0.9 && bodies.passed <= 60 * Self.rate + Self.portion, "\(share) with \(patience)")
        }
    }

    @Test("A body takes the time of its bytes when each portion is asked for a little late", arguments: [0, 5, 10])
    func late(milliseconds: Int) throws {
        var queue = RateQueue(bytesPerSecond: Self.rate)
        var now = begin
        for left in stride(from: 8000, to: 0, by: -Self.portion) {
            let (ticket, events) = queue.enter(part(left: Int64(left)), at: now + .milliseconds(milliseconds))
            now = try #require(events.first?.turn?.end)
            #expect(queue.leave(ticket, at: now).isEmpty)
        }
        let exceeds = now - begin - .seconds(10)
        #expect(exceeds <= RateQueue.slack && exceeds >= .zero - RateQueue.slack, "\(exceeds)")
    }

    @Test("The time of bodies that are canceled goes to the others")
    func canceled() {
        var queue = RateQueue(bytesPerSecond: Self.rate)
        let tickets = (0..<200).map { _ in queue.enter(part(left: nil), at: begin).ticket }
        let patient = queue.enter(part(left: nil), at: begin).ticket
        // The first one has its turn, and the last ones wait behind all others.
        for ticket in tickets.dropFirst() {
            let events = queue.leave(ticket, at: begin)
            #expect(events.isEmpty)
        }
        let now = begin + .milliseconds(50)
        let events = queue.leave(tickets[0], at: now)
        #expect(events == [RateQueue.Event(ticket: patient, turn: .init(end: now + .milliseconds(125)))])
    }

    @Test("A body that can no longer end in time gets no turn, and takes none of the time")
    func overdue() {
        var queue = RateQueue(bytesPerSecond: Self.rate)
        let (first, turns) = queue.enter(part(left: nil), at: begin)
        let end = begin + .milliseconds(115)
        #expect(turns == [RateQueue.Event(ticket: first, turn: .init(end: end))])
        // Of 200 bytes the last one would come after 365 ms.
        let late = queue.enter(part(left: 200, until: .milliseconds(364)), at: begin)
        #expect(late.events == [RateQueue.Event(ticket: late.ticket, turn: nil)])
        let other = queue.enter(part(left: 200, until: .milliseconds(366)), at: begin)
        #expect(other.events.isEmpty)
        let next = queue.leave(first, at: end)
        #expect(next == [RateQueue.Event(ticket: other.ticket, turn: .init(end: end + .milliseconds(125)))])
    }

    @Test("A long body and short ones have every second turn, and a short one ends first")
    func kinds() {
        var queue = RateQueue(bytesPerSecond: Self.rate)
        let long = queue.enter(part(left: 1_000_000), at: begin).ticket
        let younger = queue.enter(part(left: 100, start: .milliseconds(2)), at: begin).ticket
        let older = queue.enter(part(left: 100, start: .milliseconds(1)), at: begin).ticket
        let again = queue.enter(part(left: 999_900), at: begin).ticket
        var (order, last, now) = ([long], long, begin)
        while let turn = queue.leave(last, at: now + .milliseconds(125)).first {
            now = now + .milliseconds(125)
            last = turn.ticket
            order.append(last)
        }
        #expect(order == [long, older, again, younger])
    }

    @Test("A turn is kept for the next portion of a short body, for a short time")
    func held() throws {
        var queue = RateQueue(bytesPerSecond: Self.rate)
        let first = queue.enter(part(left: 200), at: begin).ticket
        let other = queue.enter(part(start: .milliseconds(1)), at: begin).ticket
        let end = begin + .milliseconds(115)
        #expect(queue.leave(first, at: end).isEmpty)
        let (hold, last) = (queue.takeHold(), queue.takeHold())
        #expect(hold == end + RateQueue.slack && last == nil)
        let second = queue.enter(part(left: 100), at: end + .milliseconds(1))
        #expect(second.events.first?.ticket == second.ticket)
        let early = queue.endHold(at: end + RateQueue.slack)
        #expect(early.isEmpty)
        let third = queue.leave(second.ticket, at: end + .milliseconds(125))
        #expect(third.first?.ticket == other)
        // The reader of this one does not ask again.
        _ = queue.leave(other, at: end + .milliseconds(250))
        let slow = queue.enter(part(left: 200), at: end + .milliseconds(250)).ticket
        let behind = queue.enter(part(start: .milliseconds(2)), at: end + .milliseconds(250)).ticket
        _ = queue.leave(slow, at: end + .milliseconds(375))
        let held = queue.takeHold()
        let late = queue.endHold(at: try #require(held))
        #expect(late.first?.ticket == behind)
    }

    @Test("A canceled reader gives its turn to the next one at once")
    func canceledReader() async throws {
        let clock = HTTPDNSManualClock()
        let limit = try #require(RateLimit(.bytes(Self.rate), clock: clock))
        let portion = RateQueue.Portion(bytes: 800, left: nil, start: clock.now(), deadline: nil)
        let first = Task { try await limit.pass(portion) }
        await clock.sleepers(atLeast: 1)
        let second = Task { try await limit.pass(portion) }
        first.cancel()
        await #expect(throws: CancellationError.self) { try await first.value }
        await clock.sleepers(atLeast: 1)
        clock.advance(by: .seconds(1))
        #expect(try await second.value)
    }
}
