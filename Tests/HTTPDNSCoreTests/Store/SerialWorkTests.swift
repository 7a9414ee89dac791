// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

import HTTPDNSTesting
import ServerRig
import Testing

@testable import HTTPDNSCore

struct SerialWorkTests {
    /// Keeps the bodies of threads until the test runs them.
    private final class Threads: Sendable {
        private let bodies = Lock<[@Sendable () -> Void]>([])

        var count: Int { bodies.withLock { $0.count } }

        func start(_ body: @escaping @Sendable () -> Void) -> Bool {
            bodies.withLock { $0.append(body) }
            return true
        }

        func runFirst() { bodies.withLock { $0.removeFirst() }() }
    }

    /// Gives no thread until it is opened.
    private final class ThreadSupply: Sendable {
        private let isOpen = Lock(false)

        func start(_ body: @escaping @Sendable () -> Void) -> Bool {
            isOpen.withLock { $0 } && DetachedThread.start(body)
        }

        func open() { isOpen.withLock { $0 = true } }
    }

    private func store(in folder: TemporaryFolder, _ work: SerialWork) -> HTTPDNSDiskStore {
        HTTPDNSDiskStore(
            path: folder.file,
            maximumBytes: 1 << 20,
            maximumEntries: 10,
            wallClock: .system,
            work: work
        )
    }

    /// The last one stays.
    @Test("Saves of one store run in the order of the calls, on one thread")
    func order() async throws {
        let folder = try TemporaryFolder()
        let threads = Threads()
        let work = SerialWork(startThread: threads.start)
        let store = store(in: folder, work)
        let answers = try (0..<8).map { [try HTTPDNSStoredResolution.sample("host\($0).test")] }
        try await withThrowingTaskGroup(of: Void.self) { group in
            for (index, list) in answers.enumerated() {
                group.addTask { try await store.save(list) }
                while work.waitingCount <= index, !Task.isCancelled { await Task.yield() }
            }
            #expect(threads.count == 1)
            threads.runFirst()
            try await group.waitForAll()
        }
        #expect(threads.count == 0)
        #expect(try await HTTPDNSDiskStore(path: folder.file).load() == answers[7])
    }

    @Test("Many concurrent saves leave the file of one of them")
    func storm() async throws {
        let folder = try TemporaryFolder()
        let store = HTTPDNSDiskStore(path: folder.file)
        let answers = try (0..<50).map { [try HTTPDNSStoredResolution.sample("host\($0).test")] }
        try await withThrowingTaskGroup(of: Void.self) { group in
            for list in answers {
                group.addTask { try await store.save(list) }
                group.addTask { _ = try await store.load() }
            }
            try await group.waitForAll()
        }
        let found = try await store.load()
        #expect(answers.contains(found))
        #expect(try folder.names == ["answers.snapshot"])
    }

    /// The others get their results.
    @Test("A canceled caller returns immediately although the disk hangs")
    func cancellation() async throws {
        let threads = Threads()
        let work = SerialWork(startThread: threads.start)
        let first = Task { try await work.run { 1 } }
        while work.waitingCount < 1, !Task.isCancelled { await Task.yield() }
        let second = Task { try await work.run { 2 } }
        while work.waitingCount < 2, !Task.isCancelled { await Task.yield() }
        first.cancel()
        await #expect(throws: CancellationError.self) { try await first.value }
        threads.runFirst()
        #expect(try await second.value == 2)
        let late = Task {
            withUnsafeCurrentTask { $0?.cancel() }
            return try await work.run { 3 }
        }
        await #expect(throws: CancellationError.self) { try await late.value }
        #expect(work.waitingCount == 0)
    }

    /// A deadline that has passed begins nothing.
    @Test("A deadline ends the wait although the work hangs")
    func deadline() async throws {
        let threads = Threads()
        let clock = HTTPDNSManualClock()
        let deadline = clock.now() + .seconds(30)
        let work = SerialWork(startThread: threads.start)
        let call = Task { try await work.run(until: deadline, on: clock) { 1 } }
        await clock.sleepers(atLeast: 1)
        while threads.count < 1, !Task.isCancelled { await Task.yield() }
        clock.advance(by: .seconds(30))
        await #expect(throws: SerialWork.Overdue.self) { try await call.value }
        threads.runFirst()
        await #expect(throws: SerialWork.Overdue.self) { try await work.run(until: deadline, on: clock) { 1 } }
        #expect(threads.count == 0)
    }

    @Test("A missing thread is an error of the store, and the next call tries again")
    func noThread() async throws {
        let folder = try TemporaryFolder()
        let supply = ThreadSupply()
        let work = SerialWork(startThread: supply.start)
        let store = store(in: folder, work)
        for (code, call) in [
            (HTTPDNSResolutionStoreError.Code.notReadable, { _ = try await store.load() }),
            (.notWritable, { try await store.save([]) }),
        ] as [(HTTPDNSResolutionStoreError.Code, () async throws -> Void)] {
            let error = await #expect(throws: HTTPDNSResolutionStoreError.self) { try await call() }
            #expect(error?.code == code)
            #expect(error?.message.contains("no thread") == true)
        }
        supply.open()
        try await store.save([])
        #expect(try await store.load() == [])
    }

    /// Without a thread they run elsewhere.
    @Test(
        "A task's steps run on the worker thread, and other work may run in between"
    )
    func taskSteps() async throws {
        let own = Journal<String>()
        let work = SerialWork { body in
            DetachedThread.start {
                own.write(ProcessState.threadIdentity())
                body()
            }
        }
        let seen = try await work.perform {
            var seen = [ProcessState.threadIdentity()]
            await Task.yield()
            seen.append(ProcessState.threadIdentity())
            // Its own thread is free for that.
            seen.append(try await work.run { ProcessState.threadIdentity() })
            return seen
        }
        #expect(Set(own.all).isSuperset(of: seen), "\(seen)")
        await #expect(throws: CancellationError.self) {
            try await work.perform {
                await Task.yield()
                throw CancellationError()
            }
        }
        let none = SerialWork(startThread: { _ in false })
        let value = try await none.perform {
            await Task.yield()
            return 1
        }
        #expect(value == 1)
    }

    @Test("The queue asks for one thread while there is work, and for another later")
    func queue() {
        var queue = WorkQueue<Int>()
        #expect(queue.submit(1) == .startThread)
        #expect(queue.submit(2) == .none)
        #expect(queue.next() == 1)
        #expect(queue.submit(3) == .none)
        #expect([queue.next(), queue.next(), queue.next()] == [2, 3, nil])
        #expect(queue.submit(4) == .startThread)
        #expect(queue.submit(5) == .none)
        #expect(queue.threadDidNotStart() == [4, 5])
        #expect(queue.submit(6) == .startThread)
    }
}
