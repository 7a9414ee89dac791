internal import CurlTransport
public import HTTPDNSPrimitives

/// The body of an answer: chunks of at most 64 KiB when it comes over the wire, read once.
///
/// Dropping the body, or its iterator, cancels the transfer; so does cancelling the task that reads.
public struct ResponseBody: AsyncSequence, Sendable {
    /// A chunk.
    public typealias Element = [UInt8]

    fileprivate enum Source: Sendable {
        case transfer(TransferResponseBody, HopRecord)
        case chunks(any AsyncSequence<[UInt8], any Error> & Sendable, HopRecord?, SinglePass)
        case bytes([UInt8], SinglePass)
    }

    private let source: Source

    private init(_ source: Source) { self.source = source }

    init(_ body: HopAnswer.Body, of hop: HopRecord) {
        switch body {
        case .transfer(let body): source = .transfer(body, hop)
        case .chunks(let chunks): source = .chunks(chunks, hop, SinglePass())
        }
    }

    /// A body of these bytes.
    public static func bytes(_ bytes: [UInt8]) -> ResponseBody { ResponseBody(.bytes(bytes, SinglePass())) }

    /// A body from a stream, for interceptors that answer by themselves or change a body on its way. Chunks are passed on
    /// as they come. Errors other than ``HTTPDNSClientError`` and `CancellationError` reach the reader as
    /// ``HTTPDNSClientError/Code/interceptorFailed``.
    public static func stream(_ chunks: some AsyncSequence<[UInt8], any Error> & Sendable) -> ResponseBody {
        ResponseBody(.chunks(chunks, nil, SinglePass()))
    }

    /// Reads a body.
    public struct AsyncIterator: AsyncIteratorProtocol {
        private var transfer: TransferResponseBody.AsyncIterator?
        private var chunks: (any AsyncIteratorProtocol<[UInt8], any Error>)?
        private var bytes: [UInt8]?
        private var isRefused = false
        private let hop: HopRecord?

        fileprivate init(_ source: Source) {
            switch source {
            case .transfer(let body, let hop):
                transfer = body.makeAsyncIterator()
                self.hop = hop
            case .chunks(let stream, let hop, let pass):
                if pass.take() { chunks = AsyncIterator.iterator(of: stream) } else { isRefused = true }
                self.hop = hop
            case .bytes(let all, let pass):
                if pass.take() { bytes = all.isEmpty ? nil : all } else { isRefused = true }
                hop = nil
            }
        }

        private static func iterator(
            of stream: some AsyncSequence<[UInt8], any Error>
        ) -> any AsyncIteratorProtocol<[UInt8], any Error> {
            stream.makeAsyncIterator()
        }

        /// The next chunk; nil at the end.
        /// - Throws: ``HTTPDNSClientError``, `CancellationError`.
        public mutating func next() async throws -> [UInt8]? {
            do {
                if transfer != nil { return try await transfer?.next() }
                if chunks != nil { return try await chunks?.next(isolation: #isolation) }
            } catch {
                chunks = nil
                throw HTTPDNSClientError.bodyError(error, on: hop)
            }
            if isRefused { throw HTTPDNSClientError.bodyConsumedTwice(on: hop) }
            defer { bytes = nil }
            return bytes
        }
    }

    /// Starts reading. A second iterator throws ``HTTPDNSClientError/Code/bodyConsumedTwice``.
    public func makeAsyncIterator() -> AsyncIterator { AsyncIterator(source) }

    /// The whole body.
    /// - Throws: ``HTTPDNSClientError``, with code `responseTooLarge` as soon as the body is longer than `limit`;
    ///   `CancellationError`.
    public func collect(upTo limit: ByteCount) async throws -> [UInt8] {
        var iterator = makeAsyncIterator()
        guard var body = try await iterator.next() else { return [] }
        // A body of one chunk is that chunk, not a copy.
        while true {
            guard body.count <= limit.bytes else { throw HTTPDNSClientError.bodyTooLong(limit: limit, on: hop) }
            guard let chunk = try await iterator.next() else { return body }
            body += chunk
        }
    }

    /// Byte counts and timings; nil until the body has ended on the wire, and for bodies that did not come over it.
    public var summary: BodySummary? {
        guard case .transfer(let body, _) = source, let summary = body.summary else { return nil }
        return BodySummary(bodyBytes: summary.bodyBytes, wireBytes: summary.wireBytes, timings: summary.timings)
    }

    private var hop: HopRecord? {
        switch source {
        case .transfer(_, let hop): hop
        case .chunks(_, let hop, _): hop
        case .bytes: nil
        }
    }
}
