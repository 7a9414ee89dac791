// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

internal import HTTPDNSCore
internal import HTTPDNSCurl
public import HTTPDNSPrimitives
internal import HTTPTypes

extension HTTPDNSClient.Response {
    /// The body of a response: chunks of at most 64 KiB from the network, read once.
    ///
    /// Dropping the body, or its iterator, ends the transfer. An HTTP/1.1 connection is then kept if the rest is short: at
    /// most 16 KiB that arrive within 100 ms. Otherwise it is closed, and over HTTP/2 the stream is reset. Canceling the
    /// reading task cancels the transfer.
    public struct Body: AsyncSequence, Sendable {
        /// A chunk of the body.
        public typealias Element = [UInt8]

        fileprivate enum Source: Sendable {
            case transfer(TransferResponseBody, HopRecord)
            case chunks(any AsyncSequence<[UInt8], any Error> & Sendable, HopRecord?, SinglePass)
            case decoded(DecodedBody, HopRecord?)
            /// - Parameter from: The body that the bytes were read from; nil for bytes of an interceptor.
            indirect case bytes([UInt8], SinglePass, from: HTTPDNSClient.Response.Body?)
            /// A stream that reads another body.
            indirect case changed(
                any AsyncSequence<[UInt8], any Error> & Sendable,
                SinglePass,
                from: HTTPDNSClient.Response.Body
            )
            case watched(WatchedBody)
        }

        private let source: Source
        /// The number of bytes that the reader will get; nil when the response does not declare it, and when a content
        /// coding is decoded.
        public var declaredLength: Int64? { length.bytes }
        private let length: BodyLength
        private var report: (@Sendable (HTTPDNSClient.Progress) -> Void)?

        private init(_ source: Source, length: BodyLength = .known(nil)) {
            self.source = source
            self.length = length
        }

        init(_ body: HopAnswer.Body, of hop: HopRecord, length: BodyLength = .known(nil)) {
            switch body {
            case .transfer(let body): self.init(.transfer(body, hop), length: length)
            case .chunks(let chunks): self.init(.chunks(chunks, hop, SinglePass()), length: length)
            }
        }

        init(_ body: DecodedBody, of hop: HopRecord?, length: BodyLength) {
            self.init(.decoded(body, hop), length: length)
        }

        /// Returns a body of these bytes.
        public static func bytes(_ bytes: [UInt8]) -> HTTPDNSClient.Response.Body {
            HTTPDNSClient.Response.Body(.bytes(bytes, SinglePass(), from: nil), length: .known(Int64(bytes.count)))
        }

        /// Returns a body from a stream, for interceptors that answer without sending or change a body. Chunks are
        /// passed on unchanged. Errors other than ``HTTPDNSClientError`` and `CancellationError` reach the reader as
        /// ``HTTPDNSClientError/Code/interceptorFailed``.
        public static func stream(_ chunks: some AsyncSequence<[UInt8], any Error> & Sendable)
            -> HTTPDNSClient.Response.Body
        {
            HTTPDNSClient.Response.Body(.chunks(chunks, nil, SinglePass()))
        }

        /// Returns a body from a stream that reads this one, such as a stream that changes its bytes. Its trailers and its
        /// summary are those of this body. Use ``stream(_:)`` for a stream that does not read this body.
        ///
        /// Errors are those of ``stream(_:)``. The progress of this body is still reported to existing closures.
        /// - Parameters:
        ///   - chunks: The stream. It reads this body once at most.
        ///   - length: The number of bytes of the stream, which becomes ``declaredLength``; nil when it is not known.
        public func changed(
            to chunks: some AsyncSequence<[UInt8], any Error> & Sendable,
            length: Int64? = nil
        ) -> HTTPDNSClient.Response.Body {
            HTTPDNSClient.Response.Body(.changed(chunks, SinglePass(), from: self), length: .known(length))
        }

        /// Returns a body of the bytes that were read from this one. Its trailers and its summary are those of this body.
        func replayed(_ bytes: [UInt8]) -> HTTPDNSClient.Response.Body {
            HTTPDNSClient.Response.Body(.bytes(bytes, SinglePass(), from: self), length: length)
        }

        /// Whether the body certainly ends, and is not known to be longer than a limit.
        func mayBeCollected(upTo limit: HTTPDNSByteCount) -> Bool {
            // One that has ended on the wire is read without a wait.
            if received?.summary != nil { return true }
            // A decoded body ends if the coded body does.
            guard let length = declaredLength ?? length.received else { return false }
            return length <= limit.bytes
        }

        /// Returns the same body for the caller of an observed call, which ends with it.
        func watched(by call: ObservedCall) -> HTTPDNSClient.Response.Body {
            HTTPDNSClient.Response.Body(.watched(WatchedBody(self, call)), length: length)
        }

        /// Whether the reader gets the bytes that the server sent.
        var isAsReceived: Bool { if case .transfer = source { true } else { false } }

        /// Returns a body from a stream of a known length, such as that of a stored response.
        package static func stream(
            _ chunks: some AsyncSequence<[UInt8], any Error> & Sendable,
            length: Int64
        ) -> HTTPDNSClient.Response.Body {
            HTTPDNSClient.Response.Body(.chunks(chunks, nil, SinglePass()), length: .known(length))
        }

        /// Returns this body, which is as received, without the content codings of its head.
        /// - Parameters:
        ///   - limit: The most decoded bytes; nil for any number.
        ///   - onUndecodable: Called when a body from another source than the network cannot be decoded.
        func decoded(
            _ head: ResponseHead,
            limit: Int?,
            onUndecodable: (@Sendable () async -> Void)? = nil
        ) -> HTTPDNSClient.Response.Body {
            if case .transfer(let body, let hop) = source {
                return HTTPDNSClient.Response.Body(.decoded(DecodedBody(.transfer(body), of: head, nil), hop))
            }
            return changed(
                to: DecodedBody(.chunks(self), of: head, nil, limit: limit, onUndecodable: onUndecodable)
            )
        }

        /// Reads a body that is not wanted, as ``drain(on:)`` does.
        package func discard() async throws { try await drain() }

        /// Whether the content codings of the head have been decoded.
        var isDecoded: Bool {
            switch source {
            case .decoded: true
            case .changed(_, _, let base): base.isDecoded
            case .watched(let body): body.base.isDecoded
            case .bytes(_, _, let base): base?.isDecoded ?? false
            case .transfer, .chunks: false
            }
        }

        /// Returns the same body with a closure that receives the number of bytes read so far. The numbers grow from 0,
        /// when reading begins, to the exact length, with ``HTTPDNSClient/Progress/isComplete``. The total is
        /// ``declaredLength``.
        ///
        /// The reader calls the closure between two chunks. A body that fails, or that is not read to its end, is never
        /// complete. Existing closures of the body are called as well, before this one.
        public func reportingProgress(_ report: @escaping @Sendable (HTTPDNSClient.Progress) -> Void)
            -> HTTPDNSClient.Response.Body
        {
            var body = self
            body.report = HTTPDNSClient.Progress.reporting(to: self.report, and: report)
            return body
        }

        /// An iterator that reads a body.
        public struct AsyncIterator: AsyncIteratorProtocol {
            private var transfer: TransferResponseBody.AsyncIterator?
            private var chunks: (any AsyncIteratorProtocol<[UInt8], any Error>)?
            private var bytes: [UInt8]?
            private var isRefused = false
            private let hop: HopRecord?
            private var progress: Progress?

            fileprivate init(_ body: HTTPDNSClient.Response.Body) {
                progress = body.report.map { Progress(report: $0, total: body.declaredLength) }
                switch body.source {
                case .transfer(let body, let hop):
                    transfer = body.makeAsyncIterator()
                    self.hop = hop
                case .chunks(let stream, let hop, let pass):
                    if pass.take() { chunks = AsyncIterator.iterator(of: stream) } else { isRefused = true }
                    self.hop = hop
                case .bytes(let all, let pass, let base):
                    if pass.take() { bytes = all.isEmpty ? nil : all } else { isRefused = true }
                    hop = base?.hop
                case .decoded(let body, let hop):
                    chunks = body.makeAsyncIterator()
                    self.hop = hop
                case .changed(let stream, let pass, let base):
                    if pass.take() { chunks = AsyncIterator.iterator(of: stream) } else { isRefused = true }
                    hop = base.hop
                case .watched(let body):
                    chunks = body.makeAsyncIterator()
                    isRefused = chunks == nil
                    hop = body.base.hop
                }
            }

            private static func iterator(
                of stream: some AsyncSequence<[UInt8], any Error>
            ) -> any AsyncIteratorProtocol<[UInt8], any Error> {
                stream.makeAsyncIterator()
            }

            /// Asks a long body from the network for chunks of this size, before the first one is read. The progress of a body
            /// needs the usual ones.
            func gather(_ size: Int, of length: Int64) {
                guard progress == nil, length >= AsyncIterator.leastGathered else { return }
                transfer?.gather(size)
                (chunks as? WatchedBody.AsyncIterator)?.gather(size, of: length)
            }

            /// The length from which on fewer and larger chunks are worth a message to the loop: what it reads ahead.
            private static let leastGathered = 256 * 1024

            /// Returns the next chunk; nil at the end.
            /// - Throws: ``HTTPDNSClientError``, `CancellationError`.
            public mutating func next() async throws -> [UInt8]? {
                progress?.begin()
                let chunk = try await read()
                progress?.advance(by: chunk?.count)
                return chunk
            }

            private mutating func read() async throws -> [UInt8]? {
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
        public func makeAsyncIterator() -> AsyncIterator { AsyncIterator(self) }

        /// The state of the progress reports.
        private struct Progress {
            let report: @Sendable (HTTPDNSClient.Progress) -> Void
            let total: Int64?
            private var bytes: Int64?
            private var isComplete = false

            init(report: @escaping @Sendable (HTTPDNSClient.Progress) -> Void, total: Int64?) {
                self.report = report
                self.total = total
            }

            mutating func begin() {
                guard bytes == nil else { return }
                bytes = 0
                report(HTTPDNSClient.Progress(bytes: 0, total: total, isComplete: false))
            }

            /// - Parameter count: The bytes of the chunk; nil at the end.
            mutating func advance(by count: Int?) {
                guard !isComplete else { return }
                let now = (bytes ?? 0) + Int64(count ?? 0)
                bytes = now
                isComplete = count == nil
                report(HTTPDNSClient.Progress(bytes: now, total: isComplete ? now : total, isComplete: isComplete))
            }
        }

        /// Reads the whole body.
        /// - Throws: ``HTTPDNSClientError``, with code `responseTooLarge` as soon as the body is longer than `limit`;
        ///   `CancellationError`.
        public func collect(upTo limit: HTTPDNSByteCount = .mebibytes(16)) async throws -> [UInt8] {
            // A short response has usually arrived whole, with its head.
            if let whole = takeWhole(upTo: limit) { return whole.bytes }
            var iterator = makeAsyncIterator()
            if let length = declaredLength, length <= limit.bytes { iterator.gather(limit.bytes, of: length) }
            guard var body = try await iterator.next() else { return [] }
            // A body of one chunk is returned without a copy.
            while true {
                guard body.count <= limit.bytes else { throw HTTPDNSClientError.bodyTooLong(limit: limit, on: hop) }
                guard let chunk = try await iterator.next() else { return body }
                body += chunk
            }
        }

        /// Returns a body that has arrived whole and in one piece, with its trailers.
        func takeWhole(upTo limit: HTTPDNSByteCount) -> (bytes: [UInt8], trailers: TransferTrailers?)? {
            guard report == nil else { return nil }
            switch source {
            case .transfer(let body, _): return body.takeWhole(upTo: limit.bytes)
            case .bytes(let bytes, let pass, from: nil) where bytes.count <= limit.bytes && pass.take():
                return (bytes, nil)
            case .watched(let body): return body.takeWhole(upTo: limit)
            default: return nil
            }
        }

        /// The trailers: fields that the server sends after the body (RFC 9110 section 6.5). Nil until the body has ended
        /// on the wire, at the latest when it has been read whole; then empty if there are none. Nil for bodies from other
        /// sources, such as ``stream(_:)``.
        ///
        /// They are not merged into the header fields. A section of more than 300 KiB or 10,000 fields fails the body with
        /// ``HTTPDNSClientError/Code/protocolViolation``. Over HTTP/2, libcurl drops the trailers of a response with a
        /// `Content-Length`.
        public var trailers: HTTPFields? {
            guard let body = received, body.summary != nil else { return nil }
            return body.trailers?.fields ?? [:]
        }

        /// The trailers as received; nil when there are none.
        var receivedTrailers: TransferTrailers? { received?.trailers }

        /// The body as it was received, for bodies from the network.
        private var received: TransferResponseBody? {
            switch source {
            case .transfer(let body, _): body
            case .decoded(let body, _): body.received
            case .changed(_, _, let base): base.received
            case .watched(let body): body.base.received
            case .bytes(_, _, let base): base?.received
            case .chunks: nil
            }
        }

        /// The byte counts and timings; nil until the body has ended on the wire, and for bodies from other sources. A body
        /// whose content coding is decoded has them once it was read to its end.
        public var summary: HTTPDNSClient.Response.BodySummary? {
            let summary: TransferSummary?
            switch source {
            case .transfer(let body, _): summary = body.summary
            case .decoded(let body, _): summary = body.summary
            case .changed(_, _, let base): return base.summary
            case .watched(let body): return body.base.summary
            case .bytes(_, _, let base): return base?.summary
            case .chunks: return nil
            }
            guard let summary else { return nil }
            return HTTPDNSClient.Response.BodySummary(
                bodyBytes: summary.bodyBytes,
                wireBytes: summary.wireBytes,
                timings: summary.timings
            )
        }

        var hop: HopRecord? {
            switch source {
            case .transfer(_, let hop): hop
            case .decoded(_, let hop), .chunks(_, let hop, _): hop
            case .changed(_, _, let base): base.hop
            case .watched(let body): body.base.hop
            case .bytes(_, _, let base): base?.hop
            }
        }
    }
}

extension HTTPDNSClient.Response.Body {
    /// The most bytes that are read of an unwanted body to reuse its connection. Reading more costs more than a new
    /// connection.
    private static let drained = 16 * 1024
    /// The longest time to read an unwanted body: about the time of a new connection on a slow network. Bytes that came
    /// with the head are already there.
    private static let patience = Duration.milliseconds(250)

    /// Reads the rest of a short body and drops a long or slow one. The outcome does not matter, because only the head
    /// counted.
    /// - Throws: `CancellationError`.
    func drain(on clock: some TimeSource = SystemTimeSource()) async throws {
        _ = try await readShort(upTo: HTTPDNSClient.Response.Body.drained, on: clock)
    }

    /// Frees the connection of the body, as ``drain(on:)`` does.
    /// - Returns: The body with its bytes; one that fails when it is read if it was long or slow.
    /// - Throws: `CancellationError`.
    func released() async throws -> HTTPDNSClient.Response.Body {
        // A body from another source holds no connection.
        guard hop != nil else { return self }
        let most = HTTPDNSClient.Response.Body.drained + 1
        if let bytes = try await readShort(upTo: most, on: SystemTimeSource()) { return replayed(bytes) }
        let hop = hop
        let error: @Sendable () -> HTTPDNSClientError = {
            .body(
                .responseTooLarge,
                on: hop,
                of: "the body of the redirect",
                "was not kept while the hook ran: it is longer than 16 KiB, broke, or did not end within 250 ms",
                hint: "with redirects .off, the response is returned with its whole body"
            )
        }
        return changed(to: UnkeptBody(error: error), length: declaredLength)
    }

    /// Reads a short body; returns nil for a slow or a broken one, and for one with `most` bytes or more.
    private func readShort(upTo most: Int, on clock: some TimeSource) async throws -> [UInt8]? {
        guard (declaredLength ?? 0) <= HTTPDNSClient.Response.Body.drained else {
            // A transfer ends with its reader, even when other references to the body exist.
            _ = makeAsyncIterator()
            return nil
        }
        let deadline = clock.now() + HTTPDNSClient.Response.Body.patience
        let bytes: [UInt8]? = await withTaskGroup(of: [UInt8]?.self) { tasks in
            tasks.addTask { try? await readShort(upTo: most) }
            tasks.addTask {
                try? await clock.sleep(until: deadline)
                return nil
            }
            defer { tasks.cancelAll() }
            return await tasks.next() ?? nil
        }
        try Task.checkCancellation()
        return bytes
    }

    private func readShort(upTo most: Int) async throws -> [UInt8]? {
        var bytes: [UInt8] = []
        var iterator = makeAsyncIterator()
        while bytes.count < most {
            guard let chunk = try await iterator.next() else { return bytes }
            bytes += chunk
        }
        return nil
    }
}

/// A body that was not kept.
private struct UnkeptBody: AsyncSequence, AsyncIteratorProtocol, Sendable {
    let error: @Sendable () -> HTTPDNSClientError

    func next() async throws -> [UInt8]? { throw error() }

    func makeAsyncIterator() -> UnkeptBody { self }
}

/// The length of a response body as its head declares it. The header fields are read on demand, because most callers
/// never ask.
enum BodyLength: Sendable {
    case known(Int64?)
    /// - Parameter decodes: Whether content codings are decoded.
    case declared(in: ResponseHead, decodes: Bool)

    init(declaredBy head: ResponseHead, to method: HTTPRequest.Method, decodes: Bool) {
        let status = head.statusCode
        // Responses to these have no body, whatever their fields declare (RFC 9110 section 6.4.1).
        let hasNone = status == 204 || status == 304 || method == .head
        self = hasNone ? .known(0) : .declared(in: head, decodes: decodes)
    }

    /// The length that the reader gets.
    var bytes: Int64? {
        switch self {
        case .known(let bytes): bytes
        case .declared(let head, let decodes): BodyLength.bytes(in: head, decodes: decodes)
        }
    }

    /// The length on the wire.
    var received: Int64? {
        switch self {
        case .known(let bytes): bytes
        case .declared(let head, _): BodyLength.bytes(in: head, decodes: false)
        }
    }

    private static func bytes(in head: ResponseHead, decodes: Bool) -> Int64? {
        let fields = head.headerFields
        if decodes, let coding = fields[.contentEncoding], coding.lowercased() != "identity" { return nil }
        // Content-Length is ignored beside Transfer-Encoding (RFC 9112 section 6.3).
        guard !fields.contains(.transferEncoding) else { return nil }
        return fields.singleton(.contentLength).flatMap { Int64(digits: $0.value) }
    }
}
