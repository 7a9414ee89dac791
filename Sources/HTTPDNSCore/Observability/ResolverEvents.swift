internal import HTTPDNSPrimitives

extension HTTPDNSResolver {
    /// The events of a resolver, as they happen.
    ///
    /// Each `for await` listens separately, from the moment it begins, and receives every event in the same order. It never
    /// delays the resolver: a slow listener loses its oldest events, and ``HTTPDNSResolver/Event/missedBefore`` has their
    /// number. The iteration ends when the resolver is shut down and the last event was received, or when the listener's task
    /// is cancelled. Without listeners, events cost next to nothing.
    public struct Events: AsyncSequence, Sendable {
        /// An event.
        public typealias Element = HTTPDNSResolver.Event
        /// Listening never fails.
        public typealias Failure = Never

        /// The default number of events that are buffered for a listener.
        public static let defaultBufferLimit = 256

        private let broadcast: EventBroadcast
        private let limit: Int

        package init(_ broadcast: EventBroadcast, bufferLimit: Int = HTTPDNSResolver.Events.defaultBufferLimit) {
            self.broadcast = broadcast
            limit = bufferLimit
        }

        /// Returns the same events, with a buffer of `limit` events for each listener; less than 1 counts as 1.
        public func buffered(upTo limit: Int) -> HTTPDNSResolver.Events {
            HTTPDNSResolver.Events(broadcast, bufferLimit: limit)
        }

        /// Starts listening: the iterator receives all events from now on.
        public func makeAsyncIterator() -> Iterator {
            Iterator(listener: Listener(broadcast, limit: limit))
        }

        /// A listener. It receives events until the iterator is released.
        public struct Iterator: AsyncIteratorProtocol {
            fileprivate let listener: Listener

            /// Returns the next event; nil after the end, and when the task is cancelled. After a cancellation it no longer
            /// listens.
            public mutating func next() async -> HTTPDNSResolver.Event? {
                await listener.next()
            }

            /// Returns the next event, as ``next()`` does.
            public mutating func next(isolation actor: isolated (any Actor)?) async -> HTTPDNSResolver.Event? {
                await listener.next()
            }
        }

        /// A listener, which is registered for as long as the object lives.
        fileprivate final class Listener: Sendable {
            private let broadcast: EventBroadcast
            private let id: EventBroadcast.ListenerID

            init(_ broadcast: EventBroadcast, limit: Int) {
                self.broadcast = broadcast
                id = broadcast.addListener(limit: limit)
            }

            deinit { broadcast.removeListener(id) }

            func next() async -> HTTPDNSResolver.Event? {
                let event = await broadcast.next(for: id)
                // A cancelled task does not continue the iteration: its listener must not fill a buffer.
                if event == nil { broadcast.removeListener(id) }
                return event
            }
        }
    }
}
