// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

internal import HTTPDNS
internal import HTTPDNSCore
internal import HTTPDNSCurl
internal import HTTPDNSPrimitives
internal import Logging

/// The store of a program, whose errors and waits fail no call.
///
/// Its functions throw only `CancellationError`.
final class GuardedStore: HTTPDNSResponseStore {
    typealias StoredResponse = HTTPDNSClient.ResponseCache.StoredResponse
    typealias Selection = HTTPDNSClient.ResponseCache.Selection

    private struct State: Sendable {
        var logger: Logger?
        var isFailing = false
        /// The limits of the waits in vain since the store last responded, in all.
        var waited = Duration.zero
        /// The moment from which on the store is asked again.
        var pausedUntil: MonotonicTime?
        /// The times of removals by URL that are not known to have succeeded, in milliseconds since 1970.
        var removals: [String: Int64] = [:]
        /// The same for all URLs.
        var removalOfAll = Int64.min
        /// The responses that a call which nobody waits for may still store. They are not returned.
        var withdrawn: Set<Withdrawal> = []
    }

    private struct Withdrawal: Hashable, Sendable {
        let id: String
        let requestTime: Int64

        init(_ entry: ResponseIndex.Entry) { (id, requestTime) = (StoredResponse(entry).id, entry.head.requestTime) }
    }

    /// An error of a store that is not its own.
    private enum Failure: String, Error {
        case overdue = "it does not respond"
        case wrongLength = "a part of a body has another length than was asked for"
    }

    private static let partLength: Int64 = 256 << 10
    /// More URLs would be a leak while a store stays away.
    private static let maximumRemovals = 10_000

    private let base: any HTTPDNSResponseStore
    private let maximumEntry: Int
    /// The limits of the waits for the store, as those for a folder.
    private let times: FolderAccess.Times
    private let clock: WallClock
    private let time: any TimeSource
    private let onFailure: @Sendable () -> Void
    private let state = Lock(State())

    /// - Parameter time: The clock of the waits.
    init(
        _ base: any HTTPDNSResponseStore,
        maximumEntry: Int,
        _ times: FolderAccess.Times = FolderAccess.Times(),
        clock: WallClock,
        time: any TimeSource,
        onFailure: @escaping @Sendable () -> Void
    ) {
        self.base = base
        self.maximumEntry = maximumEntry
        self.times = times
        self.clock = clock
        self.time = time
        self.onFailure = onFailure
    }

    /// Takes the logger of a client, unless there is one.
    func take(_ logger: Logger?) { state.withLock { $0.logger = $0.logger ?? logger } }

    var size: (entries: Int, bytes: Int) { base.size }

    // MARK: waits

    /// Waits for the store.
    /// - Parameters:
    ///   - deadline: The moment on `SystemTimeSource` at which the call must have its response: half of the time is left for the
    ///     server.
    ///   - limit: The longest wait; nil for that of a request.
    /// - Returns: Nil after an error or at the limit, and while the store is left alone.
    fileprivate func ask<Value: Sendable>(
        before deadline: MonotonicTime?,
        limit: Duration? = nil,
        _ work: @escaping @Sendable () async throws -> Value
    ) async throws -> Value? {
        try Task.checkCancellation()
        let now = time.now()
        guard state.withLock({ $0.pausedUntil.map { $0 <= now } ?? true }) else { return nil }
        let wait = Self.half(before: deadline, limit ?? times.limit)
        let outcome = OneShot<Result<Value, any Error>>()
        let task = CallWork.task {
            do { outcome.deliver(.success(try await work())) } catch { outcome.deliver(.failure(error)) }
        }
        defer { task.cancel() }
        do {
            let value = try await outcome.value(
                until: now + wait,
                on: time,
                or: .failure(Failure.overdue),
                onCancel: .failure(CancellationError())
            ).get()
            noteSuccess()
            return value
        } catch {
            try Task.checkCancellation()
            note(error, after: wait)
            return nil
        }
    }

    /// Returns half of the time until a deadline on `SystemTimeSource`, or `limit` if that is less.
    private static func half(before deadline: MonotonicTime?, _ limit: Duration) -> Duration {
        deadline.map { max(.zero, min(limit, ($0 - SystemTimeSource().now()) / 2)) } ?? limit
    }

    private func noteSuccess() {
        let logger = state.withLock { state in
            defer { (state.isFailing, state.waited) = (false, .zero) }
            return state.isFailing ? state.logger : nil
        }
        logger?.notice("response store is in use again")
    }

    private func note(_ error: any Error, after wait: Duration) {
        onFailure()
        let logger = state.withLock { state -> Logger? in
            if error as? Failure == .overdue {
                // One call with little time is no reason to leave the store alone.
                state.waited += wait
                guard state.waited >= times.limit else { return nil }
                (state.pausedUntil, state.waited) = (time.now() + times.pause, .zero)
            }
            defer { state.isFailing = true }
            return state.isFailing ? nil : state.logger
        }
        // The text of a store's own error may contain anything.
        let reason = (error as? Failure)?.rawValue ?? "it threw \(type(of: error))"
        logger?.warning("response store fails; requests go on without it", metadata: ["reason": "\(reason)"])
    }

    // MARK: reading

    func responses(_ selection: Selection) async throws -> [StoredResponse] {
        let found = try await ask(before: selection.time.head) { [base] in try await base.responses(selection) } ?? []
        let (all, removals, withdrawn) = state.withLock { ($0.removalOfAll, $0.removals, $0.withdrawn) }
        return found.compactMap { response in
            let head = response.entry.head
            // A response with a ticket is one that was given to be stored, without a body.
            guard response.entry.ticket == nil, selection.contains(response),
                head.requestTime > max(all, removals[head.url] ?? .min),
                withdrawn.isEmpty || !withdrawn.contains(Withdrawal(response.entry))
            else {
                return nil
            }
            return StoredResponse(
                ResponseIndex.Entry(head, .elsewhere, bodyLength: response.bodyLength, cost: 0) {
                    [self] _, range, time in
                    try await body(of: response.entry, range, until: time)
                }
            )
        }
    }

    /// Returns a range of a body. The first part is read before, so that a store that fails is a miss.
    private func body(of entry: ResponseIndex.Entry, _ range: Range<Int64>, until time: ReadTime) async throws
        -> HTTPDNSClient.Response.Body?
    {
        guard let first = try await part(of: entry, range, before: time.head) else { return nil }
        if first.count == range.count { return .bytes(first) }
        let left = Lock((bytes: [UInt8]?.some(first), next: range.lowerBound + Int64(first.count)))
        let rest = AsyncThrowingStream<[UInt8], any Error>(unfolding: { [self] in
            let (ready, start) = left.withLock { left in
                defer { left.bytes = nil }
                return (left.bytes, left.next)
            }
            if let ready { return ready }
            guard start < range.upperBound else { return nil }
            let rest = start..<range.upperBound
            guard let bytes = try await part(of: entry, rest, before: time.body, limit: times.bodyPart) else {
                left.withLock { $0.next = range.upperBound }
                throw StoredBodyError.broken("its store failed")
            }
            left.withLock { $0.next += Int64(bytes.count) }
            return bytes
        })
        return .stream(rest, length: Int64(range.count))
    }

    /// Reads the first part of a range.
    private func part(
        of entry: ResponseIndex.Entry,
        _ range: Range<Int64>,
        before deadline: MonotonicTime?,
        limit: Duration? = nil
    ) async throws -> [UInt8]? {
        let part = range.prefix(Int(Self.partLength))
        return try await ask(before: deadline, limit: limit) {
            let bytes = try await entry.read(part)?.collect(upTo: .bytes(part.count)) ?? []
            guard bytes.count == part.count else { throw Failure.wrongLength }
            return bytes
        }
    }

    // MARK: changes

    func writer(for response: StoredResponse) async throws -> (any HTTPDNSResponseWriter)? {
        // There is no moment at which such a store is opened.
        guard !response.entry.head.isForSession else { return nil }
        let writer =
            try await ask(before: response.entry.ticket?.time.head) { [base] in try await base.writer(for: response) }
            ?? nil
        return writer.map { Writer($0, response.entry, self, maximum: maximumEntry) }
    }

    func update(_ response: StoredResponse, to newer: StoredResponse) async throws {
        _ = try await ask(before: newer.entry.ticket?.time.head) { [base] in try await base.update(response, to: newer)
        }
    }

    /// Removes responses. Until that is known to have succeeded, those that were requested before are not returned.
    func remove(_ selection: Selection) async throws {
        let now = clock.now()
        let urls = selection.entries.map { $0.map(\.head.url) } ?? selection.url.map { [$0] }
        if selection.entries == nil { noteRemoval(of: urls, at: now) }
        var isDone = false
        defer { if !isDone { noteRemoval(of: urls, at: now) } }
        // Not in this task: the removal is due even if it is canceled.
        isDone =
            await CallWork.task { [self] in
                try? await ask(before: selection.time.head) { [base] in try await base.remove(selection) }
            }
            .value != nil
        // Other variants of a URL may still be stored against an earlier removal.
        guard isDone, selection.entries == nil else { return }
        state.withLock { state in
            for url in urls ?? Array(state.removals.keys) where state.removals[url].map({ $0 <= now }) ?? false {
                state.removals[url] = nil
            }
            if urls == nil, state.removalOfAll <= now { state.removalOfAll = .min }
        }
    }

    private func noteRemoval(of urls: [String]?, at now: Int64) {
        state.withLock { state in
            for url in urls ?? [] { state.removals[url] = max(state.removals[url] ?? .min, now) }
            if urls == nil || state.removals.count > Self.maximumRemovals {
                // A later removal may have been noted before this one has failed.
                state.removals = state.removals.filter { $0.value > now }
                state.removalOfAll = max(state.removalOfAll, now)
            }
        }
    }

    /// Removes a response as soon as the call that may store it has ended. It is not returned before.
    private func withdraw(_ entry: ResponseIndex.Entry, after end: OneShot<Void>) {
        let withdrawal = Withdrawal(entry)
        state.withLock { _ = $0.withdrawn.insert(withdrawal) }
        CallWork.detached { [self] in
            await end.value()
            try? await remove(.one(entry))
            state.withLock { _ = $0.withdrawn.remove(withdrawal) }
        }
    }

    /// The writer of a body, of at most the longest length of the cache.
    ///
    /// The base gets one call at a time, also when a call goes on after its time.
    private final class Writer: HTTPDNSResponseWriter {
        private struct State: Sendable {
            /// The bytes that may follow.
            var room: Int
            /// The time that the store may still take for the parts of the body.
            var patience: Duration
            /// The end of the call that the base is in.
            var call: OneShot<Void>?
            /// Whether the base gets no further call but ``Writer/discard()``.
            var isEnded = false
            /// Whether its ``Writer/finish()`` was called.
            var isFinishing = false
        }

        private let base: any HTTPDNSResponseWriter
        private let entry: ResponseIndex.Entry
        private let store: GuardedStore
        private var deadline: MonotonicTime? { entry.ticket?.time.body }
        private let state: Lock<State>

        init(_ base: any HTTPDNSResponseWriter, _ entry: ResponseIndex.Entry, _ store: GuardedStore, maximum: Int) {
            self.base = base
            self.entry = entry
            self.store = store
            let patience = GuardedStore.half(before: entry.ticket?.time.body, store.times.bodyPart)
            state = Lock(State(room: maximum - entry.head.size, patience: patience))
        }

        /// Waits for a call of the base, which does not begin after the end of the body.
        private func call<Value: Sendable>(
            limit: Duration? = nil,
            _ work: @escaping @Sendable (any HTTPDNSResponseWriter) async throws -> Value
        ) async throws -> Value? {
            try await store.ask(before: deadline, limit: limit) { [self] in
                let end = OneShot<Void>()
                let mayBegin = state.withLock { state in
                    if !state.isEnded { state.call = end }
                    return !state.isEnded
                }
                guard mayBegin else { throw CancellationError() }
                defer {
                    state.withLock { $0.call = nil }
                    end.deliver(())
                }
                return try await work(base)
            }
        }

        func append(_ bytes: [UInt8]) async throws -> Bool {
            let start = store.time.now()
            let patience = state.withLock { state -> Duration? in
                state.room -= bytes.count
                return state.isEnded || state.room < 0 || state.patience <= .zero ? nil : state.patience
            }
            let limit = patience.map { min($0, store.times.limit) }
            guard let limit, (try? await call(limit: limit) { try await $0.append(bytes) }) == true else {
                discard()
                return false
            }
            state.withLock { $0.patience -= store.time.now() - start }
            return true
        }

        /// Stores the response, unless a part of its body is missing or it was invalidated since its request was sent.
        func finish() async throws -> Bool {
            guard state.withLock({ !$0.isEnded && $0.room >= 0 }), entry.ticket?.isCurrent ?? true else {
                discard()
                return false
            }
            let isStored: Bool?
            do {
                isStored = try await call { [self] base in
                    state.withLock { $0.isFinishing = true }
                    return try await base.finish()
                }
            } catch {
                _ = end()
                throw error
            }
            guard end() else { return false }
            guard isStored == nil || entry.ticket?.isCurrent == false else { return isStored ?? false }
            // It may have been stored nevertheless.
            try await store.remove(.one(entry))
            return false
        }

        /// Ends the body after ``finish()``.
        /// - Returns: Whether the base has returned. Otherwise what it stores is removed then.
        private func end() -> Bool {
            let (call, isFinishing) = state.withLock { state in
                state.isEnded = true
                return (state.call, state.isFinishing)
            }
            if let call { store.withdraw(entry, after: call) } else if !isFinishing { base.discard() }
            return call == nil
        }

        func discard() {
            let (isFirst, call) = state.withLock { state in
                defer { state.isEnded = true }
                return (!state.isEnded, state.call)
            }
            guard isFirst else { return }
            guard let call else { return base.discard() }
            CallWork.detached { [base] in
                await call.value()
                base.discard()
            }
        }
    }
}
