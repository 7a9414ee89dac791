// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

internal import HTTPDNSCurl
internal import HTTPDNSPrimitives
internal import Synchronization

/// The body of an observed call, whose end is the end of the call.
struct WatchedBody: AsyncSequence, Sendable {
    typealias Element = [UInt8]
    typealias Failure = any Error

    /// Ends the call when the last copy of a body is released before it was read.
    fileprivate final class Owner: Sendable {
        let base: HTTPDNSClient.Response.Body
        let call: ObservedCall
        let isIterated = Atomic(false)

        init(_ base: HTTPDNSClient.Response.Body, _ call: ObservedCall) {
            self.base = base
            self.call = call
        }

        deinit {
            guard !isIterated.load(ordering: .relaxed) else { return }
            call.note(.ended(.released(isCanceled: Task.isCancelled, isAsReceived: base.isAsReceived)))
        }
    }

    /// Ends the call when the iterator is released before the end.
    fileprivate final class Reader: Sendable {
        private let body: HTTPDNSClient.Response.Body
        private let call: ObservedCall

        init(_ owner: Owner) {
            owner.isIterated.store(true, ordering: .relaxed)
            body = owner.base
            call = owner.call
        }

        deinit { call.note(.ended(.released(isCanceled: Task.isCancelled, isAsReceived: body.isAsReceived))) }

        var notesProgress: Bool { call.notesProgress }

        func note(_ bytes: Int64, _ chunk: [UInt8]) {
            if call.notesBodies { call.note(.bodyRead(bytes, of: body, chunk)) }
        }

        func finish() { call.note(.ended(.whole(decoded: body.summary.map { Int64($0.bodyBytes) }))) }

        func fail(_ error: any Error) { call.note(.ended(.failed(error))) }
    }

    private let owner: Owner

    init(_ base: HTTPDNSClient.Response.Body, _ call: ObservedCall) { owner = Owner(base, call) }

    /// Returns a body that has arrived whole and in one piece, with its trailers, and ends the call.
    func takeWhole(upTo limit: HTTPDNSByteCount) -> (bytes: [UInt8], trailers: TransferTrailers?)? {
        guard let whole = owner.base.takeWhole(upTo: limit) else { return nil }
        let reader = Reader(owner)
        if !whole.bytes.isEmpty { reader.note(Int64(whole.bytes.count), whole.bytes) }
        reader.finish()
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
            if !reader.notesProgress { base.gather(size, of: length) }
        }

        mutating func next() async throws -> [UInt8]? { try await next(isolation: #isolation) }

        mutating func next(isolation actor: isolated (any Actor)?) async throws -> [UInt8]? {
            do {
                guard let chunk = try await base.next() else {
                    reader.finish()
                    return nil
                }
                bytes += Int64(chunk.count)
                reader.note(bytes, chunk)
                return chunk
            } catch {
                reader.fail(error)
                throw error
            }
        }
    }

    func makeAsyncIterator() -> AsyncIterator { AsyncIterator(owner) }
}
