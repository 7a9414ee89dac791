// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

internal import HTTPDNSPrimitives

/// The body of a response without its content codings: a single-pass sequence of chunks of at most 64 KiB.
///
/// Decoding runs in the reader's task, and no further than the reader asks. Dropping the body, or its iterator, cancels the
/// transfer; an error of decoding does the same.
package final class DecodedBody: AsyncSequence, Sendable {
    package typealias Element = [UInt8]

    /// The source of the encoded bytes.
    package enum Source: Sendable {
        case transfer(TransferResponseBody)
        case chunks(any AsyncSequence<[UInt8], any Error> & Sendable)
    }

    private struct State {
        var isIterated = false
        /// The number of decoded bytes; `nil` until the reader has reached the end.
        var decodedBytes: Int?
    }

    private let source: Source
    private let codings: DeclaredCodings
    private let facts: TransferHead?
    private let headAt = SystemTimeSource().now()
    private let limit: Int?
    private let onUndecodable: (@Sendable () async -> Void)?
    private let state = Lock(State())

    /// - Parameters:
    ///   - head: The head of the response, with the codings.
    ///   - facts: The facts of the response that its errors repeat; `nil` for a body whose source adds them.
    ///   - limit: The most decoded bytes of a body from another source; that of a transfer has its own limit.
    ///   - onUndecodable: Called before the reader gets the error of a body that cannot be decoded.
    package init(
        _ source: Source,
        of head: ResponseHead,
        _ facts: TransferHead?,
        limit: Int? = nil,
        onUndecodable: (@Sendable () async -> Void)? = nil
    ) {
        self.source = source
        codings = DeclaredCodings(head.headerFields)
        self.facts = facts
        self.limit = limit
        self.onUndecodable = onUndecodable
    }

    /// The byte counts and timings; `nil` until the body has been read to its end, and for a body from another source.
    package var summary: TransferSummary? {
        guard var summary = received?.summary,
            let bytes = state.withLock({ $0.decodedBytes })
        else { return nil }
        summary.bodyBytes = bytes
        return summary
    }

    /// The body as it was received; `nil` for a body from another source.
    package var received: TransferResponseBody? {
        guard case .transfer(let body) = source else { return nil }
        return body
    }

    package func makeAsyncIterator() -> AsyncIterator { AsyncIterator(self) }

    package struct AsyncIterator: AsyncIteratorProtocol {
        private let body: DecodedBody
        private var transfer: TransferResponseBody.AsyncIterator?
        private var chunks: (any AsyncIteratorProtocol<[UInt8], any Error>)?
        private var decoder: ContentDecoder?
        private var failure: (any Error)?

        fileprivate init(_ body: DecodedBody) {
            self.body = body
            let isFirst = body.state.withLock { state in
                defer { state.isIterated = true }
                return !state.isIterated
            }
            guard isFirst else {
                failure = TransferFailure.bodyConsumedTwice
                return
            }
            switch body.source {
            case .transfer(let encoded):
                transfer = encoded.makeAsyncIterator()
                decoder = ContentDecoder(
                    body.codings,
                    libraries: encoded.codingLibraries,
                    limit: encoded.maximumBytes
                )
            case .chunks(let encoded):
                chunks = AsyncIterator.iterator(of: encoded)
                decoder = ContentDecoder(body.codings, limit: body.limit)
            }
        }

        private static func iterator(
            of stream: some AsyncSequence<[UInt8], any Error>
        ) -> any AsyncIteratorProtocol<[UInt8], any Error> {
            stream.makeAsyncIterator()
        }

        /// Returns the next chunk; `nil` at the end.
        /// - Throws: ``TransferFailure``, `CancellationError`, errors of another source.
        package mutating func next() async throws -> [UInt8]? {
            try await next(isolation: #isolation)
        }

        /// Returns the next chunk; `nil` at the end.
        package mutating func next(isolation actor: isolated (any Actor)?) async throws -> [UInt8]? {
            if let failure { throw failure }
            guard let decoder else { return nil }
            do {
                while true {
                    // With all input here the source would not notice a cancellation, and a bomb takes long.
                    if !decoder.needsInput { try Task.checkCancellation() }
                    if let chunk = try decoder.next() { return chunk }
                    guard decoder.needsInput else { continue }
                    guard let encoded = try await nextEncoded(actor) else { break }
                    try decoder.add(encoded)
                }
                try decoder.finish()
                body.state.withLock { $0.decodedBytes = decoder.decodedBytes }
                end()
                return nil
            } catch let failure as TransferFailure where failure.endpoint == nil {
                if failure.code == .undecodable { await body.onUndecodable?() }
                throw fail(body.completed(failure))
            } catch {
                throw fail(error)
            }
        }

        private mutating func nextEncoded(_ actor: isolated (any Actor)?) async throws -> [UInt8]? {
            if transfer != nil { return try await transfer?.next() }
            return try await chunks?.next(isolation: actor)
        }

        private mutating func fail(_ error: any Error) -> any Error {
            failure = error
            end()
            return error
        }

        private mutating func end() {
            transfer = nil
            chunks = nil
            decoder = nil
        }
    }

    /// Adds the facts of the response to a failure of decoding.
    private func completed(_ failure: TransferFailure) -> TransferFailure {
        var failure = failure
        failure.requestMayHaveBeenSent = true
        guard let facts else { return failure }
        failure.endpoint = facts.endpoint
        failure.proxy = received?.proxy
        let timings = facts.timings
        // The time until the head, as far as it was measured.
        let elapsed = [timings.race, timings.connect, timings.tls, timings.firstByte].compactMap(\.self)
        failure.elapsed = elapsed.reduce(SystemTimeSource().now() - headAt, +)
        if !facts.failedAttempts.isEmpty, let attempt = TransferAttempt(ending: failure) {
            failure.attempts = facts.failedAttempts + [attempt]
        }
        return failure
    }
}

extension TransferResponse {
    /// The body without its content codings; `nil` when the head declares none, or they are not to be decoded.
    package var decodedBody: DecodedBody? {
        guard facts.head.declaresCoding, body.isDecoded else { return nil }
        return DecodedBody(.transfer(body), of: facts.head, facts)
    }

    /// Reads the whole body, without its content codings.
    /// - Throws: ``TransferFailure``, `CancellationError`.
    package func readDecoded() async throws -> [UInt8] {
        var bytes: [UInt8] = []
        if let decodedBody {
            for try await chunk in decodedBody { bytes += chunk }
        } else {
            for try await chunk in body { bytes += chunk }
        }
        return bytes
    }
}
