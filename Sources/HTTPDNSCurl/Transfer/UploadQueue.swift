// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

internal import HTTPDNSPrimitives

/// The queue of a streamed request body, between the task that reads the caller's stream and the loop that sends the bytes.
final class UploadQueue: Sendable {
    /// The number of waiting bytes at which the stream is not read further.
    static let window = 256 * 1024

    /// The result of a read by libcurl.
    enum Portion {
        case bytes(Int)
        /// No bytes yet; the loop will be notified.
        case later
        case end
        case failed(TransferFailure)
    }

    /// The events that the reader of the stream waits for, one at a time.
    private enum Event {
        case opening, room, end
    }

    private struct State {
        var chunks = ChunkQueue()
        /// The first chunk that is not completely sent.
        var current: ArraySlice<UInt8> = []
        var bytesTaken: Int64 = 0
        var bytesPushed: Int64 = 0
        var isEnded = false
        var failure: TransferFailure?
        var isAbandoned = false
        var isLoopWaiting = false
        /// Whether a connection is established that will take the bytes.
        var isOpen = false
        var waiter: (event: Event, resumption: OneShot<Void>)?

        /// Whether the loop has taken all bytes.
        var isTaken: Bool { isEnded && failure == nil && bytesTaken == bytesPushed }

        func hasHappened(_ event: Event) -> Bool {
            if isAbandoned { return true }
            return switch event {
            case .opening: isOpen
            case .room: chunks.bytes < UploadQueue.window
            case .end: isTaken
            }
        }

        /// Returns the waiter if its event has happened.
        mutating func takeWaiter() -> OneShot<Void>? {
            guard let waiter, hasHappened(waiter.event) else { return nil }
            self.waiter = nil
            return waiter.resumption
        }
    }

    /// The declared length; `nil` when it is unknown.
    let length: Int64?
    private let state = Lock(State())

    init(length: Int64?) { self.length = length }

    /// Changes the state, and resumes the reader of the stream if it waits for that.
    private func change<Result>(_ body: (inout State) -> Result) -> Result {
        let (result, waiter) = state.withLock { (body(&$0), $0.takeWaiter()) }
        waiter?.deliver()
        return result
    }

    // MARK: the stream's side

    private func wait(for event: Event) async {
        let waiter = state.withLock { state -> OneShot<Void>? in
            if state.hasHappened(event) { return nil }
            let waiter = OneShot<Void>()
            state.waiter = (event, waiter)
            return waiter
        }
        await waiter?.value()
    }

    /// Waits until a connection is established: a stream can be read only once, so it is not read before.
    /// - Returns: Whether its bytes are wanted.
    func awaitOpening() async -> Bool {
        await wait(for: .opening)
        return state.withLock { !$0.isAbandoned }
    }

    /// Appends a chunk, and waits while the loop has enough.
    /// - Returns: Whether more is wanted, and whether the loop must be notified of the bytes.
    func push(_ chunk: [UInt8]) async -> (isWanted: Bool, wakesLoop: Bool) {
        if chunk.isEmpty { return (state.withLock { !$0.isAbandoned }, false) }
        let wakes = state.withLock { state in
            guard !state.isAbandoned else { return false }
            state.bytesPushed += Int64(chunk.count)
            if let length, state.bytesPushed > length {
                state.failure = UploadQueue.failure("the request body is longer than the \(length) bytes declared")
            } else {
                state.chunks.append(chunk)
            }
            defer { state.isLoopWaiting = false }
            return state.isLoopWaiting
        }
        return (state.withLock { !$0.isAbandoned && $0.failure == nil }, wakes)
    }

    /// Returns once the loop has room for more, or wants no more bytes.
    func awaitSpace() async { await wait(for: .room) }

    /// Notes the end of the stream, successful or with an error.
    /// - Returns: Whether the loop must be notified.
    func finish(_ error: (any Error)?) -> Bool {
        state.withLock { state in
            if let error, state.failure == nil {
                var failure = UploadQueue.failure("the stream of the request body threw an error")
                failure.cause = TransferFailure.Cause(error)
                state.failure = failure
            } else if let length, state.bytesPushed < length, state.failure == nil {
                state.failure = UploadQueue.failure(
                    "the request body ended after \(state.bytesPushed) of the \(length) bytes declared"
                )
            }
            state.isEnded = true
            defer { state.isLoopWaiting = false }
            return state.isLoopWaiting
        }
    }

    /// The number of bytes that the loop has taken, and whether those are all.
    var taken: (bytes: Int64, areAll: Bool) {
        state.withLock { ($0.bytesTaken, $0.isTaken || $0.isOpen && $0.bytesTaken == length) }
    }

    /// Waits, after the end, until the loop has taken everything or wants no more bytes.
    func awaitTaken() async { await wait(for: .end) }

    /// Whether a caller waits in ``awaitTaken()``.
    var isAwaitingEnd: Bool { state.withLock { $0.waiter?.event == .end } }

    // MARK: the loop's side

    /// Notes that a connection is established.
    func open() { change { $0.isOpen = true } }

    /// Copies bytes out for libcurl.
    func take(into buffer: UnsafeMutableRawBufferPointer) -> Portion {
        change { state in
            if let failure = state.failure { return .failed(failure) }
            if state.current.isEmpty, let chunk = state.chunks.popFirst() { state.current = chunk[...] }
            guard !state.current.isEmpty else {
                if state.isEnded { return .end }
                state.isLoopWaiting = true
                return .later
            }
            let count = min(buffer.count, state.current.count)
            buffer.copyBytes(from: state.current.prefix(count))
            state.current.removeFirst(count)
            state.bytesTaken += Int64(count)
            return .bytes(count)
        }
    }

    /// Notes that the transfer is over: the waiter is resumed, and no more bytes are taken.
    func abandon() {
        change { state in
            state.isAbandoned = true
            state.chunks.removeAll()
        }
    }

    private static func failure(_ message: String) -> TransferFailure {
        TransferFailure(code: .requestBodyFailed, phase: .send, message: message)
    }
}

extension Transfer {
    /// Starts the task that reads the caller's stream; `nil` when the body is not a stream. It runs on the caller's side, never
    /// on the loop, and ends when the transfer is over.
    func startPump() -> Task<Void, Never>? {
        guard let upload, case .stream(_, let stream) = request.body else { return nil }
        return Task(executorPreference: CallWork.executor) { [self] in
            guard await upload.awaitOpening() else { return }
            uploadProgress?.tell()
            do {
                for try await chunk in stream {
                    let (isWanted, wakesLoop) = await upload.push(chunk)
                    if wakesLoop { mailbox.post(.resumeSending(self)) }
                    if !isWanted { break }
                    await upload.awaitSpace()
                    uploadProgress?.tell()
                }
                // Most streams end without an error when their task is canceled; the server must not treat that as the end.
                let error = Task.isCancelled ? CancellationError() : nil
                if upload.finish(error) { mailbox.post(.resumeSending(self)) }
            } catch {
                if upload.finish(error) { mailbox.post(.resumeSending(self)) }
            }
            guard let uploadProgress else { return }
            await upload.awaitTaken()
            uploadProgress.tell()
        }
    }
}

/// Tells of the progress of a streamed body: first at its opening, then of more bytes each time, last when all are taken. Both the
/// task that reads the stream and the call tell: when the head arrives, that task may not have run since.
final class UploadProgress: Sendable {
    private struct State {
        var told: (bytes: Int64, areAll: Bool)?
        /// Whether the closure is running, whose caller tells of what happens meanwhile.
        var isTelling = false
    }

    private let upload: UploadQueue
    private let report: @Sendable (_ bytes: Int64, _ isComplete: Bool) -> Void
    private let state = Lock(State())

    init(_ upload: UploadQueue, _ report: @escaping @Sendable (_ bytes: Int64, _ isComplete: Bool) -> Void) {
        self.upload = upload
        self.report = report
    }

    /// Calls the closure if there is progress, and nobody else calls it.
    func tell() {
        while let next = takeNext() {
            report(next.bytes, next.areAll)
            state.withLock { $0.isTelling = false }
        }
    }

    private func takeNext() -> (bytes: Int64, areAll: Bool)? {
        state.withLock { state in
            if state.isTelling { return nil }
            let next = state.told == nil ? (0, false) : upload.taken
            if let told = state.told, told == next { return nil }
            (state.told, state.isTelling) = (next, true)
            return next
        }
    }
}
