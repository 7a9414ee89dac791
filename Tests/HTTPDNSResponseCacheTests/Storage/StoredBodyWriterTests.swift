// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

import Foundation
import HTTPDNS
import ServerRig
import Testing

@testable import HTTPDNSResponseCache

struct StoredBodyWriterTests {
    /// As many bytes as are written at once.
    private static let block = [UInt8](repeating: 1, count: StoredFile.blockLength)

    private let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder() }

    private static func store(
        _ path: String,
        _ threads: HeldThreads = HeldThreads(),
        limit: Duration = .seconds(3600),
        bodyPart: Duration = .seconds(3600)
    ) throws -> ResponseStore {
        let limits = ResponseIndex.Limits(bytes: 1 << 20, entries: 10, age: 1000)
        var times = FolderAccess.Times()
        (times.limit, times.bodyPart) = (limit, bodyPart)
        return ResponseStore(
            limits,
            maximumEntry: 1 << 20,
            access: FolderAccess(path, try CacheFolder(path), times, pool: threads.pool()),
            clock: WallClock { arrival }
        )
    }

    private func writer(_ threads: HeldThreads) throws -> StoredBodyWriter {
        let store = try Self.store(folder.path("cache"), threads)
        return store.writer(for: head([:]))
    }

    private var names: [String] {
        get throws { try cacheFiles(in: folder.path("cache")) }
    }

    @Test("A file whose first bytes do not fit on the disk is removed")
    func fullDisk() async throws {
        await #expect(processExitsWith: .success) { [path = folder.path("cache") as String] in
            let store = try Self.store(path)
            // The one kind of "no room" that needs no file system of its own. The threads of the pool block its signal.
            var limit = rlimit(rlim_cur: 4096, rlim_max: 4096)
            guard setrlimit(__rlimit_resource_t(RLIMIT_FSIZE.rawValue), &limit) == 0 else { exit(3) }
            let isStorable = await store.writer(for: head([:])).append(Self.block)
            #expect(!isStorable)
        }
        #expect(try names == [])
    }

    /// The limit of descriptors is that of a process of its own.
    @Test("Without a descriptor no folder opens, and no stored response is removed")
    func noDescriptor() async throws {
        await #expect(processExitsWith: .success) { [path = folder.path("cache") as String] in
            let store = try Self.store(path)
            let writer = store.writer(for: head([:]))
            let (isStorable, isStored) = (await writer.append([1, 2, 3]), await writer.finish())
            #expect(isStorable && isStored)
            let entry = try #require(store.all.first)
            // The threads of the pool have started.
            #expect(try await entry.read(0..<3)?.collect(upTo: .kibibytes(1)) == [1, 2, 3])
            var limit = rlimit()
            let kind = __rlimit_resource_t(RLIMIT_NOFILE.rawValue)
            guard getrlimit(kind, &limit) == 0 else { exit(3) }
            var none = limit
            none.rlim_cur = 0
            guard setrlimit(kind, &none) == 0 else { exit(3) }
            let body = try await entry.read(0..<3)
            var changed = entry.head
            changed.reason = "changed"
            await store.update(StoredResponse(entry), to: StoredResponse(entry.with(changed)))
            let loading = #expect(throws: HTTPDNSClient.ResponseCache.Error.self) { try store.folder?.load() }
            let probing = #expect(throws: HTTPDNSClient.ResponseCache.Error.self) { try store.folder?.probe() }
            let opening = #expect(throws: HTTPDNSClient.ResponseCache.Error.self) { try CacheFolder(path + "2") }
            guard setrlimit(kind, &limit) == 0 else { exit(3) }
            #expect(body == nil && store.size.entries == 1 && store.all.first?.head == entry.head)
            #expect(loading?.message.contains("Too many open files") == true)
            #expect(opening?.message.contains("Too many open files") == true)
            #expect(loading?.isPassing == true && opening?.isPassing == true && probing?.isPassing == true)
            #expect(try await entry.read(0..<3)?.collect(upTo: .kibibytes(1)) == [1, 2, 3])
            // A file that is gone is damage.
            store.folder?.remove(try #require(try cacheFiles(in: path).first))
            let gone = try await entry.read(0..<3)
            #expect(gone == nil && store.size.entries == 0)
        }
    }

    @Test("A body in memory takes little more than the bytes that count towards the limit")
    func memory() async throws {
        let limits = ResponseIndex.Limits(bytes: 1 << 20, entries: 10, age: 1000)
        let store = ResponseStore(limits, maximumEntry: 1 << 20, clock: WallClock { arrival })
        let writer = store.writer(for: head([:]))
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
        let threads = HeldThreads(isHeld: true)
        let writer = try writer(threads)
        let appending = Task { await writer.append(Self.block) }
        let thread = try #require(await threads.next())
        appending.cancel()
        let isStorable = await appending.value
        #expect(!isStorable)
        thread.run()
        #expect(try names == [])
    }

    @Test("A file that no thread could finish or remove is removed with the next one")
    func noThread() async throws {
        let threads = HeldThreads(isHeld: true)
        let store = try Self.store(folder.path("cache"), threads)
        let writer = store.writer(for: head([:]))
        let appending = Task { await writer.append(Self.block) }
        let thread = try #require(await threads.next())
        thread.run()
        let isStorable = await appending.value
        #expect(isStorable)
        #expect(try names.count == 1)
        threads.exhaust()
        let isStored = await writer.finish()
        #expect(!isStored)
        #expect(try names.count == 1 && store.access?.unneededCount == 1)
        threads.exhaust(false)
        threads.hold(false)
        await store.remove(.one(try await Self.stored(3, in: store)))
        #expect(try names == [] && store.access?.unneededCount == 0)
    }

    /// They could wait for a disk, and the threads of Swift's own pool are few.
    @Test("Files are opened, read and removed on threads of the folder alone")
    func blockingCalls() async throws {
        let threads = HeldThreads()
        let store = try Self.store(folder.path("cache"), threads)
        let writer = store.writer(for: head([:]))
        let isStorable = await writer.append([1, 2, 3])
        let isStored = await writer.finish()
        #expect(isStorable && isStored)
        let entry = try #require(store.all.first)
        let pool = try #require(store.access?.pool)
        try await until { pool.threadsAtWork == 0 }
        threads.hold()
        let reading = Task { try await entry.read(0..<3)?.collect(upTo: .kibibytes(1)) }
        try await until { threads.count == 1 }
        let removing = Task { await store.remove(.one(entry)) }
        try await until { store.size.entries == 0 && pool.waitingCount == 2 }
        #expect(try names.count == 1)
        // The thread does both, one after the other.
        try #require(await threads.next()).run()
        #expect(try await reading.value == [1, 2, 3])
        await removing.value
        #expect(try names == [])
    }

    // MARK: a file system that does not respond

    /// All other limits are an hour, which ends the suite's time.
    private static let limit = Duration.seconds(1)

    /// Stores a body of a length in the usual way.
    private static func stored(_ length: Int, in store: ResponseStore) async throws -> ResponseIndex.Entry {
        let writer = store.writer(for: head([:]))
        let isStorable = await writer.append([UInt8](repeating: 1, count: length))
        let isStored = await writer.finish()
        #expect(isStorable && isStored)
        return try #require(store.all.first)
    }

    /// Holds the thread of a store, after it has ended all work.
    private static func hold(_ threads: HeldThreads, _ store: ResponseStore) async throws {
        let pool = try #require(store.access?.pool)
        try await until { pool.threadsAtWork == 0 }
        threads.hold()
    }

    /// Checks that work ends with its limit, and not before; without it, it would not end.
    private static func timed<Value: Sendable>(_ work: () async throws -> Value) async rethrows -> Value {
        let start = ContinuousClock.now
        let value = try await work()
        let waited = ContinuousClock.now - start
        #expect(waited >= limit, "\(waited)")
        return value
    }

    @Test("A body that its folder does not take in time is not stored")
    func overdueWrite() async throws {
        let threads = HeldThreads(isHeld: true)
        let store = try Self.store(folder.path("cache"), threads, limit: Self.limit)
        let writer = store.writer(for: head([:]))
        let isStorable = await Self.timed { await writer.append(Self.block) }
        #expect(!isStorable)
        // The thread is not needed for what follows.
        let isStorableLater = await writer.append(Self.block)
        let isStored = await writer.finish()
        #expect(!isStorableLater && !isStored)
        try #require(await threads.next()).run()
        #expect(try names == [] && store.size.bytes == 0)
    }

    @Test(
        "A body whose file does not get its name in time is not stored",
        .enabled("needs its process for itself: HTTPDNS_TEST_ALONE=1") { ServerRig.hasProcessForItself }
    )
    func overdueEnd() async throws {
        let threads = HeldThreads(isHeld: true)
        let store = try Self.store(folder.path("cache"), threads, limit: Self.limit)
        let writer = store.writer(for: head([:]))
        let appending = Task { await writer.append(Self.block) }
        try #require(await threads.next()).run()
        let isStorable = await appending.value
        #expect(isStorable)
        let isStored = await Self.timed { await writer.finish() }
        #expect(!isStored)
        try #require(await threads.next()).run()
        #expect(try names == [] && store.size.entries == 0 && store.size.bytes == 0)
    }

    @Test(
        "A file that is not removed in time keeps nobody waiting",
        .enabled("needs its process for itself: HTTPDNS_TEST_ALONE=1") { ServerRig.hasProcessForItself }
    )
    func overdueRemoval() async throws {
        let threads = HeldThreads()
        let store = try Self.store(folder.path("cache"), threads, limit: Self.limit)
        let entry = try await Self.stored(3, in: store)
        try await Self.hold(threads, store)
        await Self.timed { await store.remove(.one(entry)) }
        #expect(try store.size.entries == 0 && names.count == 1)
        try #require(await threads.next()).run()
        #expect(try names == [])
    }

    @Test("A stored response that is not read in half of its request's time stays stored")
    func overdueRead() async throws {
        let threads = HeldThreads()
        let store = try Self.store(folder.path("cache"), threads)
        let entry = try await Self.stored(3, in: store)
        try await Self.hold(threads, store)
        let body = try await Self.timed {
            let time = ReadTime(head: SystemTimeSource().now() + Self.limit * 2)
            return try await entry.read(0..<3, until: time)
        }
        #expect(body == nil && store.size.entries == 1 && store.folder != nil)
        try #require(await threads.next()).run()
        threads.hold(false)
        #expect(try await entry.read(0..<3)?.collect(upTo: .kibibytes(1)) == [1, 1, 1])
    }

    @Test("A stored body that is not read within the time of its call is an error")
    func overdueBody() async throws {
        let threads = HeldThreads()
        let store = try Self.store(folder.path("cache"), threads)
        let length = StoredFile.blockLength * 2
        let entry = try await Self.stored(length, in: store)
        let time = ReadTime(body: SystemTimeSource().now() + Self.limit)
        let body = try #require(try await entry.read(0..<Int64(length), until: time))
        try await Self.hold(threads, store)
        let error = await #expect(throws: HTTPDNSClientError.self) { try await body.collect(upTo: .mebibytes(1)) }
        #expect(error?.code == .timedOut && error?.phase == .body && error?.isCallDeadline == true)
        #expect(store.size.entries == 1)
    }

    @Test("A stored body without a time limit ends with an error in a folder that hangs")
    func overdueBodyWithoutLimit() async throws {
        let threads = HeldThreads()
        let store = try Self.store(folder.path("cache"), threads, bodyPart: Self.limit)
        let length = StoredFile.blockLength * 2
        let entry = try await Self.stored(length, in: store)
        let body = try #require(try await entry.read(0..<Int64(length)))
        try await Self.hold(threads, store)
        let error = await #expect(throws: HTTPDNSClientError.self) { try await body.collect(upTo: .mebibytes(1)) }
        #expect(error?.code == .timedOut && error?.phase == .body && error?.isCallDeadline == false)
    }
}
