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
        /// The time of the event, on the resolver's clock.
        public var time: MonotonicTime
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
        public init(_ kind: Kind, at time: MonotonicTime) {
            self.kind = kind
            self.time = time
        }
    }
}
