// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

import Foundation
import HTTPDNS
import HTTPDNSCurl
import HTTPDNSTesting
import Logging
import ServerRig
import Testing

@testable import HTTPDNSResponseCache

struct FolderAccessTests {
    private let folder: TemporaryFolder
    private let threads = HeldThreads()
    private let clock = HTTPDNSManualClock()

    init() throws { folder = try TemporaryFolder() }

    private var path: String { folder.path("cache") }

    private var names: [String] {
        get throws { try cacheFiles(in: path).filter { $0.hasSuffix(".response") } }
    }

    private func store(limit: Duration, onOutage: @escaping @Sendable () -> Void = {}) throws -> ResponseStore {
        var times = FolderAccess.Times()
        times.limit = limit
        let access = FolderAccess(
            path,
            try CacheFolder(path),
            times,
            time: clock,
            pool: threads.pool(),
            onOutage: onOutage
        )
        let limits = ResponseIndex.Limits(bytes: 1 << 30, entries: 1000, age: 1000)
        return ResponseStore(limits, maximumEntry: 1 << 30, access: access, clock: WallClock { arrival })
    }

    private func storeBody(_ url: String, _ length: Int = 3, in store: ResponseStore) async -> Bool {
        var stored = head([:])
        stored.url = url
        let writer = store.writer(for: stored)
        guard await writer.append([UInt8](repeating: 1, count: length)) else { return false }
        return await writer.finish()
    }

    private func find(_ url: String, in store: ResponseStore) -> ResponseIndex.Entry? {
        store.responses(.variants(url, "")).first?.entry
    }

    /// Holds the thread of a store, after it has ended all work.
    private func hold(_ store: ResponseStore) async throws {
        let pool = try #require(store.access?.pool)
        try await until { pool.threadsAtWork == 0 }
        threads.hold()
    }

    @Test(
        "A call that hangs takes the folder out of use; a later attempt takes it back",
        .enabled("needs its process for itself: HTTPDNS_TEST_ALONE=1") { ServerRig.hasProcessForItself }
    )
    func outage() async throws {
        let outages = Lock(0)
        let log = RecordedLog()
        let store = try store(limit: .seconds(1)) { outages.withLock { $0 += 1 } }
        store.access?.take(log.logger())
        #expect(await storeBody("a", in: store))
        let entry = try #require(find("a", in: store))
        try await hold(store)
        #expect(try await entry.read(0..<3) == nil)
        // From now on nothing waits, and nothing of the folder is found.
        #expect(store.folder == nil && find("a", in: store) == nil && outages.withLock { $0 } == 1)
        let start = ContinuousClock.now
        #expect(await storeBody("b", in: store))
        for _ in 0..<100 { await store.remove(.url("c")) }
        await store.remove(.url("a"))
        #expect(ContinuousClock.now - start < .seconds(20))
        #expect(find("b", in: store)?.isInMemory == true && threads.count == 1)
        // Before the pause is over there is no attempt.
        clock.advance(by: .seconds(29))
        #expect(store.folder == nil && store.access?.pool.waitingCount == 1)
        clock.advance(by: .seconds(1))
        for _ in 0..<10 { #expect(store.folder == nil) }
        #expect(store.access?.pool.waitingCount == 2)
        #expect(try names.count == 1)
        threads.hold(false)
        try #require(await threads.next()).run()
        #expect(store.folder != nil && find("b", in: store)?.isInMemory == true)
        // The response that was invalidated meanwhile has no file any more.
        #expect(try names.isEmpty && find("a", in: store) == nil)
        #expect(await storeBody("d", in: store))
        #expect(find("d", in: store)?.isInMemory == false && outages.withLock { $0 } == 1)
        #expect(
            log.messages == ["cache folder is unavailable; responses stay in memory", "cache folder is in use again"]
        )
        #expect(log.events.first?.metadata?["reason"] == "it does not respond")
    }

    @Test(
        "A folder that ends other calls meanwhile stays in use when one of them is slow",
        .enabled("needs its process for itself: HTTPDNS_TEST_ALONE=1") { ServerRig.hasProcessForItself }
    )
    func slow() async throws {
        let access = FolderAccess(path, try CacheFolder(path), FolderAccess.Times(limit: .seconds(1)))
        let semaphore = DispatchSemaphore(value: 0)
        let isOverdue = Lock(false)
        let reading = Task {
            defer { isOverdue.withLock { $0 = true } }
            try await access.run(until: access.limit()) { _ in _ = semaphore.wait(timeout: .now() + 60) }
        }
        while !isOverdue.withLock({ $0 }) { try await access.run(until: nil) { _ in } }
        await #expect(throws: SerialWork.Overdue.self) { try await reading.value }
        #expect(access.isInUse)
        semaphore.signal()
    }

    @Test("Blocks that wait for a hanging folder have a limit, and return when it responds")
    func waitingBytes() async throws {
        threads.hold()
        let store = try store(limit: .seconds(600))
        let access = try #require(store.access)
        let results = await withTaskGroup(of: Bool.self, returning: [Bool].self) { group in
            for number in 0..<400 {
                group.addTask { await storeBody("\(number)", StoredFile.blockLength, in: store) }
            }
            // Those beyond the limit are not stored, and do not wait.
            var results: [Bool] = []
            while results.count < 144, let result = await group.next() { results.append(result) }
            #expect(results.allSatisfy { !$0 })
            #expect(access.waitingByteCount == FolderAccess.maximumWaitingBytes)
            threads.hold(false)
            await threads.next()?.run()
            for await result in group { results.append(result) }
            return results
        }
        #expect(results.count { $0 } == 256 && access.waitingByteCount == 0)
    }

    @Test("A request without a place in the queue of a hanging folder goes to the server")
    func fullQueue() async throws {
        threads.hold()
        let access = FolderAccess(path, try CacheFolder(path), pool: threads.pool(maximumWaiting: 2))
        for _ in 0..<2 { #expect(access.pool.start {}) }
        await #expect(throws: SerialWork.NoThread.self) { try await access.run(until: nil) { _ in } }
        try #require(await threads.next()).run()
        threads.hold(false)
        try await access.run(until: nil) { _ in }
    }

    @Test("In memory in place of the folder, other responses are evicted for new ones")
    func memoryLimit() {
        let limits = ResponseIndex.Limits(bytes: 1000, entries: 100, age: 1000, memory: 100)
        var index = ResponseIndex(limits)
        func entry(_ number: Int, _ body: ResponseIndex.Body) -> ResponseIndex.Entry {
            var stored = head([:])
            stored.url = "\(number)"
            return ResponseIndex.Entry(stored, body, bodyLength: 0, cost: 30)
        }
        let file = StoredFile(name: "a", room: 0, bodyLength: 0)
        for number in 0..<10 { #expect(index.insert(entry(number, .file(file)), at: arrival).isEmpty) }
        for number in 10..<13 { #expect(index.insert(entry(number, .memory([])), at: arrival).isEmpty) }
        #expect(index.insert(entry(13, .memory([])), at: arrival).map(\.isInMemory) == [true])
        #expect(index.memoryBytes == 90 && index.count == 13)
        #expect(index.reserve(50)?.count == 2 && index.reserve(51) == nil)
        #expect(index.memoryBytes == 30 && index.reserve(60, inMemory: false)?.isEmpty == true)
        index.release(50)
        #expect(index.reserve(60)?.isEmpty == true && index.reservedMemory == 60)
    }

    @Test("A file that the system does not remove is tried again with the next removal")
    func failedRemoval() throws {
        let (access, log) = (FolderAccess(path, try CacheFolder(path)), RecordedLog())
        access.take(log.logger())
        try FileManager.default.createDirectory(atPath: "\(path)/x.response", withIntermediateDirectories: false)
        access.noteUnneeded(["x.response", "gone.response"])
        for _ in 0..<3 { access.removeUnneeded() }
        #expect(access.unneededCount == 1)
        try FileManager.default.removeItem(atPath: "\(path)/x.response")
        access.removeUnneeded()
        #expect(access.unneededCount == 0)
        #expect(log.messages == ["files of the cache folder cannot be removed"])
    }

    // MARK: calls of a client

    @Test(
        "A stored response in a hanging folder comes from the server after the read limit",
        .enabled("needs its process for itself: HTTPDNS_TEST_ALONE=1") { ServerRig.hasProcessForItself }
    )
    func call() async throws {
        let origin = ScriptedWire { request, number in
            let isAsked = request.headerFields.contains(.ifNoneMatch)
            return Scripted(isAsked ? "" : "v\(number)", status: isAsked ? .notModified : .ok, Self.fields)
                .answer(to: request)
        }
        let client = try await CachedClient(origin, folder: path, threads: threads, limit: .seconds(1))
        #expect(texts([try await client.get(), try await client.get()]) == ["miss v0", "hit v0"])
        try await hold(client.cache.own)
        let start = ContinuousClock.now
        #expect(texts([try await client.get()]) == ["miss v1"])
        let waited = ContinuousClock.now - start
        #expect(waited >= .seconds(1) && waited < .seconds(10), "\(waited)")
        #expect(!client.cache.isFolderInUse && client.cache.counters.folderOutages == 1)
        // It is in memory from now on.
        #expect(texts([try await client.get()]) == ["hit v1"])
    }

    private static let fields = ["cache-control": "max-age=60", "etag": "\"1\""]

    @Test("A call gets half of its time to ask the server although the folder hangs")
    func shortCall() async throws {
        // On a busy machine a short time may be over before the server is asked: then the same with a longer one.
        for seconds in [4, 16, 64] where try await isAnswered(within: .seconds(seconds)) { return }
        Issue.record("no call was answered within its time")
    }

    private func isAnswered(within time: Duration) async throws -> Bool {
        let (folder, threads) = (try TemporaryFolder(), HeldThreads())
        let origin = ScriptedWire([Scripted("one", Self.fields), Scripted("two", Self.fields)])
        // The response of the server waits as long for the folder, which is not absent before.
        let limit = time + .seconds(1)
        let client = try await CachedClient(origin, folder: folder.path("cache"), threads: threads, limit: limit)
        _ = try await client.get()
        guard client.cache.entryCount == 1 else { return false }
        let pool = try #require(client.cache.access?.pool)
        try await until { pool.threadsAtWork == 0 }
        threads.hold()
        do {
            let reply = try await client.get {
                $0.changeOptions {
                    $0.timeouts.total = time
                    $0.timeouts.responseHead = nil
                }
            }
            #expect(texts([reply]) == ["miss two"])
        } catch let error as HTTPDNSClientError where error.code == .timedOut {
            return false
        }
        return true
    }

    @Test("The folder of a cache takes no thread of the process's pool for files")
    func ownThreads() async throws {
        let started = Lock(0)
        let pool = ThreadPool(limit: 16) { body in
            started.withLock { $0 += 1 }
            return DetachedThread.start(body)
        }
        try await ThreadPool.$files.withValue(pool) {
            let client = try await CachedClient(ScriptedWire([Scripted("one", Self.fields)]), folder: path)
            #expect(texts([try await client.get(), try await client.get()]) == ["miss one", "hit one"])
            await client.cache.removeAll()
        }
        #expect(started.withLock { $0 } == 0)
        #expect(try names.isEmpty)
    }
}
