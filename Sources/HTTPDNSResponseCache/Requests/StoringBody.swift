// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

internal import HTTPDNS

/// The body of a response that is stored while it is read. A body that fails or is not read to its end is not stored.
struct StoringBody: AsyncSequence, Sendable {
    typealias Element = [UInt8]
    typealias Failure = any Error

    /// The storing of one body. Its last reference discards it, unless it is finished.
    final class Session: Sendable {
        private let writer: any HTTPDNSResponseWriter
        private let lead: FetchLead?
        private let onStored: @Sendable () -> Void

        init(_ writer: any HTTPDNSResponseWriter, _ lead: FetchLead?, onStored: @escaping @Sendable () -> Void) {
            self.writer = writer
            self.lead = lead
            self.onStored = onStored
        }

        func append(_ bytes: [UInt8]) async {
            if await (try? writer.append(bytes)) != true { lead?.end(.alone(isRemembered: true)) }
        }

        func finish() async {
            let isStored = await (try? writer.finish()) ?? false
            if isStored { onStored() }
            lead?.end(isStored ? .shared(()) : .alone(isRemembered: false))
        }

        func fail() {
            writer.discard()
            lead?.end(.abandoned)
        }

        /// Notes that the caller waits for a part of the body, or that the body waits for its caller.
        func noteReading(_ isReading: Bool) { lead?.noteReading(isReading) }
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
                reader?.session.noteReading(true)
                if let chunk = try await base.next() {
                    // The time until the next part is wanted is that of the caller, and of a slow disk.
                    reader?.session.noteReading(false)
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
