// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

internal import HTTPDNS
internal import HTTPDNSPrimitives
internal import HTTPTypes
internal import Synchronization

extension ResponseIndex {
    /// A stored response. A hit takes one reference to it.
    final class Entry: Sendable {
        /// A number that stays when the head changes.
        let id: UInt64
        let head: StoredHead
        let body: Body
        let bodyLength: Int64
        /// The number of bytes that count towards the limit.
        let cost: Int
        let version: HTTPDNSClient.HTTPVersion
        /// The head of the latest hit: nearly all hits of a second have the same one.
        private let latest = Lock<(age: Int64, head: HTTPResponse)?>(nil)

        private static let lastID = Atomic<UInt64>(0)

        convenience init(_ head: StoredHead, _ body: Body, bodyLength: Int64, cost: Int) {
            let id = Self.lastID.wrappingAdd(1, ordering: .relaxed).newValue
            self.init(id, head, body, bodyLength: bodyLength, cost: cost)
        }

        private init(_ id: UInt64, _ head: StoredHead, _ body: Body, bodyLength: Int64, cost: Int) {
            self.id = id
            self.head = head
            self.body = body
            self.bodyLength = bodyLength
            self.cost = cost
            version = [.http2, .http10].first { $0.description == head.version } ?? .http11
        }

        /// Whether the body is in memory.
        var isInMemory: Bool { if case .memory = body { true } else { false } }

        /// Returns the same stored response with another head.
        func with(_ head: StoredHead) -> Entry {
            // A file has room for a head that grows.
            let growth = if case .memory = body { head.size - self.head.size } else { 0 }
            return Entry(id, head, body, bodyLength: bodyLength, cost: cost + growth)
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
