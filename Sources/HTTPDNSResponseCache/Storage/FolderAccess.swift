// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

internal import HTTPDNSCore
internal import HTTPDNSCurl
internal import HTTPDNSPrimitives
internal import Logging

/// The access of a cache to its folder: the threads for it, the limits of waits, and whether the folder is in use.
///
/// A call into a folder may block for ever, such as on a network whose server is gone. So calls run on threads of this folder
/// alone, and no request waits longer than ``Times/limit``. A folder that has ended no call for so long is absent for
/// ``Times/pause``. Then one attempt finds out whether it responds again.
final class FolderAccess: Sendable {
    struct Times: Sendable {
        /// The longest time for which a request waits for the folder before it goes on without it.
        var limit = Duration.seconds(1)
        /// The longest time for the next part of a stored body whose head the caller already has.
        var bodyPart = Duration.seconds(30)
        /// The time between attempts while the folder is absent.
        var pause = Duration.seconds(30)
        /// The longest time for which the creation of a cache waits for its folder.
        var opening = Duration.seconds(5)
    }

    /// The folder is not in use.
    struct Absent: Error {}

    /// The most bytes that wait to be written. With more, a response is not stored.
    static let maximumWaitingBytes = 16 << 20

    private struct State: Sendable {
        /// The folder; nil until it could be opened.
        var folder: CacheFolder?
        var isAbsent: Bool
        /// Whether the absence is logged and counted. The first moments of a cache are neither.
        var isNoted = false
        /// The moment of the next attempt while the folder is absent.
        var attemptAt: MonotonicTime
        var isAttempting = false
        /// The calls into the folder that have not ended. An attempt that succeeds forgets those before it.
        var calls = 0
        var period = 0
        /// The moment since which no call has ended.
        var silentSince: MonotonicTime
        var waitingBytes = 0
        /// The names of files that no response needs any more.
        var unneeded: Set<String> = []
        var hasFailedRemoval = false
        var logger: Logger?
        var unlogged: [Line] = []
    }

    let path: String
    let times: Times
    let pool: ThreadPool
    private let time: any TimeSource
    private let state: Lock<State>
    /// Called when the folder becomes absent.
    private let onOutage: @Sendable () -> Void

    /// - Parameters:
    ///   - folder: The open folder; nil for one that an attempt opens.
    ///   - time: The clock for the pause between attempts.
    init(
        _ path: String,
        _ folder: CacheFolder? = nil,
        _ times: Times = Times(),
        time: any TimeSource = SystemTimeSource(),
        pool: ThreadPool = makePool(),
        onOutage: @escaping @Sendable () -> Void = {}
    ) {
        self.path = path
        self.times = times
        self.time = time
        self.pool = pool
        self.onOutage = onOutage
        let state = State(
            folder: folder,
            isAbsent: folder == nil,
            attemptAt: time.now(),
            silentSince: SystemTimeSource().now()
        )
        self.state = Lock(state)
    }

    /// Returns the threads for a folder. 16 keep a local disk busy, and so much work waits only for a folder that hangs.
    static func makePool() -> ThreadPool { ThreadPool(limit: 16, maximumWaiting: 4096) }

    // MARK: the folder

    /// The open folder, also while it does not respond.
    var opened: CacheFolder? { state.withLock { $0.folder } }

    /// Whether the folder is in use.
    var isInUse: Bool { state.withLock { !$0.isAbsent } }

    /// Returns the folder if it is in use, and whether the caller must begin an attempt.
    func current() -> (folder: CacheFolder?, isAttemptDue: Bool) {
        noteSilence()
        return state.withLock { state in
            guard state.isAbsent else { return (state.folder, false) }
            guard !state.isAttempting, time.now() >= state.attemptAt else { return (nil, false) }
            state.isAttempting = true
            return (nil, true)
        }
    }

    /// Stores the folder that an attempt has opened. It is not in use yet.
    func open(_ folder: CacheFolder) { state.withLock { $0.folder = folder } }

    /// Ends an attempt.
    /// - Parameter failure: The reason for which the folder stays absent; nil when it is in use from now on.
    func endAttempt(_ failure: String? = nil) {
        if let failure { return noteAbsent(failure) { $0.isAttempting = false } }
        let wasNoted = state.withLock { state in
            state.isAttempting = false
            state.isAbsent = false
            state.calls = 0
            state.period += 1
            defer { state.isNoted = false }
            return state.isNoted
        }
        if wasNoted { log(.inUse) }
    }

    /// Notes that the creation of the cache waits no longer for its folder. The attempt goes on.
    func noteSlowOpening() {
        if state.withLock({ $0.isAttempting }) { noteAbsent(Self.silence) { _ in } }
    }

    private static let silence = "it does not respond"

    /// Takes the folder out of use if a call has waited for ``Times/limit`` and none has ended.
    private func noteSilence() {
        let isSilent = state.withLock { state in
            !state.isAbsent && state.calls > 0 && SystemTimeSource().now() - state.silentSince >= times.limit
        }
        if isSilent { noteAbsent(Self.silence) { _ in } }
    }

    private func noteAbsent(_ reason: String, _ change: (inout State) -> Void) {
        let isNew = state.withLock { state in
            change(&state)
            state.isAbsent = true
            state.attemptAt = time.now() + times.pause
            defer { state.isNoted = true }
            return !state.isNoted
        }
        guard isNew else { return }
        onOutage()
        log(.absent(reason))
    }

    // MARK: the log

    private enum Line: Sendable {
        case absent(String)
        case inUse
        case unreadable(count: Int, first: String)
        case unremovable(String)
    }

    /// Takes the logger of a client, unless there is one.
    func take(_ logger: Logger?) {
        guard let logger else { return }
        let lines = state.withLock { state -> [Line] in
            guard state.logger == nil else { return [] }
            state.logger = logger
            defer { state.unlogged = [] }
            return state.unlogged
        }
        for line in lines { log(line) }
    }

    /// Logs a line, or keeps it for the first logger. A cache of a program is opened before its client is made.
    private func log(_ line: Line) {
        let logger = state.withLock { state in
            if state.logger == nil, state.unlogged.count < 16 { state.unlogged.append(line) }
            return state.logger
        }
        switch line {
        case .absent(let reason):
            logger?.warning(
                "cache folder is unavailable; responses stay in memory",
                metadata: ["folder": "\(path)", "reason": "\(reason)"]
            )
        case .inUse: logger?.notice("cache folder is in use again", metadata: ["folder": "\(path)"])
        case .unreadable(let count, let first):
            logger?.warning(
                "files of the cache folder cannot be read",
                metadata: ["folder": "\(path)", "files": "\(count)", "first": "\(first)"]
            )
        case .unremovable(let error):
            logger?.warning(
                "files of the cache folder cannot be removed",
                metadata: ["folder": "\(path)", "error": "\(error)"]
            )
        }
    }

    /// Logs that files could not be read.
    func noteUnreadable(_ count: Int, first: String) { log(.unreadable(count: count, first: first)) }

    // MARK: calls

    /// A call into the folder. It ends when it has returned, or with its last reference.
    final class Call: Sendable {
        private let access: FolderAccess
        private let period: Int
        private let isEnded = Lock(false)

        fileprivate init(_ access: FolderAccess) {
            self.access = access
            period = access.state.withLock { state in
                if state.calls == 0 { state.silentSince = SystemTimeSource().now() }
                state.calls += 1
                return state.period
            }
        }

        deinit { end(responds: false) }

        /// Notes that the folder responds.
        func progress() { access.note(period, ended: 0) }

        /// - Parameter responds: Whether the folder has returned; false for a call that was not made.
        func end(responds: Bool = true) {
            let isFirst = isEnded.withLock { isEnded in
                defer { isEnded = true }
                return !isEnded
            }
            if isFirst { access.note(period, ended: 1, responds: responds) }
        }
    }

    private func note(_ period: Int, ended: Int, responds: Bool = true) {
        state.withLock { state in
            guard state.period == period else { return }
            state.calls -= ended
            if responds { state.silentSince = SystemTimeSource().now() }
        }
    }

    /// The moment until which a request that begins a call now waits for it.
    /// - Parameter deadline: The moment at which the request must have its response: half of the time is left for the server.
    func limit(before deadline: MonotonicTime? = nil) -> MonotonicTime {
        let now = SystemTimeSource().now()
        let limit = now + times.limit
        return deadline.map { min(limit, now + ($0 - now) / 2) } ?? limit
    }

    /// Makes a call that blocks, on a thread of the folder.
    /// - Parameters:
    ///   - work: The queue for calls that must not overlap.
    ///   - isForOpenFile: Whether the call is made also while the folder is absent.
    /// - Throws: The errors of `body`, `CancellationError`; ``Absent``, ``SerialWork/NoThread``, ``SerialWork/Overdue``.
    func run<Value: Sendable>(
        on work: SerialWork? = nil,
        until deadline: MonotonicTime?,
        isForOpenFile: Bool = false,
        _ body: @escaping @Sendable (Call) throws -> Value
    ) async throws -> Value {
        guard isForOpenFile || isInUse else { throw Absent() }
        let call = Call(self)
        do {
            return try await (work ?? SerialWork(on: pool)).run(until: deadline) {
                defer { call.end() }
                return try body(call)
            }
        } catch let error as SerialWork.Overdue {
            noteSilence()
            throw error
        }
    }

    // MARK: waiting bytes

    /// Bytes that wait to be written. The last reference releases them.
    final class WaitingBytes: Sendable {
        private let count: Int
        private let access: FolderAccess

        fileprivate init(_ count: Int, _ access: FolderAccess) {
            self.count = count
            self.access = access
        }

        deinit { access.state.withLock { $0.waitingBytes -= count } }
    }

    /// Counts bytes that are about to wait for a thread; nil when too many wait.
    func waitingBytes(_ count: Int) -> WaitingBytes? {
        let isTaken = state.withLock { state in
            // One body may come in chunks of any length.
            guard state.waitingBytes == 0 || state.waitingBytes + count <= Self.maximumWaitingBytes else {
                return false
            }
            state.waitingBytes += count
            return true
        }
        return isTaken ? WaitingBytes(count, self) : nil
    }

    /// The number of bytes that wait to be written.
    var waitingByteCount: Int { state.withLock { $0.waitingBytes } }

    // MARK: files that are not needed

    /// Notes files to remove. The next removal takes them, at the latest that after an absence.
    func noteUnneeded(_ names: [String]) { state.withLock { $0.unneeded.formUnion(names) } }

    /// Removes the files that are not needed. Those that the system does not remove stay noted. This call blocks.
    func removeUnneeded(_ call: Call? = nil) {
        let (folder, names) = state.withLock { state -> (CacheFolder?, Set<String>) in
            guard let folder = state.folder else { return (nil, []) }
            defer { state.unneeded = [] }
            return (folder, state.unneeded)
        }
        guard let folder else { return }
        var (failed, failure): (Set<String>, Int32?) = ([], nil)
        for name in names {
            let number = folder.remove(name)
            call?.progress()
            guard let number else { continue }
            failed.insert(name)
            failure = failure ?? number
        }
        let isNew = state.withLock { state in
            state.unneeded.formUnion(failed)
            defer { state.hasFailedRemoval = failure != nil }
            return !state.hasFailedRemoval
        }
        if let failure, isNew { log(.unremovable(systemErrorText(failure))) }
    }

    /// The number of files that are to be removed.
    var unneededCount: Int { state.withLock { $0.unneeded.count } }
}
