// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

internal import HTTPDNS

/// The body of a response that is stored while it is read. A body that fails or is not read to its end is not stored.
struct StoringBody: AsyncSequence, Sendable {
    typealias Element = [UInt8]
    typealias Failure = any Error

    /// The storing of one body. Its last reference discards it, unless it is finished.
    final class Session: Sendable {
        private let writer: StoredBodyWriter
        private let lead: RefreshTable.Lead?
        private let onStored: @Sendable () -> Void

        init(_ writer: StoredBodyWriter, _ lead: RefreshTable.Lead?, onStored: @escaping @Sendable () -> Void) {
            self.writer = writer
            self.lead = lead
            self.onStored = onStored
        }

        func append(_ bytes: [UInt8]) async {
            if await !writer.append(bytes) { lead?.end(.notStorable) }
        }

        func finish() async {
            let isStored = await writer.finish()
            if isStored { onStored() }
            lead?.end(isStored ? .stored : .notStorable)
        }

        func fail() {
            writer.discard()
            lead?.end(.failed)
        }
    }

    let base: HTTPDNSClient.Response.Body
    let session: Session

    /// The reader of the body. Its end ends the storing: others must not wait for a response that somebody keeps unread.
    fileprivate final class Reader: Sendable {
        let session: Session

        init(_ session: Session) { self.session = session }

        // Without effect on a session that has ended.
        deinit { session.fail() }
    }

    struct AsyncIterator: AsyncIteratorProtocol {
        fileprivate var base: HTTPDNSClient.Response.Body.AsyncIterator
        fileprivate var reader: Reader?

        mutating func next() async throws -> [UInt8]? {
            do {
                if let chunk = try await base.next() {
                    await reader?.session.append(chunk)
                    return chunk
                }
            } catch {
                reader = nil
                throw error
            }
            await reader?.session.finish()
            reader = nil
            return nil
        }

        mutating func next(isolation actor: isolated (any Actor)?) async throws -> [UInt8]? { try await next() }
    }

    func makeAsyncIterator() -> AsyncIterator { AsyncIterator(base: base.makeAsyncIterator(), reader: Reader(session)) }
}
