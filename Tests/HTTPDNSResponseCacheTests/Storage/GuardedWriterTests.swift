// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

import HTTPDNS
import HTTPDNSPrimitives
import HTTPDNSTesting
import ServerRig
import Testing

@testable import HTTPDNSResponseCache

struct GuardedWriterTests {
    /// The clock of the waits.
    private let clock = HTTPDNSManualClock()

    /// Creates a writer of a call whose body must have ended after 600 s.
    private func writer(_ store: SlowStore) async throws -> (GuardedStore, any HTTPDNSResponseWriter) {
        var times = FolderAccess.Times()
        // One call that is overdue is no reason to leave the store alone.
        (times.limit, times.bodyPart) = (.seconds(600), .seconds(600))
        let guarded = GuardedStore(
            store,
            maximumEntry: 1000,
            times,
            clock: WallClock { 1 },
            time: clock,
            onFailure: {}
        )
        let deadline = SystemTimeSource().now() + .seconds(600)
        let ticket = FetchTable().begin("http://one.test/", until: ReadTime(head: nil, body: deadline))
        let entry = ResponseIndex.Entry(head([:]), .elsewhere, bodyLength: 0, cost: 0, ticket: ticket)
        return (guarded, try #require(try await guarded.writer(for: StoredResponse(entry))))
    }

    /// Returns the result of work that waits for the store, whose time passes meanwhile.
    private func afterLimit(_ work: Task<Bool, any Error>) async throws -> Bool {
        let passing = Task {
            while !Task.isCancelled {
                await clock.sleepers(atLeast: 1)
                clock.advance(by: .seconds(600))
            }
        }
        let result = await work.result
        passing.cancel()
        await passing.value
        return try result.get()
    }

    @Test("The parts of a body take half of the time of a call at most")
    func sumOfWaits() async throws {
        let store = SlowStore { [clock] call in if call == .append { clock.advance(by: .seconds(27)) } }
        let (_, writer) = try await writer(store)
        var count = 0
        for _ in 0..<100 where try await writer.append([1]) { count += 1 }
        // Half of 600 s holds 11 of them, and fewer on a machine that has lost time before.
        #expect((1...12).contains(count))
        #expect(try await !writer.finish() && !store.journal.all.contains("finish"))
    }

    @Test("A body that is stored after its time is not returned, and removed")
    func lateFinish() async throws {
        let (gate, hasBegun, isRemoved) = (Gate(), Gate(), Gate())
        let store = SlowStore { call in
            if call == .finish {
                hasBegun.open()
                await gate.passage()
            }
            if call == .remove { isRemoved.open() }
        }
        let (guarded, writer) = try await writer(store)
        #expect(try await writer.append([1]))
        let end = Task { try await writer.finish() }
        await hasBegun.passage()
        #expect(try await !afterLimit(end))
        #expect(store.journal.all == ["append", "append ends", "finish"])
        store.commitsEarly()
        #expect(try await guarded.responses(.all).isEmpty && store.responses(.all).count == 1)
        gate.open()
        await isRemoved.passage()
        #expect(store.journal.all.suffix(3) == ["finish", "finish ends", "remove"])
    }

    @Test("A body whose end does not reach the store is discarded")
    func discardWithoutFinish() async throws {
        let store = SlowStore { _ in }
        let (_, writer) = try await writer(store)
        #expect(try await writer.append([1]))
        let end = Task {
            withUnsafeCurrentTask { $0?.cancel() }
            return try await writer.finish()
        }
        await #expect(throws: CancellationError.self) { try await end.value }
        writer.discard()
        #expect(store.journal.all == ["append", "append ends", "discard"])
    }

    @Test("A body is discarded when the call of its store has ended")
    func discardBehindCall() async throws {
        let (gate, hasBegun, isDiscarded) = (Gate(), Gate(), Gate())
        let store = SlowStore { call in
            if call == .append {
                hasBegun.open()
                await gate.passage()
            }
            if call == .discard { isDiscarded.open() }
        }
        let (_, writer) = try await writer(store)
        let part = Task { try await writer.append([1]) }
        await hasBegun.passage()
        #expect(try await !afterLimit(part))
        writer.discard()
        #expect(store.journal.all == ["append"])
        gate.open()
        await isDiscarded.passage()
        #expect(store.journal.all == ["append", "append ends", "discard"])
    }
}

/// A store with one response, whose calls wait as a test says, also when they are canceled.
private final class SlowStore: HTTPDNSResponseStore {
    typealias StoredResponse = HTTPDNSClient.ResponseCache.StoredResponse
    typealias Selection = HTTPDNSClient.ResponseCache.Selection

    enum Call: Sendable {
        case append, finish, discard, remove
    }

    /// The calls, and the ends of those that wait.
    let journal = Journal<String>()
    private let wait: @Sendable (Call) async throws -> Void
    private let stored = Lock<(response: StoredResponse?, pending: StoredResponse?)>((nil, nil))

    init(_ wait: @escaping @Sendable (Call) async throws -> Void) { self.wait = wait }

    /// Stores the response that is being written.
    func commitsEarly() { stored.withLock { $0.response = $0.pending } }

    func responses(_ selection: Selection) -> [StoredResponse] { stored.withLock { $0.response.map { [$0] } ?? [] } }

    func writer(for response: StoredResponse) -> (any HTTPDNSResponseWriter)? {
        let stored = StoredResponse(encoded: response.encoded, bodyLength: 1) { _ in [1] }
        self.stored.withLock { $0.pending = stored }
        return Writer(store: self)
    }

    func remove(_ selection: Selection) async throws {
        journal.write("remove")
        stored.withLock { $0.response = nil }
        try await wait(.remove)
    }

    private struct Writer: HTTPDNSResponseWriter {
        let store: SlowStore

        func append(_ bytes: [UInt8]) async throws -> Bool {
            store.journal.write("append")
            try await store.wait(.append)
            store.journal.write("append ends")
            return true
        }

        func finish() async throws -> Bool {
            store.journal.write("finish")
            try await store.wait(.finish)
            store.commitsEarly()
            store.journal.write("finish ends")
            return true
        }

        func discard() {
            store.journal.write("discard")
            Task { [store] in try await store.wait(.discard) }
        }
    }
}
