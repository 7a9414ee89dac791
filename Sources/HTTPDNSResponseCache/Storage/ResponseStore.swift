// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

internal import HTTPDNS
internal import HTTPDNSCore
internal import HTTPDNSCurl
internal import HTTPDNSPrimitives
internal import HTTPTypes

/// The stored responses, in memory or in a folder. While the folder is absent they are in memory.
final class ResponseStore: HTTPDNSResponseStore {
    /// The longest body in a file that is checked as a whole before it is returned.
    private static let checkedLength: Int64 = 16 << 20
    /// The longest body in a file that is read as a whole before it is returned.
    private static let shortLength = Int64(StoredFile.blockLength)

    private let index: Lock<ResponseIndex>
    private let clock: WallClock
    /// The access to the folder; nil for a store in memory.
    let access: FolderAccess?
    /// The longest response that is stored, in bytes.
    private let maximumEntry: Int
    /// The same while the folder is absent.
    private let maximumEntryInMemory: Int
    /// The age in milliseconds at which a response is too old.
    private let oldestAge: Int64
    /// Called with the number of responses that were evicted, and of those that were damaged.
    private let onLoss: @Sendable (_ evicted: Int, _ damaged: Int) -> Void

    /// The most bytes in memory while the folder is absent.
    static let memoryInPlace = 64 << 20

    /// - Parameter access: The access to the folder. One that is not open yet is opened by ``open()``, or with a later request.
    init(
        _ limits: ResponseIndex.Limits,
        maximumEntry: Int,
        access: FolderAccess? = nil,
        clock: WallClock,
        onLoss: @escaping @Sendable (_ evicted: Int, _ damaged: Int) -> Void = { _, _ in }
    ) {
        var limits = limits
        if access != nil { limits.memory = min(limits.bytes, Self.memoryInPlace) }
        index = Lock(ResponseIndex(limits, awaitsFolder: access != nil && access?.opened == nil))
        self.access = access
        self.clock = clock
        self.maximumEntry = maximumEntry
        oldestAge = limits.age
        maximumEntryInMemory = min(maximumEntry, limits.memory == .max ? .max : limits.memory / 2)
        self.onLoss = onLoss
    }

    // MARK: the folder

    /// The folder while it is in use; nil while it is absent, and for a store in memory.
    var folder: CacheFolder? {
        guard let access else { return nil }
        let (folder, isAttemptDue) = access.current()
        if isAttemptDue { attempt(access) { _ in } }
        return folder
    }

    /// Opens the folder. One that is not available now, or that does not respond in time, is absent.
    /// - Throws: ``HTTPDNSClient/ResponseCache/Error`` for a folder that only other settings or permissions make usable;
    ///   `CancellationError`.
    func open() async throws {
        guard let access, access.current().isAttemptDue else { return }
        let outcome = OneShot<HTTPDNSClient.ResponseCache.Error?>()
        let deadline = SystemTimeSource().now() + access.times.opening
        // Its end may come late, and must not keep the folder from the next cache.
        let timer = SystemTimeSource().alarm(at: deadline) { [weak access] in
            // It writes to the user's log.
            if outcome.deliver(nil), let access { CallWork.detached { access.noteSlowOpening() } }
            return nil
        }
        defer { timer.cancel() }
        attempt(access) { outcome.deliver($0) }
        let error = await outcome.value(orOnCancel: nil)
        try Task.checkCancellation()
        if let error { throw error }
    }

    /// Finds out whether the folder responds, and opens it if it is not open yet.
    /// - Parameter completion: Called at the end, with the error of a folder that cannot be used with the present settings.
    private func attempt(
        _ access: FolderAccess,
        _ completion: @escaping @Sendable (HTTPDNSClient.ResponseCache.Error?) -> Void
    ) {
        let isTaken = access.pool.start { [weak self] in
            var failure: HTTPDNSClient.ResponseCache.Error?
            do throws(HTTPDNSClient.ResponseCache.Error) {
                if let folder = access.opened {
                    try folder.probe()
                } else {
                    let folder = try CacheFolder(access.path)
                    try folder.probe()
                    try self?.load(folder, access)
                }
            } catch {
                failure = error
            }
            if failure == nil { access.removeUnneeded() }
            access.endAttempt(failure?.reason)
            completion(failure.flatMap { $0.isPassing ? nil : $0 })
        }
        guard !isTaken else { return }
        access.endAttempt("no thread is free for it")
        completion(nil)
    }

    /// Adds the responses of a folder. This call blocks.
    private func load(_ folder: CacheFolder, _ access: FolderAccess) throws(HTTPDNSClient.ResponseCache.Error) {
        var (unreadable, first): (Int, String) = (0, "")
        // A clock that was ahead is no reason to drop all: such entries are validated before use.
        let loaded = try folder.load((clock.now() - oldestAge) ... .max) { name, number in
            if unreadable == 0 { first = "\(name): \(systemErrorText(number))" }
            unreadable += 1
        } remove: {
            access.noteUnneeded([$0])
        }
        if unreadable > 0 {
            access.noteUnreadable(unreadable, first: first)
            onLoss(0, unreadable)
        }
        access.open(folder)
        // Requests go on meanwhile.
        for start in stride(from: 0, to: loaded.count, by: 256) {
            let now = clock.now()
            let removed = index.withLock { index in
                loaded[start..<min(start + 256, loaded.count)].flatMap { head, file in
                    index.load(
                        entry(head, file),
                        at: now
                    )
                }
            }
            access.noteUnneeded(names(of: removed))
        }
        index.withLock { $0.endLoading() }
    }

    /// Returns the entry of a response with a file.
    fileprivate func entry(_ head: StoredHead, _ file: StoredFile) -> ResponseIndex.Entry {
        ResponseIndex.Entry(head, .file(file), bodyLength: file.bodyLength, cost: Int(file.length)) {
            [weak self] entry, range, time in
            try await self?.body(of: entry, file, range, until: time)
        }
    }

    var size: (entries: Int, bytes: Int) { current { ($0.count, $0.bytes) } }
    var all: [ResponseIndex.Entry] { current(\.all) }

    /// Returns a value of the index after the entries that are too old were removed.
    private func current<Value: Sendable>(_ value: (ResponseIndex) -> Value) -> Value {
        let now = clock.now()
        let (removed, result) = index.withLock { index in (index.removeExpired(at: now), value(index)) }
        dropLater(removed)
        return result
    }

    private func dropLater(_ entries: [ResponseIndex.Entry]) {
        guard !entries.isEmpty else { return }
        onLoss(entries.count, 0)
        deleteLater(names(of: entries))
    }

    /// Returns stored responses. While the folder is absent, its responses are passed over.
    func responses(_ selection: HTTPDNSClient.ResponseCache.Selection) -> [HTTPDNSClient.ResponseCache.StoredResponse] {
        guard let url = selection.url, let partition = selection.partition else {
            return all.map(HTTPDNSClient.ResponseCache.StoredResponse.init).filter(selection.contains)
        }
        var removed: [ResponseIndex.Entry] = []
        let now = clock.now()
        let found = index.withLock { $0.responses(url, partition, at: now, removed: &removed) }
        dropLater(removed)
        let hasFolder = access == nil || folder != nil
        return hasFolder ? found : found.filter(\.entry.isInMemory)
    }

    // MARK: reading

    /// Returns a body in a file, or a part of it.
    /// - Returns: Nil when its file is gone or damaged, and the entry is removed then; nil too when the system has no thread,
    ///   cannot read the file now, or has not done so in time, and the entry stays.
    /// - Throws: `CancellationError`.
    private func body(
        of entry: ResponseIndex.Entry,
        _ file: StoredFile,
        _ range: Range<Int64>,
        until time: ReadTime
    ) async throws -> HTTPDNSClient.Response.Body? {
        guard let access, let folder else { return nil }
        guard !range.isEmpty else { return .bytes([]) }
        let id = entry.id
        let onDamage: @Sendable () async -> Void = { [weak self] in await self?.removeDamaged(id) }
        let opened: (body: StoredBody, bytes: [UInt8]?)
        do {
            let limit = access.limit(before: time.head)
            opened = try await access.run(until: limit) { call in
                let body = StoredBody(
                    open: try folder.open(file),
                    file: file,
                    range: range,
                    access: access,
                    deadline: time.body,
                    onDamage: onDamage
                )
                if range.count <= Self.shortLength { return (body, try body.readAll()) }
                // A folder that is slow checks the rest while it is read.
                let end = SystemTimeSource().now()
                if range.count <= Self.checkedLength { try body.check(until: end + (limit - end) / 2, call) }
                return (body, nil)
            }
        } catch CacheFileError.damaged {
            await removeDamaged(id)
            return nil
        } catch is CacheFileError, is FolderAccess.Absent, is SerialWork.NoThread, is SerialWork.Overdue {
            return nil
        }
        return opened.bytes.map { .bytes($0) } ?? .stream(opened.body, length: Int64(range.count))
    }

    private func removeDamaged(_ id: UInt64) async {
        guard let entry = index.withLock({ $0.remove(id) }) else { return }
        onLoss(0, 1)
        await delete(names(of: [entry]))
    }

    // MARK: changes

    func writer(for response: HTTPDNSClient.ResponseCache.StoredResponse) -> (any HTTPDNSResponseWriter)? {
        StoredBodyWriter(response.entry.head, self, response.entry.ticket)
    }

    /// Replaces the head of a stored response. One that does not fit into its file is removed from the store. The old head
    /// stays when the file cannot be opened now, or not in time.
    func update(
        _ response: HTTPDNSClient.ResponseCache.StoredResponse,
        to newer: HTTPDNSClient.ResponseCache.StoredResponse
    ) async {
        let (entry, head) = (response.entry, newer.entry.head)
        guard let evicted = index.withLock({ $0.update(entry.id, head) }) else { return }
        await drop(evicted)
        guard case .file(let file) = entry.body, let access, let folder else { return }
        do {
            try await CallWork.task { () -> Result<Void, any Error> in
                do {
                    return .success(try await access.run(until: access.limit()) { _ in try folder.update(file, head) })
                } catch {
                    return .failure(error)
                }
            }.value.get()
        } catch CacheFileError.damaged {
            await remove(.one(entry))
        } catch {
            // A newer head stays.
            await drop(index.withLock { $0.update(entry.id, entry.head, in: head) } ?? [])
        }
    }

    /// Removes responses. Those of a folder that was not opened yet cannot be told apart without a URL, and are removed all.
    func remove(_ selection: HTTPDNSClient.ResponseCache.Selection) async {
        let removed = index.withLock { index in
            guard let entries = selection.entries else {
                return selection.url.map { index.removeAll(url: $0) } ?? index.removeAll()
            }
            index.noteInvalid(selection.url)
            return entries.compactMap { index.remove($0.id) }
        }
        await delete(names(of: removed))
    }

    /// Reserves bytes for a response that is being stored.
    /// - Returns: Whether there is room.
    fileprivate func reserve(_ count: Int, of total: Int, inMemory: Bool) async -> Bool {
        guard total <= (inMemory ? maximumEntryInMemory : maximumEntry),
            let evicted = index.withLock({ $0.reserve(count, inMemory: inMemory) })
        else { return false }
        await drop(evicted)
        return true
    }

    fileprivate func release(_ count: Int, inMemory: Bool) {
        index.withLock { $0.release(count, inMemory: inMemory) }
    }

    /// Adds a response whose bytes are reserved, unless it was invalidated since its request was sent.
    /// - Returns: Whether it is stored.
    fileprivate func insert(_ entry: ResponseIndex.Entry, reserved: Int, _ ticket: FetchTicket?) async -> Bool {
        let now = clock.now()
        let removed = index.withLock { index -> [ResponseIndex.Entry]? in
            index.release(reserved, inMemory: entry.isInMemory)
            return ticket?.isCurrent ?? true ? index.insert(entry, at: now) : nil
        }
        guard let removed else {
            await delete(names(of: [entry]))
            return false
        }
        let others = removed.filter { $0.id != entry.id }
        await drop(others)
        guard others.count == removed.count else {
            await delete(names(of: [entry]))
            return false
        }
        return true
    }

    private func drop(_ entries: [ResponseIndex.Entry]) async {
        guard !entries.isEmpty else { return }
        onLoss(entries.count, 0)
        await delete(names(of: entries))
    }

    private func names(of entries: [ResponseIndex.Entry]) -> [String] {
        access == nil ? [] : entries.compactMap { if case .file(let file) = $0.body { file.name } else { nil } }
    }

    /// Removes files on a thread that may block. A file that is being read stays open. It is done also for a canceled task,
    /// since the index has forgotten the files. The caller waits no longer than for a read. Files of an absent folder are
    /// removed when it responds again.
    fileprivate func delete(_ names: [String]) async {
        guard !names.isEmpty, let access else { return }
        access.noteUnneeded(names)
        guard folder != nil else { return }
        await CallWork.task {
            try? await access.run(until: access.limit()) { call in access.removeUnneeded(call) }
        }.value
    }

    /// Removes files as ``delete(_:)`` does, without a wait.
    fileprivate func deleteLater(_ names: [String], _ completion: @escaping @Sendable () -> Void = {}) {
        guard let access, !names.isEmpty else { return completion() }
        access.noteUnneeded(names)
        guard folder != nil else { return completion() }
        let isTaken = access.pool.start {
            access.removeUnneeded()
            completion()
        }
        if !isTaken { completion() }
    }
}

/// The writer of one body. It is dropped or discarded when the body does not arrive whole.
final class StoredBodyWriter: HTTPDNSResponseWriter {
    private struct State: Sendable {
        var head: StoredHead
        /// The bytes that are not in a file yet: all of them in memory, at most a block on disk.
        var waiting: [UInt8] = []
        var length: Int64 = 0
        var reserved = 0
        var file: OpenCacheFile?
        var part: String?
        var isEnded = false
    }

    private let state: Lock<State>
    private let store: ResponseStore
    private let ticket: FetchTicket?
    private let room: Int
    /// The place of the body; nil in memory.
    private let place: (folder: CacheFolder, access: FolderAccess, work: SerialWork)?

    init(_ head: StoredHead, _ store: ResponseStore, _ ticket: FetchTicket?) {
        state = Lock(State(head: head))
        self.store = store
        self.ticket = ticket
        if let access = store.access, let folder = store.folder {
            place = (folder, access, SerialWork(on: access.pool))
            room = StoredFile.room(for: head.encoded)
        } else {
            place = nil
            room = head.size
        }
    }

    deinit { discard() }

    /// Appends bytes. After an error of the file system, a write that takes too long, or without room, the response is not
    /// stored.
    /// - Returns: Whether the response can still be stored.
    func append(_ bytes: [UInt8]) async -> Bool {
        guard await reserve(bytes.count) else {
            discard()
            return false
        }
        let block: ArraySlice<UInt8>? = state.withLock { state in
            state.waiting += bytes
            state.length += Int64(bytes.count)
            return place == nil || state.waiting.count < StoredFile.blockLength ? nil : state.waiting[...]
        }
        guard let block else { return true }
        let count = block.count / StoredFile.blockLength * StoredFile.blockLength
        guard await write(block.prefix(count)) else {
            discard()
            return false
        }
        state.withLock { $0.waiting.removeFirst(min(count, $0.waiting.count)) }
        return true
    }

    private func reserve(_ count: Int) async -> Bool {
        let total = state.withLock { state -> Int? in state.isEnded ? nil : room + Int(state.length) + count }
        guard let total, await store.reserve(count, of: total, inMemory: place == nil) else { return false }
        let isEnded = state.withLock { state in
            if !state.isEnded { state.reserved += count }
            return state.isEnded
        }
        if isEnded { store.release(count, inMemory: place == nil) }
        return !isEnded
    }

    /// Writes whole blocks, and the last one of a body.
    private func write(_ bytes: ArraySlice<UInt8>) async -> Bool {
        // The bytes stay in memory until a thread has written them, whether or not the body is discarded meanwhile.
        guard let (folder, access, work) = place, let waiting = access.waitingBytes(bytes.count) else { return false }
        let blocks = stride(from: bytes.startIndex, to: bytes.endIndex, by: StoredFile.blockLength).flatMap { start in
            StoredFile.block(bytes[start..<min(start + StoredFile.blockLength, bytes.endIndex)])
        }
        // All bytes but the waiting ones are in blocks of full length.
        let offset = state.withLock { state in
            let written = (state.length - Int64(state.waiting.count)) / Int64(StoredFile.blockLength)
            return Int64(StoredFile.prefixLength + room) + written * Int64(StoredFile.blockLength + 4)
        }
        let isWritten = try? await access.run(on: work, until: access.limit()) { _ in
            defer { withExtendedLifetime(waiting) {} }
            return self.writeNow(blocks, at: offset, in: folder)
        }
        return isWritten == true
    }

    /// Writes bytes into the file, and creates it for the first ones. This call blocks.
    ///
    /// A canceled or overdue caller does not wait for it, and may have discarded the body meanwhile. So a new file becomes part of
    /// the state here, or is removed.
    private func writeNow(_ bytes: [UInt8], at offset: Int64, in folder: CacheFolder) -> Bool {
        if let file = state.withLock({ $0.file }) { return file.write(bytes, at: offset) }
        guard let (file, part) = folder.create() else { return false }
        let isWritten = file.write(bytes, at: offset)
        let isKept = state.withLock { state in
            guard isWritten, !state.isEnded else { return false }
            (state.file, state.part) = (file, part)
            return true
        }
        if !isKept { folder.remove(part) }
        return isKept
    }

    /// Ends the body, and makes the response visible to requests.
    /// - Returns: Whether it is stored.
    func finish() async -> Bool {
        guard let (folder, access, work) = place else { return await finishInMemory() }
        guard await reserve(room) else {
            discard()
            return false
        }
        let rest = state.withLock { $0.waiting }
        if !rest.isEmpty || state.withLock({ $0.file == nil }) {
            guard await write(rest[...]) else {
                discard()
                return false
            }
        }
        let ended = state.withLock { state -> State? in
            guard !state.isEnded else { return nil }
            defer { state.isEnded = true }
            return state
        }
        guard let ended, let file = ended.file, let part = ended.part else { return false }
        guard let stored = await finish(file, part, ended, folder, access, work) else {
            // Without a thread nothing has removed the file.
            await store.delete([part])
            store.release(ended.reserved, inMemory: false)
            return false
        }
        return await store.insert(store.entry(ended.head, stored), reserved: ended.reserved, ticket)
    }

    /// The state of a file that is being finished, after whose limit nobody waits for it.
    private enum Ending: Sendable {
        case running
        case done(StoredFile?)
        case dropped
    }

    /// Gives a file the name of its response. One that takes too long is removed when it is done.
    /// - Returns: Nil when it is not stored.
    private func finish(
        _ file: OpenCacheFile,
        _ part: String,
        _ ended: State,
        _ folder: CacheFolder,
        _ access: FolderAccess,
        _ work: SerialWork
    ) async -> StoredFile? {
        let ending = Lock(Ending.running)
        let room = room
        await CallWork.task {
            try? await access.run(on: work, until: access.limit()) { _ in
                let stored = folder.finish(file, part, ended.head, room: room, bodyLength: ended.length)
                let isDropped = ending.withLock { ending in
                    if case .dropped = ending { return true }
                    ending = .done(stored)
                    return false
                }
                if isDropped, let stored { folder.remove(stored.name) }
            }
        }.value
        return ending.withLock { ending in
            guard case .done(let stored) = ending else {
                ending = .dropped
                return nil
            }
            return stored
        }
    }

    private func finishInMemory() async -> Bool {
        let ended = state.withLock { state -> State? in
            guard !state.isEnded else { return nil }
            defer { state.isEnded = true }
            return state
        }
        guard let ended else { return false }
        var bytes = ended.waiting
        // An array that has grown may have room for twice its bytes, which would not count towards the limit.
        if bytes.capacity - bytes.count > bytes.count / 8 { bytes = bytes.withUnsafeBufferPointer { Array($0) } }
        return await store.insert(
            ResponseIndex.Entry(
                ended.head,
                .memory(bytes),
                bodyLength: ended.length,
                cost: room + bytes.count
            ),
            reserved: ended.reserved,
            ticket
        )
    }

    /// Drops the body, unless it is finished.
    func discard() {
        let ended = state.withLock { state -> State? in
            guard !state.isEnded else { return nil }
            defer {
                state.isEnded = true
                state.waiting = []
            }
            return state
        }
        guard let ended else { return }
        let (store, reserved, inMemory) = (store, ended.reserved, place == nil)
        store.deleteLater(ended.part.map { [$0] } ?? []) { store.release(reserved, inMemory: inMemory) }
    }
}
