// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

internal import HTTPDNS
internal import HTTPDNSPrimitives
internal import HTTPTypes
internal import Synchronization

extension ResponseIndex {
    /// A stored response. A hit takes one reference to it.
    final class Entry: Sendable {
        /// Reads a range of a body that is not in memory; nil when it cannot be read now, or is gone.
        typealias Source = @Sendable (Entry, Range<Int64>, ReadTime) async throws -> HTTPDNSClient.Response.Body?

        /// A number that stays when the head changes.
        let id: UInt64
        let head: StoredHead
        let body: Body
        let bodyLength: Int64
        /// The number of bytes that count towards the limit.
        let cost: Int
        /// The source of the body; nil for one in memory.
        let source: Source?
        /// The fetch whose response is about to be stored; nil for a stored one.
        let ticket: FetchTicket?
        let version: HTTPDNSClient.HTTPVersion
        /// The head of the latest hit: nearly all hits of a second have the same one.
        private let latest = Lock<(age: Int64, head: HTTPResponse)?>(nil)
        /// Whether it was used since the hand of the index was here.
        private let isUsed = Atomic<Bool>(false)

        private static let lastID = Atomic<UInt64>(0)

        init(
            _ head: StoredHead,
            _ body: Body,
            bodyLength: Int64,
            cost: Int,
            source: Source? = nil,
            ticket: FetchTicket? = nil,
            id: UInt64? = nil
        ) {
            self.id = id ?? Self.lastID.wrappingAdd(1, ordering: .relaxed).newValue
            self.head = head
            self.body = body
            self.bodyLength = bodyLength
            self.cost = cost
            self.source = source
            self.ticket = ticket
            version = [.http2, .http10].first { $0.description == head.version } ?? .http11
        }

        /// Whether the body is in memory.
        var isInMemory: Bool { if case .memory = body { true } else { false } }

        /// Notes that a request gets it.
        func noteUse() { isUsed.store(true, ordering: .relaxed) }

        /// Returns whether it was used since the last call.
        func takeUse() -> Bool { isUsed.exchange(false, ordering: .relaxed) }

        /// Returns the same stored response with another head.
        func with(_ head: StoredHead, ticket: FetchTicket? = nil) -> Entry {
            // A file has room for a head that grows.
            let growth = if case .memory = body { head.size - self.head.size } else { 0 }
            let entry = Entry(
                head,
                body,
                bodyLength: bodyLength,
                cost: cost + growth,
                source: source,
                ticket: ticket,
                id: id
            )
            if isUsed.load(ordering: .relaxed) { entry.noteUse() }
            return entry
        }

        /// Returns the body, or a part of it; nil when it cannot be read now, or is gone.
        /// - Throws: `CancellationError`.
        func read(_ range: Range<Int64>, until time: ReadTime = ReadTime()) async throws
            -> HTTPDNSClient.Response.Body?
        {
            guard case .memory(let bytes) = body else { return try await source?(self, range, time) }
            return .bytes(
                range.count == bytes.count ? bytes : Array(bytes[Int(range.lowerBound)..<Int(range.upperBound)])
            )
        }

        /// Returns the head for a request.
        /// - Parameter age: The value of `Age`, in seconds.
        func response(age: Int64) -> HTTPResponse {
            latest.withLock { latest in
                if let latest, latest.age == age { return latest.head }
                var response = head.response
                response.headerFields[.age] = String(age)
                latest = (age, response)
                return response
            }
        }
    }
}
