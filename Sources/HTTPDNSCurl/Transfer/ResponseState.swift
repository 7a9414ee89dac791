// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

internal import HTTPDNSPrimitives

/// The state of one response, between the loop that receives it and the task that reads it.
///
/// A value type: every event is a method that returns the action to take after the lock is released. Each continuation leaves
/// the state exactly once, whichever of success, failure and cancellation comes first.
struct ResponseState {
    typealias HeadContinuation = UnsafeContinuation<TransferHead, any Error>
    typealias ChunkContinuation = UnsafeContinuation<[UInt8]?, any Error>

    enum Action {
        case none
        case resumeHead(HeadContinuation, Result<TransferHead, any Error>, ResumptionTarget)
        case resumeChunk(ChunkContinuation, Result<[UInt8]?, any Error>, ResumptionTarget)

        func run() {
            switch self {
            case .none: break
            case .resumeHead(let continuation, let result, _): continuation.resume(with: result)
            case .resumeChunk(let continuation, let result, _): continuation.resume(with: result)
            }
        }

        /// The executor of the resumed task.
        var place: ResumptionTarget {
            switch self {
            case .none: .anyThread
            case .resumeHead(_, _, let place), .resumeChunk(_, _, let place): place
            }
        }
    }

    enum Taken {
        /// A chunk, or the end; `resumesReading` if the loop may continue.
        case now(Result<[UInt8]?, any Error>, resumesReading: Bool)
        case later(resumesReading: Bool)
    }

    private var headWaiter: HeadContinuation?
    /// A head that arrived before its caller waited for it.
    private var earlyHead: TransferHead?
    private var chunkWaiter: ChunkContinuation?
    /// The executor of the waiting task.
    private var waiterPlace = ResumptionTarget.anyThread
    private var chunks = ChunkQueue()
    private(set) var end: Result<TransferSummary, any Error>?
    private var isReadingPaused = false
    /// Whether the reader leaves its chunks to the loop, which makes larger ones of them.
    private var isHeld = false
    private var isIterated = false
    /// Not with `?`, which implies an initial value: an initializer that replaces it copies the whole state, with all its
    /// references counted.
    private var permit: Optional<any AnyObject & Sendable>
    /// The trailers, noted just before a successful end.
    private var trailers: TransferTrailers?

    /// - Parameter permit: An object that is kept until the end.
    init(permit: (any AnyObject & Sendable)? = nil) { self.permit = permit }

    /// Returns the object that was kept until the end.
    mutating func takePermit() -> (any AnyObject & Sendable)? {
        defer { permit = nil }
        return permit
    }

    /// The number of unread bytes.
    var bufferedBytes: Int { chunks.bytes }

    /// Registers the caller that waits for the head. It is called once; the head, or the end, may have come before it.
    mutating func awaitHead(_ continuation: HeadContinuation, at place: ResumptionTarget = .anyThread) -> Action {
        if let head = earlyHead {
            earlyHead = nil
            return .resumeHead(continuation, .success(head), place)
        }
        if case .failure(let error) = end { return .resumeHead(continuation, .failure(error), place) }
        headWaiter = continuation
        waiterPlace = place
        return .none
    }

    /// Receives the data of one loop turn, all of it in one call.
    mutating func receive(
        head newHead: TransferHead?,
        chunks newChunks: [[UInt8]] = [],
        lastChunk: [UInt8] = [],
        end newEnd: Result<TransferSummary, any Error>?
    ) -> Action {
        guard end == nil else { return .none }
        for chunk in newChunks { chunks.append(chunk) }
        if !lastChunk.isEmpty { chunks.append(lastChunk) }
        end = newEnd
        if let waiter = headWaiter {
            if let newHead {
                headWaiter = nil
                return .resumeHead(waiter, .success(newHead), waiterPlace)
            }
            if case .failure(let error) = newEnd {
                headWaiter = nil
                return .resumeHead(waiter, .failure(error), waiterPlace)
            }
            return .none
        }
        if let newHead { earlyHead = newHead }
        guard let waiter = chunkWaiter, let result = nextChunk() else { return .none }
        chunkWaiter = nil
        return .resumeChunk(waiter, result, waiterPlace)
    }

    /// Notes the trailers of a response that is about to end.
    mutating func note(_ trailers: TransferTrailers) {
        if end == nil { self.trailers = trailers }
    }

    /// The trailers of a response that has arrived whole; `nil` when it has none.
    var wholeTrailers: TransferTrailers? {
        if case .success = end { trailers } else { nil }
    }

    /// Whether the loop must stop reading because the body's buffer is full; it may have been emptied meanwhile.
    mutating func pauseReading(ifOver window: Int, pending: Int) -> Bool {
        isReadingPaused = chunks.bytes + pending >= window
        return isReadingPaused
    }

    /// Returns a chunk to the caller.
    mutating func take(below window: Int) -> Taken {
        let result = nextChunk()
        let resumes = isReadingPaused && end == nil && chunks.bytes <= window / 2
        if resumes { isReadingPaused = false }
        // A reader of larger chunks may have got all: the loop keeps the last one until it is full.
        guard let result else { return .later(resumesReading: resumes) }
        return .now(result, resumesReading: resumes)
    }

    /// Leaves the unread chunks to the loop.
    /// - Returns: Whether more may follow.
    mutating func hold() -> Bool {
        isHeld = end == nil
        return isHeld
    }

    /// Returns the unread chunks that a reader left. If they are more bytes than these, it takes them as they are.
    mutating func takeBack(_ size: Int) -> ([[UInt8]], Action) {
        isHeld = false
        guard end == nil, chunks.bytes <= size else {
            guard let waiter = chunkWaiter, let result = nextChunk() else { return ([], .none) }
            chunkWaiter = nil
            return ([], .resumeChunk(waiter, result, waiterPlace))
        }
        var unread: [[UInt8]] = []
        while let chunk = chunks.popFirst() { unread.append(chunk) }
        isReadingPaused = false
        return (unread, .none)
    }

    /// Registers a caller that waits for a chunk, after `take` returned none; the state may have changed in between.
    mutating func awaitChunk(_ continuation: ChunkContinuation, at place: ResumptionTarget = .anyThread) -> Action {
        if let result = nextChunk() { return .resumeChunk(continuation, result, place) }
        chunkWaiter = continuation
        waiterPlace = place
        return .none
    }

    /// Returns whether this is the first iterator.
    mutating func claimIterator() -> Bool {
        defer { isIterated = true }
        return !isIterated
    }

    /// Discards the body: it will not be read any more.
    mutating func abandon() -> Bool {
        chunks.removeAll()
        return end == nil
    }

    /// Returns the whole body with its trailers, if it is complete, unread, and in one piece of at most `limit` bytes.
    mutating func takeWhole(upTo limit: Int) -> (bytes: [UInt8], trailers: TransferTrailers?)? {
        guard !isIterated, case .success = end, chunks.bytes <= limit, chunks.isOneAtMost else { return nil }
        isIterated = true
        return (chunks.popFirst() ?? [], trailers)
    }

    var hasIterator: Bool { isIterated }

    private mutating func nextChunk() -> Result<[UInt8]?, any Error>? {
        if isHeld, end == nil { return nil }
        if let chunk = chunks.popFirst() { return .success(chunk) }
        switch end {
        case .success: return .success(nil)
        case .failure(let error): return .failure(error)
        case nil: return nil
        }
    }
}

/// The executor on which a task resumes.
enum ResumptionTarget {
    /// Any thread of the runtime.
    case anyThread
    /// The executor of an actor, or a preferred one. Usually it need not wait for a thread of the runtime, which may all be
    /// busy. (A default actor's executor also uses those threads.)
    case ofItsOwn

    /// - Parameter actor: The caller's isolation.
    static func current(_ actor: (any Actor)?) -> ResumptionTarget {
        if actor != nil { return .ofItsOwn }
        return withUnsafeCurrentTask { $0?.unownedTaskExecutor } == nil ? .anyThread : .ofItsOwn
    }
}

/// A queue of body chunks. Nearly always it holds one, which needs no array.
struct ChunkQueue {
    /// The first chunk; empty when there is none.
    private var first: [UInt8] = []
    private var others: [[UInt8]] = []
    private var head = 0
    /// The number of bytes in all chunks.
    private(set) var bytes = 0

    var isEmpty: Bool { bytes == 0 }
    var isOneAtMost: Bool { others.isEmpty }
    /// The number of array elements in use, including those of removed chunks.
    var placesKept: Int { others.count }

    /// Appends a chunk; an empty one is ignored.
    mutating func append(_ chunk: [UInt8]) {
        guard !chunk.isEmpty else { return }
        if isEmpty { first = chunk } else { others.append(chunk) }
        bytes += chunk.count
    }

    mutating func popFirst() -> [UInt8]? {
        guard !isEmpty else { return nil }
        let chunk = first
        bytes -= chunk.count
        first = []
        guard head < others.count else { return chunk }
        first = others[head]
        // From here on only the caller owns the chunk.
        others[head] = []
        head += 1
        if head == others.count {
            others.removeAll(keepingCapacity: others.count <= 64)
            head = 0
        } else if head >= 64, head * 2 >= others.count {
            // A reader that never quite empties the queue must not leave an array as long as the body.
            others.removeFirst(head)
            head = 0
        }
        return chunk
    }

    mutating func removeAll() {
        self = ChunkQueue()
    }
}
