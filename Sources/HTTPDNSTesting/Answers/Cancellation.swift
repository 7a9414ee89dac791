// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

internal import HTTPDNS
internal import HTTPDNSPrimitives
internal import Synchronization

extension HTTPDNSStubs.Answer {
    /// Returns the same answer with a closure that is called when the caller stops before the answer is complete.
    ///
    /// The caller stops when its task is canceled, when a time limit of the call passes, or when it drops the body before
    /// its end. The closure is called once for a request, immediately and on any thread: it must be short. An answer that
    /// arrives later is dropped, and the call throws `CancellationError`. The closure is not called for an answer that is
    /// complete, or that fails.
    public func onCancel(_ handler: @escaping @Sendable () -> Void) -> HTTPDNSStubs.Answer {
        changed("") { use, respond in
            let notice = CancellationNotice(handler)
            return try await withTaskCancellationHandler {
                do {
                    var response = try await respond(use)
                    try Task.checkCancellation()
                    let length = response.body.declaredLength
                    if length == 0 {
                        notice.end()
                    } else {
                        let chunks = WatchedChunks(base: response.body, watch: BodyWatch(notice))
                        response.body = response.body.changed(to: chunks, length: length)
                    }
                    return response
                } catch {
                    notice.end()
                    throw error
                }
            } onCancel: {
                notice.cancel()
            }
        }
    }
}

/// The one report that the caller has stopped.
private final class CancellationNotice: Sendable {
    private let handler: Lock<(@Sendable () -> Void)?>

    init(_ handler: @escaping @Sendable () -> Void) { self.handler = Lock(handler) }

    /// Calls the handler, unless it was called or the answer is complete.
    func cancel() { take()?() }

    /// Notes that the answer is complete.
    func end() { _ = take() }

    private func take() -> (@Sendable () -> Void)? {
        handler.withLock { handler in
            defer { handler = nil }
            return handler
        }
    }
}

/// A body or its iterator, whose last reference reports that the caller has stopped.
private final class BodyWatch: Sendable {
    let notice: CancellationNotice
    /// Whether an iterator reads the body, and reports in its place: the body may be released before.
    let isRead = Atomic(false)

    init(_ notice: CancellationNotice) { self.notice = notice }

    deinit { if !isRead.load(ordering: .relaxed) { notice.cancel() } }
}

/// A body that reports its end.
private struct WatchedChunks: AsyncSequence, Sendable {
    typealias Element = [UInt8]
    typealias Failure = any Error

    let base: HTTPDNSClient.Response.Body
    let watch: BodyWatch

    struct AsyncIterator: AsyncIteratorProtocol {
        var base: HTTPDNSClient.Response.Body.AsyncIterator
        let watch: BodyWatch

        mutating func next() async throws -> [UInt8]? {
            let notice = watch.notice
            do {
                let chunk = try await withTaskCancellationHandler {
                    let chunk = try await base.next()
                    try Task.checkCancellation()
                    return chunk
                } onCancel: {
                    notice.cancel()
                }
                if chunk == nil { notice.end() }
                return chunk
            } catch {
                notice.end()
                throw error
            }
        }
    }

    func makeAsyncIterator() -> AsyncIterator {
        watch.isRead.store(true, ordering: .relaxed)
        // An iterator that is dropped ends the reading, also when there are other references to the body.
        return AsyncIterator(base: base.makeAsyncIterator(), watch: BodyWatch(watch.notice))
    }
}
