// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

internal import HTTPDNS
internal import HTTPDNSCore
public import HTTPDNSPrimitives
public import Logging

extension HTTPDNSTrafficMonitor {
    /// Records in the files of a folder, one JSON object for each line. They survive the process.
    ///
    /// ```swift
    /// let files = try await HTTPDNSTrafficMonitor.FileStore.open("/var/lib/app/traffic")
    /// settings.files = files
    /// ```
    ///
    /// Files are only appended to. The oldest ones are removed above the limits. A process that is killed loses the records that
    /// wait to be written, at most 1,024, and no record before these. Nothing waits for the disk to have written a record, so a
    /// loss of power loses more.
    ///
    /// Records are written on a thread of the store, which no call waits for. When the disk is full, fails or blocks, records are
    /// dropped and counted, and one warning is logged until writing works again.
    public final class FileStore: Sendable {
        /// The most records that wait to be written.
        static let maximumWaiting = 1024
        /// The most bytes of the records that wait to be written, estimated.
        static let maximumWaitingBytes = 16 << 20

        private struct State {
            var segments: SegmentList
            var waiting: [(record: Record, size: Int)] = []
            /// The records that wait and those that are being written: their number and bytes.
            var unwritten = 0
            var unwrittenBytes = 0
            var isWriting = false
            var isClosed = false
            var hasWarned = false
            var counters = Counters()
        }

        private let folder: RecordFolder
        private let logger: Logger?
        /// The clock of the files' ages. A wall clock that jumps ahead would remove them all at once.
        private let clock: any TimeSource
        /// The moment at which the store was opened, on the clock and in milliseconds since 1970.
        private let opened: (at: MonotonicTime, time: Int64)
        private let work: SerialWork
        private let state: Lock<State>

        private init(
            _ folder: RecordFolder,
            _ segments: SegmentList,
            _ logger: Logger?,
            _ clock: any TimeSource,
            at time: Int64,
            _ work: SerialWork
        ) {
            self.folder = folder
            self.logger = logger
            self.clock = clock
            opened = (clock.now(), time)
            self.work = work
            state = Lock(State(segments: segments))
        }

        /// Opens a folder with the records that it has. The folder is created when it is missing, and its files are for this user
        /// alone. The folder is in use until ``close()``, or until the store is released.
        /// - Parameters:
        ///   - folder: A path whose parent folder exists. The folder belongs to this user, and no other user may open it.
        ///   - limits: The limits of all files together.
        ///   - logger: The logger of the warning; nil for none.
        /// - Throws: ``HTTPDNSTrafficMonitor/Error`` when the folder cannot be used, also when another process uses it, and
        ///   when a file of records cannot be read; `CancellationError`.
        public static func open(_ folder: String, limits: Limits = Limits(), logger: Logger? = nil) async throws
            -> FileStore
        {
            try await open(folder, limits: limits, logger: logger, clock: SystemTimeSource())
        }

        /// - Parameter work: The thread of the store.
        static func open(
            _ path: String,
            limits: Limits = Limits(),
            logger: Logger? = nil,
            clock: any TimeSource,
            wallClock: WallClock = .system,
            work: SerialWork = SerialWork()
        ) async throws -> FileStore {
            do {
                return try await work.run {
                    let folder = try RecordFolder(path)
                    let segments = SegmentList(limits.ofSegments, try folder.load())
                    return FileStore(folder, segments, logger, clock, at: wallClock.now(), work)
                }
            } catch is SerialWork.NoThread {
                throw Error(path: path, "the folder cannot be used: the system gave no thread to open it")
            }
        }

        /// The counters since the store was opened.
        public var counters: Counters { state.withLock { $0.counters } }
        /// The bytes of all files.
        public var storedBytes: Int64 { state.withLock { $0.segments.bytes } }
        /// The number of records in all files.
        public var recordCount: Int { state.withLock { $0.segments.records } }

        /// Returns the newest records, the oldest of them first. It waits until the records are written that wait for it. A damaged
        /// line is left out.
        /// - Parameter limit: The most records.
        /// - Throws: ``HTTPDNSTrafficMonitor/Error`` for a closed store, and when the system gives no thread;
        ///   `CancellationError`.
        public func records(newest limit: Int = 10_000) async throws -> [Record] {
            do {
                return try await work.run { try self.readRecords(limit) }
            } catch is SerialWork.NoThread {
                throw Error(path: folder.path, "the records cannot be read: the system gave no thread")
            }
        }

        /// Returns when the records that wait have been written or dropped, also in a canceled task. When the system gives no
        /// thread, they wait for the next record.
        public func flush() async { _ = await runUncanceled { self.writeWaiting() } }

        /// Writes the records that wait, and frees the folder for another store, also in a canceled task. Later records are
        /// dropped, and so are those that wait when the system gives no thread. A second close does nothing.
        public func close() async {
            let isWritten = await runUncanceled {
                self.writeWaiting()
                self.state.withLock { $0.isClosed = true }
            }
            if !isWritten { dropWaiting() }
            folder.unlock()
        }

        /// Runs work on the thread of the store, whether the present task is canceled or not.
        /// - Returns: Whether there was a thread for it.
        private func runUncanceled(_ body: @escaping @Sendable () -> Void) async -> Bool {
            await Task.detached { [work] in (try? await work.run(body)) != nil }.value
        }

        /// Closes the store without a thread.
        private func dropWaiting() {
            state.withLock { state in
                state.isClosed = true
                state.counters.dropped += state.waiting.count
                state.unwritten -= state.waiting.count
                state.unwrittenBytes -= state.waiting.reduce(0) { $0 + $1.size }
                state.waiting = []
            }
        }

        // MARK: writing

        /// Adds a record to those that wait to be written, or drops it when there are too many.
        func append(_ record: Record, bytes size: Int) {
            let startsWriting = state.withLock { state in
                guard state.unwritten < Self.maximumWaiting, state.unwrittenBytes <= Self.maximumWaitingBytes - size
                else {
                    state.counters.dropped += 1
                    return false
                }
                state.waiting.append((record, size))
                state.unwritten += 1
                state.unwrittenBytes += size
                defer { state.isWriting = true }
                return !state.isWriting
            }
            guard startsWriting else { return }
            Task.detached { [self] in
                // Without a thread the records wait for the next one.
                let isDone: Void? = try? await work.run { self.writeWaiting() }
                if isDone == nil { state.withLock { $0.isWriting = false } }
            }
        }

        /// Writes all records that wait. It runs on the thread of ``work``, so it never runs twice at a time.
        private func writeWaiting() {
            while true {
                let batch = state.withLock { state in
                    defer { state.waiting = [] }
                    if state.waiting.isEmpty { state.isWriting = false }
                    return state.waiting
                }
                guard !batch.isEmpty else { return }
                for (record, size) in batch {
                    write(record)
                    state.withLock { state in
                        state.unwritten -= 1
                        state.unwrittenBytes -= size
                    }
                }
            }
        }

        private func write(_ record: Record) {
            guard !state.withLock({ $0.isClosed }) else { return drop(because: "the store is closed") }
            guard var line = try? RecordJSON.bytes(record) else { return drop(because: "it cannot be encoded") }
            line.append(UInt8(ascii: "\n"))
            let (size, now) = (Int64(line.count), now())
            guard let placement = state.withLock({ $0.segments.place(size, at: now) }) else {
                return drop(because: "it has \(size) bytes, more than the limit")
            }
            for number in placement.removed { folder.remove(number) }
            do {
                try folder.append(line, to: placement.segment, at: placement.offset)
                state.withLock { state in
                    state.counters.written += 1
                    state.hasWarned = false
                }
            } catch {
                state.withLock { $0.segments.withdraw(size, from: placement) }
                drop(because: error.reason)
            }
        }

        private func drop(because reason: String) {
            let isFirst = state.withLock { state in
                state.counters.dropped += 1
                defer { state.hasWarned = true }
                return !state.hasWarned
            }
            guard isFirst else { return }
            logger?.warning(
                "traffic records cannot be written",
                metadata: ["folder": "\(folder.path.escaped(limit: 200))", "error": "\(reason)"]
            )
        }

        /// Milliseconds since 1970, by the wall clock at the opening and the time since then.
        private func now() -> Int64 { opened.time + (clock.now() - opened.at).wholeNanoseconds / 1_000_000 }

        // MARK: reading

        private func readRecords(_ limit: Int) throws -> [Record] {
            writeWaiting()
            guard !state.withLock({ $0.isClosed }) else {
                throw Error(path: folder.path, "the records cannot be read: the store is closed; open it again")
            }
            let now = now()
            let (removed, segments) = state.withLock { ($0.segments.removeOld(at: now), $0.segments.segments) }
            for number in removed { folder.remove(number) }
            var newestFirst: [Record] = []
            for segment in segments.reversed() where newestFirst.count < limit {
                let lines = (try? folder.read(segment.number))?.split(separator: UInt8(ascii: "\n")) ?? []
                for line in lines.reversed() where newestFirst.count < limit {
                    if let record = try? RecordJSON.record(line) { newestFirst.append(record) }
                }
            }
            return newestFirst.reversed()
        }
    }
}

extension HTTPDNSTrafficMonitor.FileStore {
    /// The limits of the files of a store together.
    public struct Limits: Hashable, Sendable {
        /// The most bytes.
        public var bytes = HTTPDNSByteCount.mebibytes(256)
        /// The most records.
        public var records = 100_000
        /// The time after which records are removed, at the next write or read. Files are removed as a whole, so a record may stay
        /// an eighth longer.
        public var age = Duration.seconds(7 * 86_400)

        /// Creates the defaults.
        public init() {}

        var ofSegments: SegmentList.Limits {
            SegmentList.Limits(
                bytes: Int64(bytes.bytes),
                records: records,
                age: max(0, age.wholeNanoseconds / 1_000_000)
            )
        }
    }

    /// The counters of a store.
    public struct Counters: Hashable, Sendable {
        /// The records that were written.
        public var written = 0
        /// The records that were dropped: there were too many of them, or they could not be written.
        public var dropped = 0

        /// Creates counters of no records.
        public init() {}
    }
}
