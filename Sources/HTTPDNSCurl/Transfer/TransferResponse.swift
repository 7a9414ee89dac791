// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

package import HTTPDNSPrimitives

/// A response head and its facts, as the loop delivers them. A class, because it passes through many hands.
package final class TransferHead: Sendable {
    package let head: ResponseHead
    package let version: HTTPDNSTransfer.HTTPVersion
    /// The address and port that responded, as reported by the connection.
    package let endpoint: HTTPDNSEndpoint
    /// The endpoints that were tried before, and failed.
    package let failedAttempts: [TransferAttempt]
    package let reusedConnection: Bool
    /// The number of times that the request was sent again in parallel, because it had no response in time; the first response
    /// counts.
    package let hedges: Int
    /// The server's certificates from the handshake, beginning with its own. Empty in clear text, and unless
    /// ``TransportConfiguration/keepsPeerCertificates``.
    package let peerCertificates: [HTTPDNSTransfer.PeerCertificate]
    /// The result of the connection's TLS handshake; `nil` in clear text.
    package let tls: HTTPDNSTransfer.TLSParameters?
    /// The phases known when the head arrived; ``TransferResponseBody/summary`` has `total` at the end.
    package let timings: HTTPDNSTransfer.Timings

    package init(
        head: consuming ResponseHead,
        version: HTTPDNSTransfer.HTTPVersion,
        endpoint: HTTPDNSEndpoint,
        failedAttempts: [TransferAttempt] = [],
        reusedConnection: Bool,
        hedges: Int = 0,
        peerCertificates: [HTTPDNSTransfer.PeerCertificate] = [],
        tls: HTTPDNSTransfer.TLSParameters? = nil,
        timings: HTTPDNSTransfer.Timings
    ) {
        self.head = head
        self.version = version
        self.endpoint = endpoint
        self.failedAttempts = failedAttempts
        self.reusedConnection = reusedConnection
        self.hedges = hedges
        self.peerCertificates = peerCertificates
        self.tls = tls
        self.timings = timings
    }
}

/// The head of a response with its facts, which are its members too, and the stream of its body.
@dynamicMemberLookup
package struct TransferResponse: Sendable {
    package let facts: TransferHead
    package let body: TransferResponseBody

    package subscript<Fact>(dynamicMember path: KeyPath<TransferHead, Fact>) -> Fact { facts[keyPath: path] }
}

/// A transfer that the loop has, and whose head its caller waits for.
package struct TransferInProgress: Sendable {
    let transfer: Transfer
    /// The task that reads a streamed request body.
    let pump: Task<Void, Never>?

    /// Returns at the head of the response. Call it once.
    /// - Throws: ``TransferFailure``; `CancellationError` when the task is canceled.
    package func response() async throws -> TransferResponse {
        let place = ResumptionTarget.current(#isolation)
        let facts: TransferHead
        do {
            facts = try await withTaskCancellationHandler {
                try await withUnsafeThrowingContinuation { continuation in
                    transfer.response.withLock { $0.awaitHead(continuation, at: place) }.run()
                }
            } onCancel: {
                transfer.cancel()
            }
        } catch {
            pump?.cancel()
            await closeInterim()
            throw error
        }
        let body = TransferResponseBody(transfer, pump: pump)
        transfer.uploadProgress?.tell()
        if transfer.request.interim != nil {
            await closeInterim()
            if Task.isCancelled {
                transfer.cancel()
                throw CancellationError()
            }
        }
        return TransferResponse(facts: facts, body: body)
    }
}

extension TransferInProgress {
    /// Waits until the closure for interim responses was called with all of them, and for the time limits of the head at most.
    private func closeInterim() async {
        guard let interim = transfer.request.interim else { return }
        let deadlines = [transfer.limits.deadline, transfer.limits.headDeadline].compactMap { $0 }
        await interim.close(by: deadlines.min())
    }
}

/// The facts of a transfer that are known at the end of its body.
package struct TransferSummary: Hashable, Sendable {
    /// The number of delivered body bytes: as they were received, or of a ``DecodedBody`` those after decoding.
    package var bodyBytes: Int
    /// The number of received body bytes, before decoding.
    package var wireBytes: Int
    package var timings: HTTPDNSTransfer.Timings
}

/// The body of a response as it was sent: a single-pass sequence of chunks of at most 64 KiB. ``DecodedBody`` decodes its content
/// codings. Dropping it, or its iterator, ends the transfer, see ``TransportLoop/endUnread(_:)``.
package struct TransferResponseBody: AsyncSequence, Sendable {
    package typealias Element = [UInt8]

    /// Ends the transfer when the last copy of the body is released before it was read.
    fileprivate final class Owner: Sendable {
        let transfer: Transfer
        let pump: Task<Void, Never>?

        init(_ transfer: Transfer, pump: Task<Void, Never>?) {
            self.transfer = transfer
            self.pump = pump
        }

        deinit {
            pump?.cancel()
            if transfer.response.withLock({ !$0.hasIterator && $0.abandon() }) { transfer.endUnread() }
        }
    }

    /// Ends the transfer when the iterator is released before the end. It keeps the owner, so that the pump lives.
    fileprivate final class Reader: Sendable {
        let owner: Owner
        var transfer: Transfer { owner.transfer }

        init(_ owner: Owner) { self.owner = owner }

        deinit {
            if transfer.response.withLock({ $0.abandon() }) { transfer.endUnread() }
        }
    }

    private let owner: Owner

    init(_ transfer: Transfer, pump: Task<Void, Never>?) {
        owner = Owner(transfer, pump: pump)
    }

    package struct AsyncIterator: AsyncIteratorProtocol {
        private let reader: Reader?

        fileprivate init(_ owner: Owner) {
            reader = owner.transfer.response.withLock { $0.claimIterator() } ? Reader(owner) : nil
        }

        /// Asks for chunks of up to a size in place of 64 KiB, before the first one is read. They come when they are full, or at
        /// the end.
        package func gather(_ size: Int) {
            guard size > EasyHandle.maximumChunk, let transfer = reader?.transfer else { return }
            guard transfer.response.withLock({ $0.hold() }) else { return }
            transfer.mailbox.post(.gather(transfer, size))
        }

        /// Returns the next chunk; `nil` at the end.
        /// - Throws: ``TransferFailure``, `CancellationError`.
        package mutating func next() async throws -> [UInt8]? {
            guard let transfer = reader?.transfer else {
                throw TransferFailure.bodyConsumedTwice
            }
            switch transfer.response.withLock({ $0.take(below: Transfer.window) }) {
            case .now(let result, let resumesReading):
                if resumesReading { transfer.mailbox.post(.resumeReading(transfer)) }
                let chunk = try result.get()
                if chunk == nil { reader?.owner.pump?.cancel() }
                return chunk
            case .later(let resumesReading):
                if resumesReading { transfer.mailbox.post(.resumeReading(transfer)) }
            }
            let place = ResumptionTarget.current(#isolation)
            let chunk = try await withTaskCancellationHandler {
                try await withUnsafeThrowingContinuation { continuation in
                    transfer.response.withLock { $0.awaitChunk(continuation, at: place) }.run()
                }
            } onCancel: {
                transfer.cancel()
            }
            if chunk == nil { reader?.owner.pump?.cancel() }
            return chunk
        }
    }

    /// Returns the whole body with its trailers, if it is complete and in one chunk of at most `limit` bytes, and marks it as read. Returns
    /// `nil` when it must be read chunk by chunk, with ``makeAsyncIterator()``.
    package func takeWhole(upTo limit: Int) -> (bytes: [UInt8], trailers: TransferTrailers?)? {
        guard let whole = owner.transfer.response.withLock({ $0.takeWhole(upTo: limit) }) else { return nil }
        owner.pump?.cancel()
        return whole
    }

    package func makeAsyncIterator() -> AsyncIterator {
        AsyncIterator(owner)
    }

    /// The trailers; `nil` until the body has ended on the wire, and when there are none.
    package var trailers: TransferTrailers? {
        owner.transfer.response.withLock { $0.wholeTrailers }
    }

    /// Whether content codings were requested, and are to be decoded.
    var isDecoded: Bool { owner.transfer.request.decodes }
    /// The maximum number of delivered bytes, after decoding.
    var maximumBytes: Int? { owner.transfer.limits.maximumResponseBytes }
    var codingLibraries: CodingLibraries { owner.transfer.mailbox.configuration.codingLibraries }
    /// The proxy of the egress path, without its login.
    var proxy: String? { owner.transfer.request.egressPath?.proxy?.description }

    /// The byte counts and timings; `nil` until the body has ended on the wire.
    package var summary: TransferSummary? {
        owner.transfer.response.withLock { state in
            if case .success(let summary) = state.end { summary } else { nil }
        }
    }
}
