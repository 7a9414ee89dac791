// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

import Testing

@testable import HTTPDNS

struct AdmissionQueueTests {
    private final class Owner {}

    private let owner = Owner()
    private let one: HopOrigin
    private let two: HopOrigin

    init() throws {
        one = HopOrigin(host: .name(try HTTPDNSName("one.test")), port: 443)
        two = HopOrigin(host: .name(try HTTPDNSName("two.test")), port: 443)
    }

    private func queue(perHost: Int = .max, total: Int = .max, waiting: Int = .max) -> AdmissionQueue {
        AdmissionQueue(AdmissionQueue.Limits(perHost: perHost, total: total, maximumWaiting: waiting))
    }

    private func ask(
        _ queue: inout AdmissionQueue,
        _ origin: HopOrigin,
        _ priority: HTTPDNSClient.Request.Priority = .normal,
        until seconds: Int? = nil
    ) -> AdmissionQueue.Reply {
        let deadline = seconds.map { MonotonicTime(nanoseconds: Int64($0) * 1_000_000_000) }
        return queue.ask(waiter(origin, priority, at: .start, until: deadline))
    }

    private func waiter(
        _ origin: HopOrigin,
        _ priority: HTTPDNSClient.Request.Priority = .normal,
        at arrival: MonotonicTime,
        until deadline: MonotonicTime? = nil
    ) -> AdmissionQueue.Waiter {
        AdmissionQueue.Waiter(
            origin: origin,
            priority: priority,
            owner: ObjectIdentifier(owner),
            arrival: arrival,
            until: deadline
        )
    }

    @Test("A host gets as many connections as its limit, and other calls wait in order")
    func perHost() {
        var queue = queue(perHost: 2)
        #expect(ask(&queue, one) == .admitted && ask(&queue, one) == .admitted)
        #expect(ask(&queue, one) == .waits(1, displaced: nil) && ask(&queue, one) == .waits(2, displaced: nil))
        #expect(ask(&queue, two) == .admitted, "another host is not concerned")
        #expect(queue.release(two).isEmpty)
        #expect(queue.release(one) == [1] && queue.release(one) == [2])
        #expect(queue.release(one).isEmpty && queue.release(one).isEmpty)
        #expect(queue.connections == 0 && queue.hosts == 0 && queue.waiting == 0)
    }

    @Test("The most urgent call goes first, and among equals the first come, across hosts")
    func priority() {
        var queue = queue(total: 1)
        #expect(ask(&queue, one) == .admitted)
        for (origin, priority) in [(one, .low), (two, .normal), (one, .normal), (two, .high)]
            as [(HopOrigin, HTTPDNSClient.Request.Priority)]
        {
            _ = ask(&queue, origin, priority)
        }
        #expect(queue.release(one) == [4] && queue.release(two) == [2])
        #expect(queue.release(two) == [3] && queue.release(one) == [1])
        #expect(queue.release(one).isEmpty && queue.connections == 0)
    }

    @Test("A call that waits for a full host holds up no call to another host")
    func noBlocking() {
        var queue = queue(perHost: 1, total: 2)
        #expect(ask(&queue, one) == .admitted)
        #expect(ask(&queue, one, .high) == .waits(1, displaced: nil))
        #expect(ask(&queue, two) == .admitted)
        #expect(ask(&queue, two) == .waits(2, displaced: nil))
        #expect(queue.release(two) == [2], "the high one's host is still full")
        #expect(queue.release(one) == [1])
    }

    /// The last one then leaves.
    @Test("A full queue refuses a call unless it is more urgent than the last one")
    func full() {
        var queue = queue(perHost: 1, waiting: 2)
        #expect(ask(&queue, one) == .admitted)
        #expect(
            ask(&queue, one, .low) == .waits(1, displaced: nil) && ask(&queue, one, .low) == .waits(2, displaced: nil)
        )
        #expect(ask(&queue, one, .low) == .full)
        #expect(ask(&queue, one, .normal) == .waits(3, displaced: 2))
        #expect(ask(&queue, one, .high) == .waits(4, displaced: 1))
        #expect(ask(&queue, one, .normal) == .full)
        #expect(queue.release(one) == [4] && queue.release(one) == [3] && queue.waiting == 0)
    }

    @Test("Without a queue one more call is refused immediately")
    func noQueue() {
        var queue = queue(perHost: 1, waiting: 0)
        #expect(ask(&queue, one) == .admitted && ask(&queue, one, .high) == .full)
    }

    @Test("A hundred requests to a host with HTTP/2 count as one connection")
    func shared() {
        var queue = queue(perHost: 1, total: 1)
        #expect(ask(&queue, one) == .admitted)
        for _ in 0..<150 { _ = ask(&queue, one) }
        _ = ask(&queue, two)
        let admitted = queue.learn(one, isShared: true)
        #expect(admitted == Array(1...99), "those after it are for a second connection, or for another host")
        #expect(queue.connections == 1)
        // A stream that ends makes room for one, at the same host and no other.
        #expect(queue.release(one) == [100] && queue.connections == 1)
        // It was HTTP/1.1 after all: too many are on their way, and nobody follows until that is over.
        #expect(queue.learn(one, isShared: false).isEmpty && queue.connections == 100)
        for _ in 0..<99 { #expect(queue.release(one).isEmpty) }
        #expect(queue.release(one) == [101])
    }

    @Test("A withdrawn call is not admitted, and does not block its host")
    func withdrawn() {
        var queue = queue(perHost: 2, total: 1)
        #expect(ask(&queue, one) == .admitted)
        #expect(ask(&queue, two, .high) == .waits(1, displaced: nil) && ask(&queue, one) == .waits(2, displaced: nil))
        #expect(queue.withdraw(1) && !queue.withdraw(1) && queue.hosts == 1)
        #expect(queue.release(one) == [2] && !queue.withdraw(2))
    }

    @Test("A deadline removes the calls that have reached it, and no others")
    func deadlines() {
        var queue = queue(perHost: 1)
        _ = ask(&queue, one)
        for seconds in [30, 10, nil, 20] { _ = ask(&queue, one, until: seconds) }
        #expect(queue.nextDeadline == MonotonicTime(nanoseconds: 10_000_000_000))
        #expect(queue.expire(at: MonotonicTime(nanoseconds: 9_999_999_999)).isEmpty)
        #expect(queue.expire(at: MonotonicTime(nanoseconds: 20_000_000_000)) == [2, 4])
        #expect(queue.release(one) == [1] && queue.nextDeadline == nil && queue.release(one) == [3])
    }

    @Test("The waits of one owner end, and no others")
    func owners() {
        let other = Owner()
        var queue = queue(perHost: 1)
        _ = ask(&queue, one)
        _ = queue.ask(
            AdmissionQueue.Waiter(origin: one, priority: .normal, owner: ObjectIdentifier(other), arrival: .start)
        )
        _ = ask(&queue, one)
        #expect(queue.withdrawAll(of: ObjectIdentifier(other)) == [1])
        #expect(queue.release(one) == [2])
    }

    /// The limit that requests have.
    enum Limit: CaseIterable, Sendable {
        case body, head
    }

    /// 8 connections of a host, or of all hosts, with requests of 100 to 300 ms that have a second each.
    @Test(
        "At 150 % of what connections carry, requests with deadlines use 80 % of it",
        arguments: Limit.allCases,
        [false, true]
    )
    func overload(limit: Limit, hasSeveralHosts: Bool) {
        var queue = hasSeveralHosts ? queue(total: 8) : queue(perHost: 8)
        var (random, running, waiting) = (SplitMix(state: 7), [Running](), [AdmissionQueue.Ticket: Running]())
        var inTime = 0
        func start(_ request: Running, at now: MonotonicTime) {
            var request = request
            let share = 0.5 + Double(random.next() >> 11) / Double(1 << 53)
            (request.start, request.end) = (now, now + .seconds(0.2 * share))
            running.append(request)
        }
        let gap = Duration.seconds(1) / 60
        for number in 0..<3600 {
            let now = MonotonicTime.start + gap * number
            // Each request that ends, in time or at its deadline, gives its connection to the next one.
            while let next = running.min(by: { $0.leaves < $1.leaves }), next.leaves <= now {
                running.removeAll { $0.number == next.number }
                let (leaves, isInTime) = (next.leaves, next.end < next.deadline)
                if isInTime { inTime += 1 }
                if isInTime { queue.noteHead(next.origin, after: leaves - next.start) }
                queue.noteEnd(next.origin, after: leaves - next.start, hasHead: isInTime, isInTime: isInTime)
                for ticket in queue.expire(at: leaves) { waiting[ticket] = nil }
                for ticket in queue.release(next.origin, from: nil, at: leaves) {
                    if let request = waiting.removeValue(forKey: ticket) { start(request, at: leaves) }
                }
            }
            let origin = hasSeveralHosts && number % 2 == 1 ? two : one
            let request = Running(number: number, origin: origin, deadline: now + .seconds(1), start: now, end: now)
            var asked = waiter(origin, at: now, until: request.deadline)
            if limit == .head { asked.headDeadline = request.deadline } else { asked.deadline = request.deadline }
            switch queue.ask(asked) {
            case .admitted: start(request, at: now)
            case .waits(let ticket, _): waiting[ticket] = request
            case .full: Issue.record("the queue has no limit")
            }
        }
        #expect(inTime >= 60 * 32, "\(inTime) of \(60 * 40)")
    }

    /// A request in the model of an overload.
    private struct Running {
        let number: Int
        let origin: HopOrigin
        let deadline: MonotonicTime
        var start: MonotonicTime
        var end: MonotonicTime

        var leaves: MonotonicTime { min(end, deadline) }
    }

    @Test("A call that would miss its deadline waits behind all others")
    func late() {
        var queue = queue(perHost: 1)
        _ = ask(&queue, one)
        // Usually requests need 400 ms at most.
        queue.noteEnd(one, after: .milliseconds(200), hasHead: true, isInTime: true)
        for (milliseconds, priority) in [(1000, .high), (2000, .low), (1200, .normal), (nil, .low)]
            as [(Int?, HTTPDNSClient.Request.Priority)]
        {
            var asked = waiter(one, priority, at: .start)
            asked.deadline = milliseconds.map { MonotonicTime.start + .milliseconds($0) }
            _ = queue.ask(asked)
        }
        let now = MonotonicTime.start + .milliseconds(700)
        var order: [AdmissionQueue.Ticket] = []
        while let next = queue.release(one, from: nil, at: now).first { order.append(next) }
        #expect(order == [3, 2, 4, 1])
    }

    @Test("A call with a short time limit is late only when half of its time has passed")
    func short() {
        for (milliseconds, expected) in [(49, [1, 2]), (51, [2, 1])] as [(Int, [AdmissionQueue.Ticket])] {
            var queue = queue(perHost: 1)
            _ = ask(&queue, one)
            queue.noteEnd(one, after: .seconds(10), hasHead: true, isInTime: true)
            for limit in [Duration.milliseconds(100), .seconds(100)] {
                var asked = waiter(one, at: .start)
                asked.deadline = MonotonicTime.start + limit
                _ = queue.ask(asked)
            }
            let now = MonotonicTime.start + .milliseconds(milliseconds)
            let order = (0..<2).flatMap { _ in queue.release(one, from: nil, at: now) }
            #expect(order == expected)
        }
    }

    /// Otherwise a service that becomes slow would lose all of its requests for good.
    @Test("Requests that end at their deadline raise the time that others need")
    func slower() {
        var queue = queue(perHost: 1)
        _ = ask(&queue, one)
        for _ in 0..<50 { queue.noteEnd(one, after: .milliseconds(50), hasHead: true, isInTime: true) }
        for _ in 0..<50 { queue.noteEnd(one, after: .milliseconds(500), hasHead: true, isInTime: false) }
        // Requests that were canceled early change nothing.
        for _ in 0..<50 { queue.noteEnd(one, after: .milliseconds(1), hasHead: false, isInTime: true) }
        for limit in [Duration.seconds(1), .seconds(5)] {
            var asked = waiter(one, at: .start)
            asked.deadline = MonotonicTime.start + limit
            _ = queue.ask(asked)
        }
        let next = queue.release(one, from: nil, at: MonotonicTime.start + .milliseconds(550))
        #expect(next == [2])
    }

    /// A random sequence of events.
    @Test("The queue exceeds no limit, leaves no room unused and admits no call twice")
    func invariants() {
        var generator = SystemRandomNumberGenerator()
        for (perHost, total) in [(2, 5), (1, 1), (3, .max), (.max, 4)] {
            var queue = queue(perHost: perHost, total: total, waiting: 50)
            let origins = (0..<6).map { HopOrigin(host: one.host, port: UInt16($0)) }
            var running: [HopOrigin] = []
            var asked: [AdmissionQueue.Ticket: HopOrigin] = [:]
            func started(_ tickets: [AdmissionQueue.Ticket]) {
                for ticket in tickets {
                    guard let origin = asked.removeValue(forKey: ticket) else {
                        Issue.record("\(ticket) was called twice, or after it left")
                        continue
                    }
                    running.append(origin)
                }
            }
            for _ in 0..<5_000 {
                switch Int.random(in: 0..<5, using: &generator) {
                case 0, 1:
                    let origin = origins.randomElement(using: &generator) ?? origins[0]
                    let priority = HTTPDNSClient.Request.Priority(rawValue: Int8.random(in: -2...2, using: &generator))
                    switch ask(&queue, origin, priority) {
                    case .admitted: running.append(origin)
                    case .waits(let ticket, let displaced):
                        if let displaced { #expect(asked.removeValue(forKey: displaced) != nil) }
                        asked[ticket] = origin
                    case .full: #expect(queue.waiting == 50)
                    }
                case 2, 3:
                    guard !running.isEmpty else { continue }
                    started(queue.release(running.remove(at: Int.random(in: 0..<running.count, using: &generator))))
                default:
                    guard let ticket = asked.keys.randomElement(using: &generator) else { continue }
                    let hasLeft = queue.withdraw(ticket)
                    #expect(hasLeft)
                    asked[ticket] = nil
                }
                let loads = Dictionary(grouping: running) { $0 }.mapValues(\.count)
                #expect(queue.connections == running.count && running.count <= total)
                #expect(loads.values.allSatisfy { $0 <= perHost } && queue.waiting == asked.count)
                let hasRoom = asked.values.contains { loads[$0, default: 0] < perHost } && running.count < total
                #expect(!hasRoom, "somebody waits, and has room")
            }
            for ticket in Array(asked.keys) { _ = queue.withdraw(ticket) }
            for origin in running { #expect(queue.release(origin).isEmpty) }
            #expect(queue.hosts == 0 && queue.connections == 0)
        }
    }
}

extension MonotonicTime {
    fileprivate static let start = MonotonicTime(nanoseconds: 0)
}

// Where time does not matter.
extension AdmissionQueue {
    mutating func release(_ origin: HopOrigin, from loop: Int? = nil) -> [Ticket] {
        release(origin, from: loop, at: MonotonicTime(nanoseconds: 0))
    }

    mutating func learn(_ origin: HopOrigin, isShared: Bool) -> [Ticket] {
        learn(origin, isShared: isShared, at: MonotonicTime(nanoseconds: 0))
    }
}
