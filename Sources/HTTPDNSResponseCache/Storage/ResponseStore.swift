// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

internal import HTTPDNS
internal import HTTPDNSCore
internal import HTTPDNSPrimitives
internal import HTTPTypes

/// The stored responses, in memory or in a folder.
final class ResponseStore: Sendable {
    /// The longest body in a file that is checked as a whole before it is returned.
    private static let checkedLength: Int64 = 16 << 20
    /// The longest body in a file that is read at once.
    private static let shortLength = Int64(StoredFile.blockLength)

    private let index: Lock<ResponseIndex>
    let folder: CacheFolder?
    /// The longest response that is stored, in bytes.
    private let maximumEntry: Int
    /// Called with the number of responses that were evicted, and of those that were damaged.
    private let onLoss: @Sendable (_ evicted: Int, _ damaged: Int) -> Void

    /// - Parameter folder: The folder, whose responses are in `loaded`; nil for a store in memory.
    init(
        _ limits: ResponseIndex.Limits,
        maximumEntry: Int,
        folder: CacheFolder? = nil,
        loaded: [(head: StoredHead, file: StoredFile)] = [],
        onLoss: @escaping @Sendable (_ evicted: Int, _ damaged: Int) -> Void = { _, _ in }
    ) {
        var (index, removed) = (ResponseIndex(limits), [ResponseIndex.Entry]())
        for (head, file) in loaded {
            removed += index.insert(
                ResponseIndex.Entry(head, .file(file), bodyLength: file.bodyLength, cost: Int(file.length))
            )
        }
        self.index = Lock(index)
        self.folder = folder
        self.maximumEntry = maximumEntry
        self.onLoss = onLoss
        for case .file(let file) in removed.map(\.body) { folder?.remove(file.name) }
    }

    var bytes: Int { index.withLock { $0.bytes } }
    var count: Int { index.withLock { $0.count } }
    var all: [ResponseIndex.Entry] { index.withLock { $0.all } }

    func find(_ url: String, _ partition: String, for request: CacheRequest, at now: Int64) -> ResponseIndex.Entry? {
        var removed: [ResponseIndex.Entry] = []
        let found = index.withLock { $0.find(url, partition, for: request, at: now, removed: &removed) }
        drop(removed)
        return found
    }

    // MARK: reading

    /// Returns the body of a stored response, or a part of it.
    /// - Returns: Nil when its file is gone or damaged; the entry is removed then.
    /// - Throws: `CancellationError`.
    func body(of entry: ResponseIndex.Entry, _ range: Range<Int64>) async throws -> HTTPDNSClient.Response.Body? {
        switch entry.body {
        case .memory(let bytes):
            return .bytes(
                range.count == bytes.count ? bytes : Array(bytes[Int(range.lowerBound)..<Int(range.upperBound)])
            )
        case .file(let file):
            guard let folder else { return nil }
            guard !range.isEmpty else { return .bytes([]) }
            let id = entry.id
            let onDamage: @Sendable () -> Void = { [weak self] in self?.removeDamaged(id) }
            // A short body that is in memory anyway needs no thread that waits for a disk.
            if range.count <= Self.shortLength, let open = folder.open(file) {
                var body = StoredBody(open: open, file: file, range: range, onDamage: onDamage)
                body.isImmediate = true
                if let bytes = body.readAll() { return .bytes(bytes) }
            }
            let opened = try await run { () -> (StoredBody, [UInt8]?)? in
                guard let open = folder.open(file) else { return nil }
                let body = StoredBody(open: open, file: file, range: range, onDamage: onDamage)
                if range.count <= Self.shortLength { return body.readAll().map { (body, $0) } }
                return range.count > Self.checkedLength || body.isIntact() ? (body, nil) : nil
            }
            guard let (body, bytes) = opened ?? nil else {
                removeDamaged(id)
                return nil
            }
            return bytes.map { .bytes($0) } ?? .stream(body, length: Int64(range.count))
        }
    }

    private func removeDamaged(_ id: UInt64) {
        guard let entry = index.withLock({ $0.remove(id) }) else { return }
        onLoss(0, 1)
        delete([entry])
    }

    // MARK: changes

    /// Returns a writer for the body of a response.
    func writer(for head: StoredHead) -> StoredBodyWriter { StoredBodyWriter(head, self) }

    /// Replaces the head of a stored response. One that does not fit into its file is removed from the store.
    func update(_ entry: ResponseIndex.Entry, _ head: StoredHead) async {
        guard index.withLock({ $0.update(entry.id, head) }) else { return }
        guard case .file(let file) = entry.body, let folder else { return }
        let isWritten = try? await Task { try await self.run { folder.update(file, head) } }.value
        if isWritten != .some(true) { remove(entry) }
    }

    func remove(_ entry: ResponseIndex.Entry) {
        if let removed = index.withLock({ $0.remove(entry.id) }) { delete([removed]) }
    }

    func removeAll(url: String) { delete(index.withLock { $0.removeAll(url: url) }) }

    /// Reserves bytes for a response that is being stored.
    /// - Returns: Whether there is room.
    fileprivate func reserve(_ count: Int, of total: Int) -> Bool {
        guard total <= maximumEntry, let evicted = index.withLock({ $0.reserve(count) }) else { return false }
        drop(evicted)
        return true
    }

    fileprivate func release(_ count: Int) { index.withLock { $0.release(count) } }

    /// Adds a response whose bytes are reserved.
    /// - Returns: Whether it is stored.
    fileprivate func insert(_ entry: ResponseIndex.Entry, reserved: Int) -> Bool {
        let removed = index.withLock { index in
            index.release(reserved)
            return index.insert(entry)
        }
        drop(removed)
        return !removed.contains { $0.id == entry.id }
    }

    private func drop(_ entries: [ResponseIndex.Entry]) {
        guard !entries.isEmpty else { return }
        onLoss(entries.count, 0)
        delete(entries)
    }

    private func delete(_ entries: [ResponseIndex.Entry]) {
        guard let folder else { return }
        // Removing a name does not wait for the disk, and a file that is being read stays open.
        for case .file(let file) in entries.map(\.body) { folder.remove(file.name) }
    }

    /// Runs work that blocks.
    /// - Throws: The errors of `work`, `CancellationError`; ``SerialWork/NoThread``.
    func run<Value: Sendable>(_ work: @escaping @Sendable () throws -> Value) async throws -> Value {
        try await SerialWork(on: ThreadPool.files).run(work)
    }
}

/// The writer of one body. It is dropped or discarded when the body does not arrive whole.
final class StoredBodyWriter: Sendable {
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
    private let room: Int
    private let work = SerialWork(on: ThreadPool.files)

    fileprivate init(_ head: StoredHead, _ store: ResponseStore) {
        state = Lock(State(head: head))
        self.store = store
        room = store.folder == nil ? head.size : StoredFile.room(for: head.encoded)
    }

    deinit { discard() }

    /// Appends bytes. After an error of the file system, or without room, the response is not stored.
    /// - Returns: Whether the response can still be stored.
    func append(_ bytes: [UInt8]) async -> Bool {
        guard reserve(bytes.count) else {
            discard()
            return false
        }
        let block: ArraySlice<UInt8>? = state.withLock { state in
            state.waiting += bytes
            state.length += Int64(bytes.count)
            return store.folder == nil || state.waiting.count < StoredFile.blockLength ? nil : state.waiting[...]
        }
        guard let block, let folder = store.folder else { return true }
        let count = block.count / StoredFile.blockLength * StoredFile.blockLength
        guard await write(block.prefix(count), in: folder) else {
            discard()
            return false
        }
        state.withLock { $0.waiting.removeFirst(min(count, $0.waiting.count)) }
        return true
    }

    private func reserve(_ count: Int) -> Bool {
        let total = state.withLock { state -> Int? in state.isEnded ? nil : room + Int(state.length) + count }
        guard let total, store.reserve(count, of: total) else { return false }
        let isEnded = state.withLock { state in
            if !state.isEnded { state.reserved += count }
            return state.isEnded
        }
        if isEnded { store.release(count) }
        return !isEnded
    }

    /// Writes whole blocks, and the last one of a body.
    private func write(_ bytes: ArraySlice<UInt8>, in folder: CacheFolder) async -> Bool {
        let blocks = stride(from: bytes.startIndex, to: bytes.endIndex, by: StoredFile.blockLength).flatMap { start in
            StoredFile.block(bytes[start..<min(start + StoredFile.blockLength, bytes.endIndex)])
        }
        // All bytes but the waiting ones are in blocks of full length.
        let offset = state.withLock { state in
            let written = (state.length - Int64(state.waiting.count)) / Int64(StoredFile.blockLength)
            return Int64(StoredFile.prefixLength + room) + written * Int64(StoredFile.blockLength + 4)
        }
        let isWritten = try? await work.run { self.writeNow(blocks, at: offset, in: folder) }
        return isWritten == true
    }

    /// Writes bytes into the file, and creates it for the first ones. This call blocks.
    ///
    /// A canceled caller does not wait for it, and may have discarded the body meanwhile. So a new file becomes part of
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
        guard let folder = store.folder else { return finishInMemory() }
        guard reserve(room) else {
            discard()
            return false
        }
        let rest = state.withLock { $0.waiting }
        if !rest.isEmpty || state.withLock({ $0.file == nil }) {
            guard await write(rest[...], in: folder) else {
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
        let room = room
        let stored = try? await Task { [work] in
            try await work.run { folder.finish(file, part, ended.head, room: room, bodyLength: ended.length) }
        }.value
        guard let stored = stored ?? nil else {
            // Without a thread nothing has removed the file.
            folder.remove(part)
            store.release(ended.reserved)
            return false
        }
        return store.insert(
            ResponseIndex.Entry(
                ended.head,
                .file(stored),
                bodyLength: stored.bodyLength,
                cost: Int(stored.length)
            ),
            reserved: ended.reserved
        )
    }

    private func finishInMemory() -> Bool {
        let ended = state.withLock { state -> State? in
            guard !state.isEnded else { return nil }
            defer { state.isEnded = true }
            return state
        }
        guard let ended else { return false }
        return store.insert(
            ResponseIndex.Entry(
                ended.head,
                .memory(ended.waiting),
                bodyLength: ended.length,
                cost: room + ended.waiting.count
            ),
            reserved: ended.reserved
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
        store.release(ended.reserved)
        if let part = ended.part { store.folder?.remove(part) }
    }
}
