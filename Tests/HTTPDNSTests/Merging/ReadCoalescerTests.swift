// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

import HTTPDNSTesting
import Testing

@testable import HTTPDNS

/// Which request sends, which waits, and until when.
struct ReadCoalescerTests {
    private typealias Reads = ReadCoalescer<String, Int>

    private let clock = HTTPDNSManualClock()
    private let reads: Reads

    init() { reads = Reads(clock: clock) }

    /// Starts a request for the key, with a limit in seconds from now.
    private func request(
        _ limit: Int? = nil,
        order: Int8 = 0,
        priority: TaskPriority? = nil,
        hasWaited: Bool = false
    ) -> Task<Reads.Turn, any Error> {
        let end = limit.map { clock.now() + .seconds($0) }
        return Task(priority: priority) { [reads] in
            try await reads.turn("key", order: order, head: end, body: end, hasWaited: hasWaited)
        }
    }

    private func leader(order: Int8 = 0) throws -> Reads.Lead { try #require(reads.lead("key", order: order)) }

    /// Returns when a number of requests wait.
    private func waiters(_ count: Int) async { while reads.waiterCount != count { await Task.yield() } }

    /// Returns when a number of requests lead or wait.
    private func settled(_ count: Int) async {
        while reads.leadCount + reads.waiterCount < count { await Task.yield() }
    }

    @Test("A request that no longer waits leaves nothing with the one that it waited for")
    func noRest() async throws {
        let lead = try leader()
        let waiters = (0..<10).map { _ in request(5) }
        await clock.sleepers(atLeast: 10)
        await self.waiters(10)
        waiters[0].cancel()
        await #expect(throws: CancellationError.self) { try await waiters[0].value }
        #expect(reads.waiterCount == 9)
        clock.advance(by: .seconds(5))
        for waiter in waiters.dropFirst() { #expect(try await waiter.value.isOverdue) }
        #expect(reads.waiterCount == 0 && reads.leadCount == 1)
        lead.end(.shared(1))
        #expect(reads.leadCount == 0 && reads.sharedCount == 0)
        #expect(try await request().value.lead?.isShared == true)
    }

    @Test("The result of a lead reaches all that wait, and so does its failure", arguments: [true, false])
    func result(isShared: Bool) async throws {
        struct Broken: Error {}
        let lead = try leader()
        let waiters = (0..<3).map { _ in request() }
        await self.waiters(3)
        lead.end(isShared ? .shared(7) : .failed(Broken()))
        for waiter in waiters {
            switch try await waiter.value {
            case .shared(let value): #expect(isShared && value == 7)
            case .failed(let error): #expect(!isShared && error is Broken)
            default: Issue.record("it sends")
            }
        }
        #expect(reads.sharedCount == (isShared ? 3 : 0) && reads.leadCount == 0)
    }

    @Test("The request with the most time takes the lead, and the others wait once more", arguments: [100, nil])
    func handOver(longest: Int?) async throws {
        let lead = try leader()
        var waiters: [Task<Reads.Turn, any Error>] = []
        for limit in [10, longest, 50] {
            waiters.append(request(limit))
            await self.waiters(waiters.count)
        }
        lead.end(.abandoned)
        let second = try #require(try await waiters[1].value.lead)
        #expect(second.isShared && reads.waiterCount == 2 && reads.leadCount == 1)
        // Those that come later wait for the first time.
        let late = request(5)
        await self.waiters(3)
        second.end(.abandoned)
        for waiter in [waiters[0], waiters[2]] { #expect(try await waiter.value.lead?.isShared == false) }
        #expect(try await late.value.lead?.isShared == true)
    }

    @Test("A request that has waited before sends its own one when its leader leaves")
    func waitedBefore() async throws {
        let lead = try leader()
        let (before, first) = (request(100, hasWaited: true), request(50))
        await waiters(2)
        lead.end(.abandoned)
        let own = try #require(try await before.value.lead)
        #expect(!own.isShared)
        own.end(.alone(isRemembered: false))
        #expect(try await first.value.lead?.isShared == true)
    }

    @Test("A leader that has lost its lead has no effect on the requests that wait")
    func formerLeader() async throws {
        let lead = try leader()
        lead.noteHead()
        let end = clock.now() + .seconds(50)
        let patient = request(100)
        let waiter = Task { [reads] in try await reads.turn("key", order: 0, head: end, body: nil) }
        await clock.sleepers(atLeast: 2)
        await waiters(2)
        lead.end(.abandoned)
        let next = try #require(try await patient.value.lead)
        // Its response arrives all the same. The limit for the head now counts until that of the next one.
        lead.noteHead()
        lead.end(.shared(1))
        #expect(next.isShared && reads.waiterCount == 1)
        clock.advance(by: .seconds(50))
        #expect(try await waiter.value.isOverdue)
        next.end(.shared(2))
    }

    @Test("A request whose time is over when a leader fails does not send")
    func overdue() async throws {
        let lead = try leader()
        let waiter = request(5)
        await clock.sleepers(atLeast: 1)
        await waiters(1)
        // Its limit is so near that nothing would come of its request.
        let near = Duration.seconds(5) - .milliseconds(10)
        clock.advance(by: near)
        lead.end(.abandoned)
        #expect(try await waiter.value.isOverdue)
    }

    @Test("A request with little time from the start takes the lead in the first half of it")
    func littleTime() async throws {
        for (passed, leads) in [(4, true), (6, false)] {
            let lead = try leader()
            let end = clock.now() + .milliseconds(10)
            let waiter = Task { [reads] in try await reads.turn("key", order: 0, head: end, body: end) }
            await waiters(1)
            clock.advance(by: .milliseconds(passed))
            lead.end(.abandoned)
            let turn = try await waiter.value
            #expect(turn.isOverdue != leads && (turn.lead?.isShared ?? false) == leads)
        }
    }

    @Test("A lead that is dropped passes to another request")
    func dropped() async throws {
        var lead: Reads.Lead? = try leader()
        var waiters = [request(50), request(40), request(30)]
        await self.waiters(3)
        #expect(lead != nil)
        lead = nil
        // The task that got the lead drops it with its result.
        #expect(try await waiters.removeFirst().value.lead?.isShared == true)
        for waiter in waiters { #expect(try await waiter.value.lead?.isShared == false) }
        #expect(reads.leadCount == 0)
    }

    @Test("The limit for the head does not end the wait for a body that arrives")
    func headLimit() async throws {
        let lead = try leader()
        let end = clock.now() + .seconds(5)
        let waiter = Task { [reads] in try await reads.turn("key", order: 0, head: end, body: nil) }
        await clock.sleepers(atLeast: 1)
        lead.noteHead()
        clock.advance(by: .seconds(60))
        while clock.sleeperCount > 0 { await Task.yield() }
        #expect(reads.waiterCount == 1)
        lead.end(.shared(3))
        guard case .shared(3) = try await waiter.value else {
            Issue.record("the limit for the head has ended the wait")
            return
        }
    }

    @Test("A request waits for none that is less urgent, and others wait for it then")
    func urgency() async throws {
        let low = try leader(order: -64)
        let normal = try #require(try await request().value.lead)
        #expect(normal.isShared && reads.leadCount == 2)
        let others = [request(order: -64), request()]
        await waiters(2)
        low.end(.abandoned)
        normal.end(.shared(1))
        for other in others {
            let turn = try await other.value
            #expect(turn.lead?.isShared ?? true)
        }
        #expect(reads.waiterCount == 0)
    }

    @Test("A request that takes the lead keeps no more urgent one waiting")
    func patientButLessUrgent() async throws {
        let lead = try leader()
        let (urgent, patient, other) = (request(10), request(100, order: -64), request(50, order: -64))
        await waiters(3)
        lead.end(.abandoned)
        let next = try #require(try await patient.value.lead)
        #expect(next.isShared && reads.waiterCount == 1)
        let late = request()
        await settled(3)
        #expect(reads.leadCount == 2)
        next.end(.shared(1))
        #expect(try await urgent.value.lead?.isShared == false)
        #expect(try await late.value.lead?.isShared == true)
        guard case .shared(1) = try await other.value else {
            Issue.record("it has not waited for the next leader")
            return
        }
    }

    @Test("A request of an urgent task does not wait for that of a less urgent task")
    func taskPriority() async throws {
        let low = request(priority: .low)
        await settled(1)
        let high = request(priority: .high)
        await settled(2)
        #expect(reads.leadCount == 2 && reads.waiterCount == 0)
        try await low.value.lead?.end(.shared(1))
        #expect(try await high.value.lead?.isShared == true)
    }

    /// Blocking calls may have taken all threads of the runtime.
    @Test("A request on threads of its own waits for none on the runtime's threads")
    func ownThreads() async throws {
        let lead = try leader()
        let executor = BlockingExecutor(named: "test", isOnDuty: false)
        let task = CallWork.$executor.withValue(executor) { request() }
        await settled(2)
        #expect(reads.leadCount == 2 && reads.waiterCount == 0)
        lead.end(.shared(1))
        let own = try #require(try await task.value.lead)
        // Others may wait for it.
        let other = request()
        await settled(2)
        #expect(reads.waiterCount == 1)
        own.end(.shared(2))
        guard case .shared(2) = try await other.value else {
            Issue.record("it has not waited")
            return
        }
    }

    @Test("A key of responses that are not for others is remembered for two to four minutes")
    func remembered() async throws {
        try leader().end(.alone(isRemembered: true))
        let first = try #require(try await request().value.lead)
        #expect(!first.isShared)
        clock.advance(by: .seconds(119))
        #expect(try await request().value.lead?.isShared == false)
        clock.advance(by: .seconds(121))
        let second = try #require(try await request().value.lead)
        #expect(second.isShared)
        second.end(.alone(isRemembered: true))
        #expect(try await request().value.lead?.isShared == false)
        // A response for all ends the memory.
        first.end(.shared(1))
        #expect(try await request().value.lead?.isShared == true)
    }

    @Test("The memory of keys has a bound, and keeps the latest ones")
    func bound() {
        var hashes = RecentHashes()
        for hash in 0..<100_000 { hashes.insert(hash, at: clock.now()) }
        let kept = (0..<100_000).filter { hashes.contains($0, at: clock.now()) }
        #expect(kept.count <= 2 * RecentHashes.limit && kept.count >= RecentHashes.limit)
        #expect(kept.last == 99_999 && kept.first.map { $0 > 90_000 } == true)
    }

    @Test("A body left unread for 100 ms in all ends the lead, and a slow server does not")
    func unread() async throws {
        let lead = try leader()
        lead.noteReading(false)
        let waiter = request()
        await clock.sleepers(atLeast: 1)
        clock.advance(by: .milliseconds(60))
        lead.noteReading(true)
        // The server needs a minute for the next part.
        clock.advance(by: .seconds(60))
        while clock.sleeperCount > 0 { await Task.yield() }
        #expect(reads.waiterCount == 1)
        lead.noteReading(false)
        await clock.sleepers(atLeast: 1)
        clock.advance(by: .milliseconds(39))
        #expect(clock.sleeperCount == 1 && reads.waiterCount == 1)
        clock.advance(by: .milliseconds(1))
        #expect(try await waiter.value.lead?.isShared == true)
    }

    /// The key's value runs code of its owner when it ends, which would wait for the lock for ever.
    @Test("Code of a key's owner does not run under the lock")
    func ownersCode() async throws {
        let reads = ReadCoalescer<OwnedKey, Int>(clock: clock)
        var leads: [ReadCoalescer<OwnedKey, Int>.Lead] = []
        let ended = Lock(0)
        for order: Int8 in [0, 1, 2] {
            let owner = OwnedKey.Owner { [weak reads] in
                _ = reads?.leadCount
                ended.withLock { $0 += 1 }
            }
            leads.append(try #require(reads.lead(OwnedKey(owner), order: order)))
        }
        for lead in leads { lead.end(.alone(isRemembered: true)) }
        #expect(ended.withLock { $0 } == 3 && reads.leadCount == 0)
    }
}

extension ReadCoalescer.Turn {
    fileprivate var lead: ReadCoalescer.Lead? { if case .send(let lead) = self { lead } else { nil } }
    fileprivate var isOverdue: Bool { if case .overdue = self { true } else { false } }
}

/// A key that is equal to all others, and runs code when it ends.
private struct OwnedKey: Hashable, Sendable {
    final class Owner: Sendable {
        let action: @Sendable () -> Void

        init(_ action: @escaping @Sendable () -> Void) { self.action = action }

        deinit { action() }
    }

    let owner: Owner

    init(_ owner: Owner) { self.owner = owner }

    static func == (left: OwnedKey, right: OwnedKey) -> Bool { true }

    func hash(into hasher: inout Hasher) {}
}
