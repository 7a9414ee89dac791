public import HTTPDNSPrimitives

extension HTTPDNSResolver {
    /// Something that happened to a resolver and that is worth telling: see ``HTTPDNSResolver/Events``.
    ///
    /// Answers out of the cache are no events, since there are too many of them; ``HTTPDNSResolver/Counters`` has their
    /// number. An event has no secrets; ``message`` and ``host`` may name what users asked for, so they are no labels for
    /// metrics.
    public struct Event: Hashable, Sendable {
        /// What happened.
        public var kind: Kind
        /// When, on the resolver's clock.
        public var time: MonotonicTime
        /// The name that it is about; nil when it is about none, or about many.
        public var host: HTTPDNSName?
        /// The pattern of the route that decides about the name, as written in the settings; nil without one.
        public var route: String?
        /// The provider's name, where one was involved.
        public var provider: String?
        /// Where the addresses came from, for answers.
        public var source: HTTPDNSResolver.Resolution.Source?
        /// The addresses that count now.
        public var addresses: [HTTPDNSAddress] = []
        /// The addresses that counted before, for ``Kind/changed``; those of the system resolver, for
        /// ``Kind/shadowDiffered``.
        public var previousAddresses: [HTTPDNSAddress] = []
        /// How long what ended took; for ``Kind/servedStale``, how long ago the answer was asked for.
        public var elapsed: Duration?
        /// How long from now on it holds: the time to live of an answer, the length of a quarantine.
        public var duration: Duration?
        /// The kind of failure in a short word, for metrics: a code of ``HTTPDNSProviderError`` or ``HTTPDNSResolver/Error``,
        /// or the store's.
        public var code: String?
        /// The failure for people, on one line, without secrets.
        public var message: String? {
            didSet { message = message?.onOneLine(limit: 200) }
        }
        /// How many answers it is about, for ``Kind/evicted``, ``Kind/restored``, ``Kind/snapshotSaved``, ``Kind/cleared``;
        /// the generation, for ``Kind/reloaded``.
        public var count: Int?
        /// How many events this listener missed just before this one, because its buffer was full.
        public var missedBefore = 0

        /// Creates an event.
        public init(_ kind: Kind, at time: MonotonicTime) {
            self.kind = kind
            self.time = time
        }
    }
}
