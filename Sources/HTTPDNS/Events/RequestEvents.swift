// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

internal import HTTPDNSCore

extension HTTPDNSClient {
    /// The events of a client's calls as they happen, for live views.
    ///
    /// ```swift
    /// for await event in client.requestEvents {
    ///     print(event)
    /// }
    /// ```
    ///
    /// Each `for await` subscribes separately, from the moment it begins, and gets the calls that begin later. It never
    /// delays a call. A slow subscriber loses whole calls: when its buffer is full, the call with the next event is lost, and
    /// none of its further events is delivered. ``RequestEvent/lostCalls`` and ``Iterator/lostCalls`` have their number. The
    /// calls whose last event was delivered, and the lost ones, are together all calls that have ended. Progress events of a
    /// call that wait in the buffer are merged into the latest one.
    ///
    /// The iteration ends when the client is shut down, its last call has ended and the last event was received, or when the
    /// subscriber's task is canceled. Without subscribers, recorders and observers no events are made.
    ///
    /// Use an ``HTTPDNSObserver`` for counts that must be exact.
    public struct RequestEvents: AsyncSequence, Sendable {
        /// An event.
        public typealias Element = HTTPDNSClient.RequestEvent
        /// Listening never fails.
        public typealias Failure = Never

        /// The default number of events that are buffered for a subscriber.
        public static let defaultBufferLimit = 1024

        private let observers: CallObservers
        private let limit: Int

        init(_ observers: CallObservers, limit: Int = RequestEvents.defaultBufferLimit) {
            self.observers = observers
            self.limit = limit
        }

        /// Returns the same events, with a buffer of `limit` events for each subscriber; less than 1 counts as 1.
        public func buffered(upTo limit: Int) -> RequestEvents { RequestEvents(observers, limit: limit) }

        /// Subscribes: the iterator gets the events of all calls that begin from now on.
        public func makeAsyncIterator() -> Iterator { Iterator(subscription: observers.subscribe(limit: limit)) }

        /// A subscriber. It gets events until the iterator is released.
        public struct Iterator: AsyncIteratorProtocol {
            fileprivate let subscription: EventSubscription<HTTPDNSClient.RequestEvent>

            /// The number of calls that this subscriber has lost so far.
            public var lostCalls: Int { subscription.queue.lost }

            /// Returns the next event; nil after the end, and when the task is canceled. After a cancellation it is no longer
            /// subscribed.
            public mutating func next() async -> HTTPDNSClient.RequestEvent? { await subscription.next() }

            /// Returns the next event, as ``next()`` does.
            public mutating func next(isolation actor: isolated (any Actor)?) async -> HTTPDNSClient.RequestEvent? {
                await subscription.next()
            }
        }
    }
}
