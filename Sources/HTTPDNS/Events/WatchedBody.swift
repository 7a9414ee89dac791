// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

internal import HTTPDNSCurl
internal import HTTPDNSPrimitives
internal import Synchronization

/// The body of an observed call, whose end is the end of the call.
struct WatchedBody: Sendable {
    /// Ends the call when the last copy of a body is released before it was read.
    fileprivate final class Owner: Sendable {
        let base: HTTPDNSClient.Response.Body
        private let call: ObservedCall
        private let isTaken = Atomic(false)

        init(_ base: consuming HTTPDNSClient.Response.Body, _ call: ObservedCall) {
            self.base = base
            self.call = call
        }

        deinit { if !isTaken.load(ordering: .relaxed) { release() } }

        /// - Returns: Whether nothing has read the body before.
        func take() -> Bool { !isTaken.exchange(true, ordering: .relaxed) }

        func giveBack() { isTaken.store(false, ordering: .relaxed) }

        var notesProgress: Bool { call.notesProgress }

        func note(_ bytes: Int64, _ chunk: [UInt8]) {
            if call.notesBodies { call.note(.bodyRead(bytes, of: base, chunk)) }
        }

        func finish() { call.end(.whole(decoded: base.summary.map { Int64($0.bodyBytes) })) }

        func fail(_ error: any Error) { call.end(.failed(error)) }

        func release() {
            call.end(.released(isCanceled: Task.isCancelled, isAsReceived: base.isAsReceived))
        }
    }

    /// Ends the call when the iterator is released before the end.
    fileprivate final class Reader: Sendable {
        let owner: Owner

        init(_ owner: Owner) { self.owner = owner }

        deinit { owner.release() }
    }

    private let owner: Owner

    init(_ base: consuming HTTPDNSClient.Response.Body, _ call: ObservedCall) { owner = Owner(base, call) }

    /// The body that the call got.
    var base: HTTPDNSClient.Response.Body { owner.base }

    /// Returns a body that has arrived whole and in one piece, with its trailers, and ends the call.
    func takeWhole(upTo limit: HTTPDNSByteCount) -> (bytes: [UInt8], trailers: TransferTrailers?)? {
        guard owner.take() else { return nil }
        guard let whole = owner.base.takeWhole(upTo: limit) else {
            owner.giveBack()
            return nil
        }
        if !whole.bytes.isEmpty { owner.note(Int64(whole.bytes.count), whole.bytes) }
        owner.finish()
        return whole
    }

    struct AsyncIterator: AsyncIteratorProtocol {
        private let reader: Reader
        private var base: HTTPDNSClient.Response.Body.AsyncIterator
        private var bytes: Int64 = 0

        fileprivate init(_ owner: Owner) {
            reader = Reader(owner)
            base = owner.base.makeAsyncIterator()
        }

        /// Asks a long body for chunks of this size, unless its progress is wanted.
        func gather(_ size: Int, of length: Int64) {
            if !reader.owner.notesProgress { base.gather(size, of: length) }
        }

        mutating func next() async throws -> [UInt8]? { try await next(isolation: #isolation) }

        mutating func next(isolation actor: isolated (any Actor)?) async throws -> [UInt8]? {
            do {
                guard let chunk = try await base.next() else {
                    reader.owner.finish()
                    return nil
                }
                bytes += Int64(chunk.count)
                reader.owner.note(bytes, chunk)
                return chunk
            } catch {
                reader.owner.fail(error)
                throw error
            }
        }
    }

    /// Starts reading. Nil for a body that was read before.
    func makeAsyncIterator() -> AsyncIterator? { owner.take() ? AsyncIterator(owner) : nil }
}
