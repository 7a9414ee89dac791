// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

import Foundation
import HTTPDNS
import HTTPDNSCore
import HTTPDNSPrimitives
import ServerRig
import Testing

@testable import HTTPDNSResponseCache

/// Threads of a pool that run only when a test says so.
private final class HeldThreads: Sendable {
    struct Body: Sendable {
        let run: @Sendable () -> Void
    }

    private let bodies: AsyncStream<Body>
    private let continuation: AsyncStream<Body>.Continuation
    private let isExhausted = Lock(false)
    private let started = Lock(0)

    /// The number of threads that were asked for.
    var count: Int { started.withLock { $0 } }

    init() { (bodies, continuation) = AsyncStream.makeStream(of: Body.self) }

    /// Returns a pool that has one of the threads at a time.
    func pool() -> ThreadPool {
        ThreadPool(limit: 1) { body in
            guard !self.isExhausted.withLock({ $0 }) else { return false }
            self.started.withLock { $0 += 1 }
            self.continuation.yield(Body(run: body))
            return true
        }
    }

    /// Waits for the next thread.
    func next() async -> Body? { await bodies.first { _ in true } }

    /// Lets no other thread start.
    func exhaust() { isExhausted.withLock { $0 = true } }
}

@Suite("The file of a body that is being stored", .timeLimit(.minutes(2)))
struct StoredBodyWriterTests {
    /// As many bytes as are written at once.
    private static let block = [UInt8](repeating: 1, count: StoredFile.blockLength)

    private let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder() }

    private static func store(_ path: String, writeLimit: Duration = .seconds(60)) throws -> ResponseStore {
        let limits = ResponseIndex.Limits(bytes: 1 << 20, entries: 10, age: 1000)
        return ResponseStore(
            limits,
            maximumEntry: 1 << 20,
            folder: try CacheFolder(path),
            clock: WallClock { arrival },
            writeLimit: writeLimit
        )
    }

    private func writer(_ threads: HeldThreads) throws -> StoredBodyWriter {
        let store = try Self.store(folder.path("cache"))
        return ThreadPool.$files.withValue(threads.pool()) {
            store.writer(for: head([:]), store.beginFetch("http://one.test/"))
        }
    }

    private var names: [String] {
        get throws { try FileManager.default.contentsOfDirectory(atPath: folder.path("cache")) }
    }

    @Test("A file whose first bytes do not fit on the disk is removed")
    func fullDisk() async throws {
        await #expect(processExitsWith: .success) { [path = folder.path("cache") as String] in
            let store = try Self.store(path)
            // The one kind of "no room" that needs no file system of its own. The threads of the pool block its signal.
            var limit = rlimit(rlim_cur: 4096, rlim_max: 4096)
            guard setrlimit(__rlimit_resource_t(RLIMIT_FSIZE.rawValue), &limit) == 0 else { exit(3) }
            let isStorable = await store.writer(for: head([:]), store.beginFetch("http://one.test/")).append(Self.block)
            #expect(!isStorable)
        }
        #expect(try names == [])
    }

    /// The limit of descriptors is that of a process of its own.
    @Test("Without a descriptor no folder opens, and no stored response is removed")
    func noDescriptor() async throws {
        await #expect(processExitsWith: .success) { [path = folder.path("cache") as String] in
            let store = try Self.store(path)
            let writer = store.writer(for: head([:]), store.beginFetch("http://one.test/"))
            let (isStorable, isStored) = (await writer.append([1, 2, 3]), await writer.finish())
            #expect(isStorable && isStored)
            let entry = try #require(store.all.first)
            // The threads of the pool have started.
            #expect(try await store.body(of: entry, 0..<3)?.collect(upTo: .kibibytes(1)) == [1, 2, 3])
            var limit = rlimit()
            let kind = __rlimit_resource_t(RLIMIT_NOFILE.rawValue)
            guard getrlimit(kind, &limit) == 0 else { exit(3) }
            var none = limit
            none.rlim_cur = 0
            guard setrlimit(kind, &none) == 0 else { exit(3) }
            let body = try await store.body(of: entry, 0..<3)
            var changed = entry.head
            changed.reason = "changed"
            await store.update(entry, changed)
            let loading = #expect(throws: HTTPDNSClient.ResponseCache.Error.self) { try store.folder?.load() }
            let opening = #expect(throws: HTTPDNSClient.ResponseCache.Error.self) { try CacheFolder(path + "2") }
            guard setrlimit(kind, &limit) == 0 else { exit(3) }
            #expect(body == nil && store.count == 1 && store.all.first?.head == entry.head)
            #expect(loading?.message.contains("Too many open files") == true)
            #expect(opening?.message.contains("Too many open files") == true)
            #expect(try await store.body(of: entry, 0..<3)?.collect(upTo: .kibibytes(1)) == [1, 2, 3])
            // A file that is gone is damage.
            store.folder?.remove(try #require(try FileManager.default.contentsOfDirectory(atPath: path).first))
            let gone = try await store.body(of: entry, 0..<3)
            #expect(gone == nil && store.count == 0)
        }
    }

    @Test("A body in memory takes little more than the bytes that count towards the limit")
    func memory() async throws {
        let limits = ResponseIndex.Limits(bytes: 1 << 20, entries: 10, age: 1000)
        let store = ResponseStore(limits, maximumEntry: 1 << 20, clock: WallClock { arrival })
        let writer = store.writer(for: head([:]), store.beginFetch("http://one.test/"))
        for _ in 0..<70 { _ = await writer.append([UInt8](repeating: 1, count: 1000)) }
        let isStored = await writer.finish()
        #expect(isStored)
        guard case .memory(let bytes)? = store.all.first?.body else {
            Issue.record("nothing is stored")
            return
        }
        #expect(bytes.count == 70_000 && bytes.capacity < 80_000)
    }

    @Test("A file that is created after its body was canceled is removed")
    func canceled() async throws {
        let threads = HeldThreads()
        let writer = try writer(threads)
        let appending = Task { await writer.append(Self.block) }
        let thread = try #require(await threads.next())
        appending.cancel()
        let isStorable = await appending.value
        #expect(!isStorable)
        thread.run()
        #expect(try names == [])
    }

    @Test("A file is removed when no thread is left to finish it")
    func noThread() async throws {
        let threads = HeldThreads()
        let writer = try writer(threads)
        let appending = Task { await writer.append(Self.block) }
        let thread = try #require(await threads.next())
        thread.run()
        let isStorable = await appending.value
        #expect(isStorable)
        #expect(try names.count == 1)
        threads.exhaust()
        let isStored = await writer.finish()
        #expect(!isStored)
        #expect(try names == [])
    }

    /// They could wait for a disk, and the threads of Swift's own pool are few.
    @Test("Files are opened, read and removed on threads of the pool alone")
    func blockingCalls() async throws {
        let (store, threads) = (try Self.store(folder.path("cache")), HeldThreads())
        let writer = store.writer(for: head([:]), store.beginFetch("http://one.test/"))
        let isStorable = await writer.append([1, 2, 3])
        let isStored = await writer.finish()
        #expect(isStorable && isStored)
        let entry = try #require(store.all.first)
        let pool = threads.pool()
        let reading = ThreadPool.$files.withValue(pool) {
            Task { try await store.body(of: entry, 0..<3)?.collect(upTo: .kibibytes(1)) }
        }
        try await until { threads.count == 1 }
        let removing = ThreadPool.$files.withValue(pool) { Task { await store.remove(entry) } }
        try await until { store.count == 0 && pool.waitingCount == 2 }
        #expect(try names.count == 1)
        // The thread does both, one after the other.
        try #require(await threads.next()).run()
        #expect(try await reading.value == [1, 2, 3])
        await removing.value
        #expect(try names == [])
    }

    // MARK: a file system that does not respond

    /// Long enough that a busy machine does everything else within it.
    private static let limit = Duration.seconds(5)

    /// Stores a body of a length in the usual way.
    private static func stored(_ length: Int, in store: ResponseStore) async throws -> ResponseIndex.Entry {
        let writer = store.writer(for: head([:]), store.beginFetch("http://one.test/"))
        let isStorable = await writer.append([UInt8](repeating: 1, count: length))
        let isStored = await writer.finish()
        #expect(isStorable && isStored)
        return try #require(store.all.first)
    }

    /// Checks that work ends with its limit, and not much later.
    private static func timed<Value: Sendable>(_ work: () async throws -> Value) async rethrows -> Value {
        let start = ContinuousClock.now
        let value = try await work()
        let waited = ContinuousClock.now - start
        #expect(waited >= limit && waited < limit * 10, "\(waited)")
        return value
    }

    @Test("A body that its folder does not take in time is not stored")
    func overdueWrite() async throws {
        let (threads, store) = (HeldThreads(), try Self.store(folder.path("cache"), writeLimit: Self.limit))
        let writer = ThreadPool.$files.withValue(threads.pool()) {
            store.writer(for: head([:]), store.beginFetch("http://one.test/"))
        }
        let isStorable = await Self.timed { await writer.append(Self.block) }
        #expect(!isStorable)
        // The thread is not needed for what follows.
        let isStorableLater = await writer.append(Self.block)
        let isStored = await writer.finish()
        #expect(!isStorableLater && !isStored)
        try #require(await threads.next()).run()
        #expect(try names == [] && store.bytes == 0)
    }

    @Test("A body whose file does not get its name in time is not stored")
    func overdueEnd() async throws {
        let (threads, store) = (HeldThreads(), try Self.store(folder.path("cache"), writeLimit: Self.limit))
        let writer = ThreadPool.$files.withValue(threads.pool()) {
            store.writer(for: head([:]), store.beginFetch("http://one.test/"))
        }
        let appending = Task { await writer.append(Self.block) }
        try #require(await threads.next()).run()
        let isStorable = await appending.value
        #expect(isStorable)
        let isStored = await Self.timed { await writer.finish() }
        #expect(!isStored)
        try #require(await threads.next()).run()
        #expect(try names == [] && store.count == 0 && store.bytes == 0)
    }

    @Test("A file that is not removed in time keeps nobody waiting")
    func overdueRemoval() async throws {
        let (threads, store) = (HeldThreads(), try Self.store(folder.path("cache"), writeLimit: Self.limit))
        let entry = try await Self.stored(3, in: store)
        await ThreadPool.$files.withValue(threads.pool()) { await Self.timed { await store.remove(entry) } }
        #expect(try store.count == 0 && names.count == 1)
        try #require(await threads.next()).run()
        #expect(try names == [])
    }

    @Test("A stored response that is not read within the time of its request stays stored")
    func overdueRead() async throws {
        let (threads, store) = (HeldThreads(), try Self.store(folder.path("cache")))
        let entry = try await Self.stored(3, in: store)
        let body = try await ThreadPool.$files.withValue(threads.pool()) {
            try await Self.timed {
                let time = ReadTime(head: SystemTimeSource().now() + Self.limit)
                return try await store.body(of: entry, 0..<3, until: time)
            }
        }
        #expect(body == nil && store.count == 1)
        #expect(try await store.body(of: entry, 0..<3)?.collect(upTo: .kibibytes(1)) == [1, 1, 1])
    }

    @Test("A stored body that is not read within the time of its call is an error")
    func overdueBody() async throws {
        let (threads, store) = (HeldThreads(), try Self.store(folder.path("cache")))
        let length = StoredFile.blockLength * 2
        let entry = try await Self.stored(length, in: store)
        let time = ReadTime(body: SystemTimeSource().now() + Self.limit)
        let body = try #require(try await store.body(of: entry, 0..<Int64(length), until: time))
        let start = ContinuousClock.now
        let error = await ThreadPool.$files.withValue(threads.pool()) {
            await #expect(throws: HTTPDNSClientError.self) { try await body.collect(upTo: .mebibytes(1)) }
        }
        #expect(error?.code == .timedOut && error?.phase == .body && error?.isCallDeadline == true)
        #expect(ContinuousClock.now - start < Self.limit * 10 && store.count == 1)
    }

    /// The server is asked in place of the folder.
    @Test("A call ends with its time limit while the folder of the cache does not respond")
    func overdueCall() async throws {
        let threads = HeldThreads()
        let origin = ScriptedOrigin { request, number in
            guard number == 0 else { throw TransferFailureSample.refused }
            return Scripted("one", CachingTests.maxAge).answer(to: request)
        }
        let client = try await CachedClient(origin, folder: folder.path("cache"))
        _ = try await client.get()
        let start = ContinuousClock.now
        await ThreadPool.$files.withValue(threads.pool()) {
            _ = await #expect(throws: HTTPDNSClientError.self) {
                try await client.get { $0.options.timeout = .seconds(1) }
            }
        }
        let waited = ContinuousClock.now - start
        #expect(waited >= .seconds(1) && waited < .seconds(5), "\(waited)")
        #expect(client.cache.entryCount == 1)
    }
}
