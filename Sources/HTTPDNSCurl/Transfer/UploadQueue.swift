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
        var openingWaiter: UnsafeContinuation<Void, Never>?
        var spaceWaiter: UnsafeContinuation<Void, Never>?
        var endWaiter: UnsafeContinuation<Void, Never>?

        /// Whether the loop has taken all bytes.
        var isTaken: Bool { isEnded && failure == nil && bytesTaken == bytesPushed }
    }

    /// The declared length; `nil` when it is unknown.
    let length: Int64?
    private let state = Lock(State())

    init(length: Int64?) { self.length = length }

    // MARK: the stream's side

    /// Waits until a connection is established: a stream can be read only once, so it is not read before.
    /// - Returns: Whether its bytes are wanted.
    func awaitOpening() async -> Bool {
        await withUnsafeContinuation { continuation in
            let resumes = state.withLock { state in
                if state.isAbandoned || state.isOpen { return true }
                state.openingWaiter = continuation
                return false
            }
            if resumes { continuation.resume() }
        }
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
    func awaitSpace() async {
        await withUnsafeContinuation { continuation in
            let resumes = state.withLock { state in
                if state.isAbandoned || state.chunks.bytes < UploadQueue.window { return true }
                state.spaceWaiter = continuation
                return false
            }
            if resumes { continuation.resume() }
        }
    }

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

    /// Whether a connection has taken a body that is known to be empty.
    var isSentEmpty: Bool { length == 0 && state.withLock { $0.isOpen } }

    /// The number of bytes that the loop has taken.
    var bytesTaken: Int64 { state.withLock { $0.bytesTaken } }

    /// Waits, after the end, until the loop has taken everything or wants no more bytes.
    /// - Returns: Whether it has taken everything.
    func awaitTaken() async -> Bool {
        await withUnsafeContinuation { continuation in
            let resumes = state.withLock { state in
                if state.isAbandoned || state.isTaken { return true }
                state.endWaiter = continuation
                return false
            }
            if resumes { continuation.resume() }
        }
        return state.withLock { $0.isTaken }
    }

    /// Whether a caller waits in ``awaitTaken()``.
    var isAwaitingEnd: Bool { state.withLock { $0.endWaiter != nil } }

    // MARK: the loop's side

    /// Notes that a connection is established.
    /// - Returns: The waiter for it, to be resumed once libcurl returns.
    func open() -> UnsafeContinuation<Void, Never>? {
        state.withLock { state in
            state.isOpen = true
            defer { state.openingWaiter = nil }
            return state.openingWaiter
        }
    }

    /// Copies bytes out for libcurl.
    func take(into buffer: UnsafeMutableRawBufferPointer) -> Portion {
        let (portion, waiter, endWaiter) = state.withLock { state in
            let (portion, waiter) = UploadQueue.take(from: &state, into: buffer)
            guard state.isTaken else { return (portion, waiter, UnsafeContinuation<Void, Never>?.none) }
            defer { state.endWaiter = nil }
            return (portion, waiter, state.endWaiter)
        }
        waiter?.resume()
        endWaiter?.resume()
        return portion
    }

    /// - Returns: The portion for the loop, and the waiter for the room that it made.
    private static func take(
        from state: inout State,
        into buffer: UnsafeMutableRawBufferPointer
    ) -> (Portion, UnsafeContinuation<Void, Never>?) {
        if let failure = state.failure { return (.failed(failure), nil) }
        if state.current.isEmpty, let chunk = state.chunks.popFirst() { state.current = chunk[...] }
        guard !state.current.isEmpty else {
            if state.isEnded { return (.end, nil) }
            state.isLoopWaiting = true
            return (.later, nil)
        }
        let count = min(buffer.count, state.current.count)
        buffer.copyBytes(from: state.current.prefix(count))
        state.current.removeFirst(count)
        state.bytesTaken += Int64(count)
        guard state.chunks.bytes < UploadQueue.window else { return (.bytes(count), nil) }
        defer { state.spaceWaiter = nil }
        return (.bytes(count), state.spaceWaiter)
    }

    /// Notes that the transfer is over: waiters are resumed, and no more bytes are taken.
    func abandon() {
        let waiters = state.withLock { state in
            state.isAbandoned = true
            state.chunks.removeAll()
            defer {
                state.openingWaiter = nil
                state.spaceWaiter = nil
                state.endWaiter = nil
            }
            return [state.openingWaiter, state.spaceWaiter, state.endWaiter]
        }
        for waiter in waiters { waiter?.resume() }
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
        let progress = request.uploadProgress
        return Task(executorPreference: CallWork.executor) { [self] in
            guard await upload.awaitOpening() else {
                // An empty body has nothing to read: its transfer may be over before this runs.
                if upload.isSentEmpty { [false, true].forEach { progress?(0, $0) } }
                return
            }
            var told: Int64 = 0
            progress?(0, false)
            do {
                for try await chunk in stream {
                    let (isWanted, wakesLoop) = await upload.push(chunk)
                    if wakesLoop { mailbox.post(.resumeSending(self)) }
                    if !isWanted { break }
                    await upload.awaitSpace()
                    guard let progress else { continue }
                    let taken = upload.bytesTaken
                    if taken > told { progress(taken, false) }
                    told = taken
                }
                // Most streams end without an error when their task is canceled; the server must not treat that as the end.
                let error = Task.isCancelled ? CancellationError() : nil
                if upload.finish(error) { mailbox.post(.resumeSending(self)) }
            } catch {
                if upload.finish(error) { mailbox.post(.resumeSending(self)) }
            }
            guard let progress else { return }
            let isComplete = await upload.awaitTaken()
            let taken = upload.bytesTaken
            if isComplete || taken > told { progress(taken, isComplete) }
        }
    }
}
