// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

internal import HTTPDNSCurl
public import HTTPDNSPrimitives

extension HTTPDNSClient.Request.Body {
    /// The number of bytes of the body before compression; 0 for no body. Nil for a stream without a declared length, and for
    /// a body with a file, which is measured each time that it is sent.
    public var declaredLength: Int64? {
        switch content {
        case .none: return 0
        case .bytes(let bytes): return Int64(bytes.count)
        case .stream(let length, _): return length
        case .pieces(let pieces):
            var length: Int64 = 0
            for piece in pieces {
                guard case .bytes(let bytes) = piece else { return nil }
                length += Int64(bytes.count)
            }
            return length
        }
    }

    /// Returns the first bytes of the body before compression, as far as they are in memory; nil for a stream.
    package func startInMemory(upTo limit: Int) -> [UInt8]? {
        switch content {
        case .none: return []
        case .bytes(let bytes): return Array(bytes.prefix(limit))
        case .stream: return nil
        case .pieces(let pieces):
            var start: [UInt8] = []
            for piece in pieces {
                guard case .bytes(let bytes) = piece, start.count < limit else { break }
                start += bytes.prefix(limit - start.count)
            }
            return start
        }
    }

    /// Returns the first bytes of the body before compression: `limit` bytes, or all of a shorter body. The body is still
    /// sent whole.
    ///
    /// The result does not tell whether the body has more bytes. To sign or store a body use ``collect(upTo:)``, which
    /// fails for a longer one.
    ///
    /// A stream is replaced by its read part and its rest, which together are read once. Earlier copies of the body share
    /// the stream and can no longer be sent. A second call returns the same bytes.
    /// - Throws: ``HTTPDNSClientError`` with code `requestBodyFailed` for a file that cannot be read, a stream that fails and
    ///   a stream that was read before; `CancellationError`. After an error a stream cannot be sent.
    public mutating func peek(upTo limit: HTTPDNSByteCount) async throws -> [UInt8] {
        switch content {
        case .none: return []
        case .bytes(let bytes): return Array(bytes.prefix(limit.bytes))
        case .pieces(let pieces):
            guard case .stream(_, let chunks) = try await OpenPieces.source(of: pieces, until: nil) else { return [] }
            var peeked = PeekedChunks(chunks)
            try await Self.reading { try await peeked.read(upTo: limit.bytes) }
            return Array(peeked.start.prefix(limit.bytes))
        case .stream(let length, let chunks):
            var peeked: PeekedChunks
            if let known = chunks as? SinglePassChunks<PeekedChunks> {
                if known.base.isEnough(for: limit.bytes), !isSpent {
                    return Array(known.base.start.prefix(limit.bytes))
                }
                guard known.pass.take() else { throw HTTPDNSClientError.bodySentTwice }
                peeked = known.base
            } else {
                peeked = PeekedChunks(chunks)
            }
            try await Self.reading { try await peeked.read(upTo: limit.bytes) }
            self = replacing(with: peeked, length: length)
            return Array(peeked.start.prefix(limit.bytes))
        }
    }

    /// Reads the whole body before compression. A stream is then used up: to send the request, set its body to
    /// `.bytes` of the result.
    /// - Parameter limit: The longest body that is read.
    /// - Throws: ``HTTPDNSClientError`` with code `requestBodyFailed` for a longer body, a file that cannot be read, a stream
    ///   that fails and a stream that was read before; `CancellationError`.
    public func collect(upTo limit: HTTPDNSByteCount = .mebibytes(16)) async throws -> [UInt8] {
        var body = self
        let (wanted, isEndless) = limit.bytes.addingReportingOverflow(1)
        let bytes = try await body.peek(upTo: .bytes(isEndless ? Int.max : wanted))
        guard bytes.count <= limit.bytes else {
            throw HTTPDNSClientError.requestBody(
                "the request's body is longer than \(limit.bytes) bytes, the limit of this reading",
                hint: "read it with a higher limit, or read its start with peek(upTo:)"
            )
        }
        if !isReplayable { _ = body.takePass() }
        return bytes
    }

    /// Gives the errors of reading a body their code.
    private static func reading(_ read: () async throws -> Void) async throws {
        do {
            try await read()
        } catch let fault as FileFault {
            throw HTTPDNSClientError.unreadable(fault)
        } catch let error where !(error is HTTPDNSClientError || error is CancellationError) {
            throw HTTPDNSClientError.requestBody(
                "the stream of the request's body failed while its start was read",
                hint: "the stream's error is in underlying",
                underlying: error
            )
        }
    }

    /// Returns the same body with a stream of which the start was read.
    private func replacing(with chunks: PeekedChunks, length: Int64?) -> HTTPDNSClient.Request.Body {
        let pass = SinglePass()
        var body = HTTPDNSClient.Request.Body(
            .stream(length: length, SinglePassChunks(base: chunks, pass: pass)),
            contentType: contentType,
            pass: pass
        )
        body.coding = coding
        body.report = report
        return body
    }
}

/// A stream of which the start was read.
struct PeekedChunks: AsyncSequence, Sendable {
    typealias Element = [UInt8]
    typealias Failure = any Error

    /// The bytes that were read.
    private(set) var start: [UInt8] = []
    /// Whether ``start`` is the whole stream.
    private(set) var isWhole = false
    private let rest: StreamReader

    init(_ chunks: any AsyncSequence<[UInt8], any Error> & Sendable) { rest = StreamReader(chunks) }

    /// Whether the read bytes are all that a limit asks for.
    func isEnough(for limit: Int) -> Bool { isWhole || start.count >= limit }

    /// Reads on until there are `limit` bytes or the stream has ended.
    mutating func read(upTo limit: Int) async throws {
        while !isEnough(for: limit) {
            guard let chunk = try await rest.next() else {
                isWhole = true
                return
            }
            // A stream of one chunk is not copied.
            if start.isEmpty { start = chunk } else { start += chunk }
        }
    }

    /// The use of the stream by an iterator, with which it ends, also when its body is kept.
    private final class Reading: Sendable {
        let rest: StreamReader

        init(_ rest: StreamReader) { self.rest = rest }

        deinit { CallWork.detached { [rest] in await rest.end() } }
    }

    struct AsyncIterator: AsyncIteratorProtocol {
        private var start: [UInt8]
        private let reading: Reading?

        fileprivate init(_ chunks: PeekedChunks) {
            start = chunks.start
            reading = chunks.isWhole ? nil : Reading(chunks.rest)
        }

        mutating func next() async throws -> [UInt8]? {
            guard start.isEmpty else {
                defer { start = [] }
                return start
            }
            return try await reading?.rest.next()
        }
    }

    func makeAsyncIterator() -> AsyncIterator { AsyncIterator(self) }
}

/// The one iterator of a stream, which first a predicate and then the transport read.
private actor StreamReader {
    /// Nil once it has an iterator.
    private var chunks: (any AsyncSequence<[UInt8], any Error> & Sendable)?
    private var iterator: (any AsyncIteratorProtocol<[UInt8], any Error>)?
    private var hasEnded = false

    init(_ chunks: any AsyncSequence<[UInt8], any Error> & Sendable) { self.chunks = chunks }

    /// Drops the iterator.
    func end() { (chunks, iterator, hasEnded) = (nil, nil, true) }

    func next() async throws -> [UInt8]? {
        if let chunks {
            iterator = Self.iterator(of: chunks)
            self.chunks = nil
        }
        // A second reader at the same time would find none: SinglePass lets one through.
        guard var current = iterator else { return nil }
        iterator = nil
        let chunk = try await current.next(isolation: self)
        if chunk != nil, !hasEnded { iterator = current }
        return chunk
    }

    private static func iterator(
        of stream: some AsyncSequence<[UInt8], any Error>
    ) -> any AsyncIteratorProtocol<[UInt8], any Error> {
        stream.makeAsyncIterator()
    }
}
