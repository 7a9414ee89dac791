// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

import Testing

@testable import HTTPDNS

/// The connections of a host on several loops.
struct LoopUsageTests {
    private final class Owner {}

    private let owner = Owner()
    private let one: HopOrigin
    private let two: HopOrigin

    init() throws {
        one = HopOrigin(host: .name(try HTTPDNSName("one.test")), port: 443)
        two = HopOrigin(host: .name(try HTTPDNSName("two.test")), port: 443)
    }

    private func queue(perHost: Int = .max, total: Int = .max, loops: Int = 2) -> AdmissionQueue {
        AdmissionQueue(AdmissionQueue.Limits(perHost: perHost, total: total, loops: loops))
    }

    private func ask(_ queue: inout AdmissionQueue, _ origin: HopOrigin) -> AdmissionQueue.Reply {
        queue.ask(
            AdmissionQueue.Waiter(
                origin: origin,
                priority: .normal,
                owner: ObjectIdentifier(owner),
                arrival: MonotonicTime(nanoseconds: 0)
            )
        )
    }

    @Test("A request gets the loop on which a connection of its host became free")
    func freed() {
        var queue = queue(perHost: 1, loops: 4)
        #expect(ask(&queue, one) == .admitted && queue.lastGrant == LoopGrant())
        #expect(queue.bind(one, from: nil, to: 3) == 3)
        #expect(queue.release(one, from: 3).isEmpty)
        #expect(ask(&queue, one) == .admitted && queue.lastGrant == LoopGrant(loop: 3, mayChoose: false))
    }

    @Test("A waiting request gets the connection that became free")
    func waiting() {
        var queue = queue(perHost: 1)
        _ = ask(&queue, one)
        _ = queue.bind(one, from: nil, to: 1)
        #expect(ask(&queue, one) == .waits(1, displaced: nil))
        #expect(queue.release(one, from: 1) == [1])
        #expect(queue.takeGrant(of: 1) == LoopGrant(loop: 1, mayChoose: false))
    }

    @Test("Below the limit a request may choose another loop, and the free connection stays")
    func choice() {
        var queue = queue(perHost: 2)
        _ = ask(&queue, one)
        _ = queue.bind(one, from: nil, to: 0)
        _ = queue.release(one, from: 0)
        #expect(ask(&queue, one) == .admitted && queue.lastGrant == LoopGrant(loop: 0, mayChoose: true))
        #expect(queue.bind(one, from: 0, to: 1) == 1)
        // One connection is free on loop 0, and one in use on loop 1.
        #expect(ask(&queue, one) == .admitted && queue.lastGrant == LoopGrant(loop: 0, mayChoose: false))
        #expect(queue.bind(one, from: 0, to: 1) == 0, "a second one on loop 1 would be the third of all")
    }

    @Test("Over HTTP/2 requests share the connection of a loop, within the limit")
    func shared() {
        var queue = queue(perHost: 1)
        _ = ask(&queue, one)
        #expect(queue.bind(one, from: nil, to: 1) == 1)
        #expect(queue.learn(one, isShared: true).isEmpty)
        for _ in 0..<99 {
            #expect(ask(&queue, one) == .admitted && queue.lastGrant == LoopGrant(loop: 1, mayChoose: false))
        }
        #expect(ask(&queue, one) == .waits(1, displaced: nil) && queue.connections == 1)
    }

    @Test("Over HTTP/2 each loop in use counts a connection")
    func sharedOnSeveral() {
        var queue = queue(perHost: 2)
        _ = ask(&queue, one)
        _ = queue.bind(one, from: nil, to: 0)
        _ = queue.learn(one, isShared: true)
        #expect(ask(&queue, one) == .admitted && queue.lastGrant == LoopGrant(loop: 0, mayChoose: true))
        #expect(queue.bind(one, from: 0, to: 1) == 1 && queue.connections == 2)
        #expect(queue.release(one, from: 0).isEmpty && queue.connections == 1)
    }

    @Test("A request that was never sent leaves no free connection")
    func unsent() {
        var queue = queue(perHost: 1)
        _ = ask(&queue, one)
        _ = queue.release(one, from: nil)
        #expect(queue.hosts == 0)
        #expect(ask(&queue, one) == .admitted && queue.lastGrant == LoopGrant())
    }

    @Test("The number of hosts whose free connections are remembered is bounded")
    func remembered() {
        var queue = AdmissionQueue(AdmissionQueue.Limits(perHost: 1, loops: 2, rememberedHosts: 10))
        for port in 0..<UInt16(1000) {
            let origin = HopOrigin(host: one.host, port: port)
            _ = ask(&queue, origin)
            _ = queue.bind(origin, from: nil, to: Int(port) % 2)
            _ = queue.release(origin, from: Int(port) % 2)
        }
        #expect(queue.hosts == 10 && queue.connections == 0)
        let last = HopOrigin(host: one.host, port: 999)
        _ = ask(&queue, last)
        #expect(queue.lastGrant.loop == 1)
    }

    /// A request in the model.
    private struct Running {
        var origin: HopOrigin
        var loop: Int?
    }

    @Test(
        "Used and free connections together never exceed the limit for a host",
        arguments: [2, 4],
        [[1, 2], [3, 5], [2, Int.max]]
    )
    func invariants(loops: Int, limits: [Int]) {
        let (perHost, total) = (limits[0], limits[1])
        var generator = SystemRandomNumberGenerator()
        var queue = queue(perHost: perHost, total: total, loops: loops)
        let origins = (0..<4).map { HopOrigin(host: one.host, port: UInt16($0)) }
        var running: [Running] = []
        var waiting: [AdmissionQueue.Ticket: HopOrigin] = [:]
        // What libcurl would have: an idle connection is on the loop that made it.
        var idle: [HopOrigin: [Int]] = [:]
        func send(_ origin: HopOrigin, _ grant: LoopGrant) {
            var chosen = grant.loop ?? Int.random(in: 0..<loops, using: &generator)
            if grant.mayChoose {
                let wish = Int.random(in: 0..<loops, using: &generator)
                chosen = wish == grant.loop ? wish : queue.bind(origin, from: grant.loop, to: wish)
            }
            var free = idle[origin] ?? Array(repeating: 0, count: loops)
            if free[chosen] > 0 { free[chosen] -= 1 }
            idle[origin] = free
            running.append(Running(origin: origin, loop: chosen))
        }
        for _ in 0..<10_000 {
            if Bool.random(using: &generator) {
                let origin = origins.randomElement(using: &generator) ?? origins[0]
                switch ask(&queue, origin) {
                case .admitted: send(origin, queue.lastGrant)
                case .waits(let ticket, _): waiting[ticket] = origin
                case .full: Issue.record("the queue has no limit")
                }
            } else if !running.isEmpty {
                let ended = running.remove(at: Int.random(in: 0..<running.count, using: &generator))
                if let loop = ended.loop { idle[ended.origin]?[loop] += 1 }
                for ticket in queue.release(ended.origin, from: ended.loop) {
                    if let origin = waiting.removeValue(forKey: ticket) { send(origin, queue.takeGrant(of: ticket)) }
                }
            }
            #expect(running.count == queue.connections && running.count <= total)
            for origin in origins {
                let used = running.count { $0.origin == origin }
                #expect(used + (idle[origin] ?? []).reduce(0, +) <= perHost)
            }
        }
        let hasRoom = waiting.values.contains { origin in running.count { $0.origin == origin } < perHost }
        #expect(!(hasRoom && running.count < total), "a request waits, and has room")
    }
}
