internal import HTTPDNSPrimitives

/// What the loop hands over when the head of a response is complete.
struct RawHead: Sendable {
    var bytes: [UInt8]
    /// The endpoint that answered.
    var endpoint: HTTPDNSEndpoint
    /// What was tried before.
    var failedAttempts: [TransferAttempt] = []
    var reusedConnection: Bool
    /// How often the request was sent besides, because it had no answer in time.
    var hedges = 0
    /// What the server showed when the connection was made, as far as that is kept.
    var peerCertificates: [HTTPDNSTransfer.PeerCertificate] = []
    var timings: HTTPDNSTransfer.Timings
}

/// What one response has come to, between the loop that brings it and the task that takes it.
///
/// A value: every event is a method that returns what is to be done once the lock is let go. Each continuation leaves the
/// state exactly once, whichever of success, failure and cancellation comes first.
struct ResponseState {
    typealias HeadContinuation = UnsafeContinuation<RawHead, any Error>
    typealias ChunkContinuation = UnsafeContinuation<[UInt8]?, any Error>

    enum Action {
        case none
        case resumeHead(HeadContinuation, Result<RawHead, any Error>, CallerPlace)
        case resumeChunk(ChunkContinuation, Result<[UInt8]?, any Error>, CallerPlace)

        func run() {
            switch self {
            case .none: break
            case .resumeHead(let continuation, let result, _): continuation.resume(with: result)
            case .resumeChunk(let continuation, let result, _): continuation.resume(with: result)
            }
        }

        /// Where the one runs who is resumed.
        var place: CallerPlace {
            switch self {
            case .none: .anyThread
            case .resumeHead(_, _, let place), .resumeChunk(_, _, let place): place
            }
        }
    }

    enum Taken {
        /// A chunk, or the end; `resumesReading` when the loop may go on.
        case now(Result<[UInt8]?, any Error>, resumesReading: Bool)
        case later
    }

    private var headWaiter: HeadContinuation?
    private var chunkWaiter: ChunkContinuation?
    /// Where the one runs who waits.
    private var waiterPlace = CallerPlace.anyThread
    private var chunks = ChunkQueue()
    private(set) var end: Result<TransferSummary, any Error>?
    private var isReadingPaused = false
    private var isIterated = false
    private var place: (any AnyObject & Sendable)?

    /// - Parameter place: What is kept until the end.
    init(place: (any AnyObject & Sendable)? = nil) { self.place = place }

    /// What was kept until the end.
    mutating func takePlace() -> (any AnyObject & Sendable)? {
        defer { place = nil }
        return place
    }

    /// How many bytes wait to be taken.
    var bufferedBytes: Int { chunks.bytes }

    /// The caller waits for the head. It is called once, before the loop knows of the transfer.
    mutating func awaitHead(_ continuation: HeadContinuation, at place: CallerPlace = .anyThread) {
        headWaiter = continuation
        waiterPlace = place
    }

    /// What one loop turn brought, all of it in one call.
    mutating func receive(
        head newHead: RawHead?,
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
        guard let waiter = chunkWaiter, let result = nextChunk() else { return .none }
        chunkWaiter = nil
        return .resumeChunk(waiter, result, waiterPlace)
    }

    /// The body is full: the loop stops reading, unless the buffer was emptied meanwhile.
    mutating func pauseReading(ifOver window: Int, pending: Int) -> Bool {
        isReadingPaused = chunks.bytes + pending >= window
        return isReadingPaused
    }

    /// The caller asks for a chunk.
    mutating func take(below window: Int) -> Taken {
        guard let result = nextChunk() else { return .later }
        let resumes = isReadingPaused && end == nil && chunks.bytes <= window / 2
        if resumes { isReadingPaused = false }
        return .now(result, resumesReading: resumes)
    }

    /// The caller waits for a chunk, after `take` gave none; the state may have changed in between.
    mutating func awaitChunk(_ continuation: ChunkContinuation, at place: CallerPlace = .anyThread) -> Action {
        if let result = nextChunk() { return .resumeChunk(continuation, result, place) }
        chunkWaiter = continuation
        waiterPlace = place
        return .none
    }

    /// The first iterator gets true.
    mutating func claimIterator() -> Bool {
        defer { isIterated = true }
        return !isIterated
    }

    /// Nobody will take anything any more.
    mutating func abandon() -> Bool {
        chunks.removeAll()
        return end == nil
    }

    /// The whole body when it is here already, in one piece of at most `limit` bytes, and nobody has begun to read it.
    mutating func takeWhole(upTo limit: Int) -> [UInt8]? {
        guard !isIterated, case .success = end, chunks.bytes <= limit, chunks.isOneAtMost else { return nil }
        isIterated = true
        return chunks.popFirst() ?? []
    }

    var hasIterator: Bool { isIterated }

    private mutating func nextChunk() -> Result<[UInt8]?, any Error>? {
        if let chunk = chunks.popFirst() { return .success(chunk) }
        switch end {
        case .success: return .success(nil)
        case .failure(let error): return .failure(error)
        case nil: return nil
        }
    }
}
