// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

public import HTTPDNSPrimitives

extension HTTPDNSResolver {
    /// A change in a resolver, such as an answer, a failure or a reload, see ``HTTPDNSResolver/Events``.
    ///
    /// Cached answers cause no events, since there are too many of them; ``HTTPDNSResolver/Counters`` has their number. An
    /// event contains no secrets. ``message`` and ``host`` may contain names that users asked for, so they are not fit for
    /// metric labels.
    public struct Event: Hashable, Sendable {
        /// The kind of the event.
        public var kind: Kind
        /// The time of the event.
        public var time: ContinuousClock.Instant
        /// The name concerned; nil for an event about no name or about many.
        public var host: HTTPDNSName?
        /// The pattern of the route that decides about the name, as written in the settings; nil without one.
        public var route: String?
        /// The name of the provider, if one was involved.
        public var provider: String?
        /// The source of the addresses, for answers.
        public var source: HTTPDNSResolver.Resolution.Source?
        /// The new addresses.
        public var addresses: [HTTPDNSAddress] = []
        /// The previous addresses, for ``Kind/changed``; those of the system resolver, for ``Kind/shadowDiffered``.
        public var previousAddresses: [HTTPDNSAddress] = []
        /// The duration of the operation that ended; for ``Kind/servedStale``, the time since the answer was requested.
        public var elapsed: Duration?
        /// The remaining validity: the time to live of an answer, the length of a quarantine.
        public var duration: Duration?
        /// The kind of failure as an identifier for metrics: a code of ``HTTPDNSProviderError``, ``HTTPDNSResolver/Error`` or
        /// the store.
        public var code: String?
        /// A readable description of the failure, on one line, without secrets.
        public var message: String? {
            didSet { message = message?.onOneLine(limit: 200) }
        }
        /// The number of answers, for ``Kind/evicted``, ``Kind/restored``, ``Kind/snapshotSaved``, ``Kind/cleared``; the
        /// generation, for ``Kind/reloaded``.
        public var count: Int?
        /// The number of events that this listener missed just before this one, because its buffer was full.
        public var missedBefore = 0

        /// Creates an event.
        public init(_ kind: Kind, at time: ContinuousClock.Instant) {
            self.kind = kind
            self.time = time
        }
    }
}

extension HTTPDNSResolver.Event {
    /// The kind of an event. More kinds may be added.
    public struct Kind: Hashable, Sendable, CustomStringConvertible {
        /// A short identifier for logs and metric labels.
        public let description: String

        /// A lookup returned an answer: addresses, or that there are none. Sent once for all queries that waited for it.
        public static let answered = Kind(description: "answered")
        /// A lookup returned no answer.
        public static let failed = Kind(description: "failed")
        /// A cached answer is refreshed in the background, before or after the end of its time to live.
        public static let refreshStarted = Kind(description: "refresh-started")
        /// The refresh received an answer.
        public static let refreshed = Kind(description: "refreshed")
        /// The refresh received no answer. The cached answer stays for the rest of its lifetime.
        public static let refreshFailed = Kind(description: "refresh-failed")
        /// An answer past its time to live began to serve a name. Sent once, not for each query that it serves.
        public static let servedStale = Kind(description: "served-stale")
        /// A new answer has other addresses than the previous one. Their order does not matter.
        public static let changed = Kind(description: "changed")
        /// A query to a provider failed.
        public static let providerFailed = Kind(description: "provider-failed")
        /// A provider failed so often that it receives no queries but probes.
        public static let providerQuarantined = Kind(description: "provider-quarantined")
        /// A quarantined provider answers again.
        public static let providerRecovered = Kind(description: "provider-recovered")
        /// Answers left the cache to make room.
        public static let evicted = Kind(description: "evicted")
        /// Answers were restored from the store.
        public static let restored = Kind(description: "restored")
        /// The cache was written to the store.
        public static let snapshotSaved = Kind(description: "snapshot-saved")
        /// The store could not be read or written. The resolver continues without it.
        public static let storeFailed = Kind(description: "store-failed")
        /// Other settings are in use.
        public static let reloaded = Kind(description: "reloaded")
        /// The kill switch turned names off: those in ``HTTPDNSResolver/Event/message``, by the origin in
        /// ``HTTPDNSResolver/Event/code``.
        public static let switchedOff = Kind(description: "switched-off")
        /// The kill switch turned names on again: those in ``HTTPDNSResolver/Event/message``, by the origin in
        /// ``HTTPDNSResolver/Event/code``.
        public static let switchedOn = Kind(description: "switched-on")
        /// Providers and system resolver have different addresses for a name of a route in shadow mode.
        ///
        /// ``HTTPDNSResolver/Event/addresses`` are the providers', ``HTTPDNSResolver/Event/previousAddresses`` the system's. A
        /// difference is reported once, until another one was seen in between.
        public static let shadowDiffered = Kind(description: "shadow-differed")
        /// All sources failed for a name, and addresses of last resort are served.
        public static let lastResort = Kind(description: "last-resort")
        /// All cached answers were removed.
        public static let cleared = Kind(description: "cleared")

        /// All kinds.
        package static let all: [Kind] = [
            .answered, .failed, .refreshStarted, .refreshed, .refreshFailed, .servedStale, .changed, .providerFailed,
            .providerQuarantined, .providerRecovered, .evicted, .restored, .snapshotSaved, .storeFailed, .cleared,
            .reloaded, .switchedOff, .switchedOn, .shadowDiffered, .lastResort,
        ]
    }
}

extension HTTPDNSResolver {
    /// The events of a resolver, as they happen.
    ///
    /// Each `for await` listens separately, from the moment it begins, and receives every event in the same order. It never
    /// delays the resolver: a slow listener loses its oldest events, and ``HTTPDNSResolver/Event/missedBefore`` has their
    /// number. The iteration ends when the resolver is shut down and the last event was received, or when the listener's task
    /// is canceled. Without listeners, events cost next to nothing.
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
        public func makeAsyncIterator() -> Iterator { Iterator(subscription: broadcast.listen(limit: limit)) }

        /// A listener. It receives events until the iterator is released.
        public struct Iterator: AsyncIteratorProtocol {
            fileprivate let subscription: EventSubscription<HTTPDNSResolver.Event>

            /// Returns the next event; nil after the end, and when the task is canceled. After a cancellation it no longer
            /// listens.
            public mutating func next() async -> HTTPDNSResolver.Event? { await subscription.next() }

            /// Returns the next event, as ``next()`` does.
            public mutating func next(isolation actor: isolated (any Actor)?) async -> HTTPDNSResolver.Event? {
                await subscription.next()
            }
        }
    }
}
