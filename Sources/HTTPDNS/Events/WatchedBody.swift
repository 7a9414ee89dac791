// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

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
            body = owner.base
            call = owner.call
        }

        deinit { call.note(.ended(.released(isCanceled: Task.isCancelled, isAsReceived: body.isAsReceived))) }

        func note(_ bytes: Int64, _ chunk: [UInt8]) {
            if call.notesBodies { call.note(.bodyRead(bytes, of: body, chunk)) }
        }

        func finish() { call.note(.ended(.whole(decoded: body.summary.map { Int64($0.bodyBytes) }))) }

        func fail(_ error: any Error) { call.note(.ended(.failed(error))) }
    }

    private let owner: Owner

    init(_ base: HTTPDNSClient.Response.Body, _ call: ObservedCall) { owner = Owner(base, call) }

    struct AsyncIterator: AsyncIteratorProtocol {
        private let reader: Reader
        private var base: HTTPDNSClient.Response.Body.AsyncIterator
        private var bytes: Int64 = 0

        fileprivate init(_ owner: Owner) {
            owner.isIterated.store(true, ordering: .relaxed)
            reader = Reader(owner)
            base = owner.base.makeAsyncIterator()
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
