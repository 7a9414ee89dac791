internal import HTTPDNSPrimitives

extension HTTPDNSResolver {
    /// What happens to a resolver, as it happens.
    ///
    /// Each `for await` listens on its own, from the moment that it begins, and gets every event in the same order. It never
    /// holds up the resolver: a listener that is slow loses its oldest events, and is told how many
    /// (``HTTPDNSResolver/Event/missedBefore``). The iteration ends when the resolver is shut down and the last event is
    /// taken, or when the listener's task is cancelled. While nobody listens, events cost next to nothing.
    public struct Events: AsyncSequence, Sendable {
        /// An event.
        public typealias Element = HTTPDNSResolver.Event
        /// Listening does not fail.
        public typealias Failure = Never

        /// How many events a listener may be behind, unless it says otherwise.
        public static let defaultBufferLimit = 256

        private let broadcast: EventBroadcast
        private let limit: Int

        package init(_ broadcast: EventBroadcast, bufferLimit: Int = HTTPDNSResolver.Events.defaultBufferLimit) {
            self.broadcast = broadcast
            limit = bufferLimit
        }

        /// The same events, with room for `limit` of them for each listener; less than 1 counts as 1.
        public func buffered(upTo limit: Int) -> HTTPDNSResolver.Events {
            HTTPDNSResolver.Events(broadcast, bufferLimit: limit)
        }

        /// Begins to listen: what happens from now on will be told.
        public func makeAsyncIterator() -> Iterator {
            Iterator(listener: Listener(broadcast, limit: limit))
        }

        /// One listener. It listens until the iterator is gone.
        public struct Iterator: AsyncIteratorProtocol {
            fileprivate let listener: Listener

            /// The next event; nil after the end, and when the task is cancelled, after which it does not listen any more.
            public mutating func next() async -> HTTPDNSResolver.Event? {
                await listener.next()
            }

            /// As ``next()``.
            public mutating func next(isolation actor: isolated (any Actor)?) async -> HTTPDNSResolver.Event? {
                await listener.next()
            }
        }

        /// Listens for as long as it lives.
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
                // Who is cancelled does not come back: it must not fill a buffer.
                if event == nil { broadcast.removeListener(id) }
                return event
            }
        }
    }
}
