// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

import ServerRig
import Testing

@testable import HTTPDNSCore

private typealias Table = LookupCoalescer<String, Int, String>

extension LookupCoalescer {
    fileprivate mutating func join(_ key: Key, _ waiter: Waiter) -> (entry: WaiterEntry, starts: Bool)? {
        join(key, waiter, at: start, mayStart: { true })
    }
}

private let start = MonotonicTime(nanoseconds: 0)

struct LookupCoalescerTests {

    @Test("The first caller starts a lookup, and the others wait for it")
    func joins() {
        var table = Table()
        let first = table.join("a", 1)!
        let second = table.join("a", 2)!
        let other = table.join("b", 3)!
        #expect(first.starts && !second.starts && other.starts)
        #expect(first.entry.lookupID == second.entry.lookupID)
        let completion = table.complete(first.entry.lookupID)
        #expect(completion?.waiters.sorted() == [1, 2])
        #expect(completion?.isCurrent == true)
        #expect(table.count == 1)
        #expect(table.join("a", 4)!.starts)
    }

    @Test("Only the last waiter to leave ends the lookup and frees its key")
    func leaves() {
        var table = Table()
        let first = table.join("a", 1)!
        let second = table.join("a", 2)!
        #expect(table.attach("work", to: first.entry.lookupID) == nil)
        #expect(table.leave(first.entry).work == nil)
        #expect(table.leave(first.entry).work == nil)
        #expect(table.leave(second.entry) == (true, "work"))
        #expect(table.leave(second.entry) == (false, nil))
        #expect(table.complete(first.entry.lookupID) == nil)
        #expect(table.join("a", 3)!.starts)
    }

    /// 100,000 waiters.
    @Test("Joining and leaving one lookup takes linear time", .timeLimit(.minutes(10)))
    func leavesFast() {
        var table = Table()
        let start = ProcessState.threadTime()
        let entries = (0..<100_000).map { table.join("a", $0)!.entry }
        for entry in entries { _ = table.leave(entry) }
        #expect(table.count == 0)
        // A copy of all waiters for each who joins takes 30 s and more, in place it is less than one.
        #expect(ProcessState.threadTime() - start < .seconds(10))
    }

    @Test("Work attached after all waiters left is returned for cancellation")
    func attachesLate() {
        var table = Table()
        let entry = table.join("a", 1)!.entry
        #expect(table.leave(entry) == (true, nil))
        #expect(table.attach("work", to: entry.lookupID) == "work")
        #expect(table.count == 0)
    }

    /// Later callers do not join it.
    @Test("A superseded lookup serves its own waiters and frees no key but its own")
    func supersedes() {
        var table = Table()
        let old = table.join("a", 1)!.entry
        table.supersedeAll()
        let new = table.join("a", 2)!
        #expect(new.starts)
        #expect(table.complete(old.lookupID)?.isCurrent == false)
        #expect(!table.join("a", 3)!.starts)
        #expect(table.complete(new.entry.lookupID)?.isCurrent == true)
    }

    @Test("A lookup beyond the limit is refused, but sharing one in flight is not")
    func boundsLookups() throws {
        var table = Table()
        let budget = LookupBudget(2)
        let first = table.join("a", 1, at: start, mayStart: budget.take)!
        _ = table.join("b", 2, at: start, mayStart: budget.take)!
        #expect(table.join("c", 3, at: start, mayStart: budget.take) == nil)
        #expect(table.join("a", 4, at: start, mayStart: budget.take)?.starts == false)
        _ = table.complete(first.entry.lookupID)
        budget.giveBack(1)
        #expect(table.join("c", 5, at: start, mayStart: budget.take)?.starts == true)
    }

    @Test("A lookup allowed to complete goes on without waiters, and can be joined")
    func landsWithoutWaiters() {
        var table = Table()
        let entry = table.join("a", 1)!.entry
        _ = table.attach("work", to: entry.lookupID)
        #expect(table.leave(entry, continues: true) == (false, nil))
        #expect(table.join("a", 2)!.starts == false)
        #expect(table.complete(entry.lookupID)?.waiters == [2])
    }

    /// It goes on when the callers that joined it have left.
    @Test("A lookup without waiters holds its key and can be joined")
    func opens() {
        var table = Table()
        let lookupID = table.open("a", at: start, mayStart: { true })!
        #expect(table.open("a", at: start, mayStart: { true }) == nil)
        #expect(table.open("b", at: start, mayStart: { false }) == nil)
        #expect(!table.hasWaiters(lookupID))
        let joined = table.join("a", 1)!
        #expect(!joined.starts && table.hasWaiters(lookupID))
        #expect(table.leave(joined.entry) == (false, nil))
        #expect(table.startTime("a", version: 0) == start)
        #expect(table.complete(lookupID)?.waiters == [])
        #expect(table.startTime("a", version: 0) == nil)
    }

    @Test("A lookup for a whole answer does not join one that completes an answer")
    func partial() {
        var table = Table()
        let lookupID = table.open("a", isPartial: true, at: start, mayStart: { true })!
        #expect(table.startTime("a", version: 0) == nil)
        #expect(table.join("a", 1)!.starts)
        #expect(table.complete(lookupID)?.isCurrent == false)
    }

    @Test("The lookup of a missing family has waiters of its own")
    func completion() {
        var table = Table()
        let lookupID = table.open("a", isPartial: true, at: start, mayStart: { true })!
        #expect(table.isCompleting("a") && !table.isCompleting("b"))
        #expect(table.joinCompletion("a", 1, onOwnThreads: true) == nil)
        let left = table.joinCompletion("a", 2, onOwnThreads: false)!
        _ = table.joinCompletion("a", 3, onOwnThreads: false)
        #expect(table.leave(left) == (false, nil))
        #expect(table.complete(lookupID)?.waiters == [3])
        #expect(!table.isCompleting("a") && table.joinCompletion("a", 4, onOwnThreads: false) == nil)
    }

    @Test("Ending everything returns all waiters and all work")
    func removesAll() {
        var table = Table()
        let entry = table.join("a", 1)!.entry
        _ = table.join("b", 2)!
        _ = table.attach("work", to: entry.lookupID)
        let (_, waiters, work) = table.removeAll()
        #expect(waiters.sorted() == [1, 2])
        #expect(work == ["work"])
        #expect(table.count == 0)
        #expect(table.leave(entry) == (false, nil))
    }
}
