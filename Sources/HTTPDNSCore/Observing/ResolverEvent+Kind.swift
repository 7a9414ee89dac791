extension HTTPDNSResolver.Event {
    /// What kinds of events there are. More may come.
    public struct Kind: Hashable, Sendable, CustomStringConvertible {
        /// A short word for logs and metric labels.
        public let description: String

        /// A flight for a question brought an answer: addresses, or that there are none. Once for all who waited for it.
        public static let answered = Kind(description: "answered")
        /// A flight for a question brought no answer.
        public static let failed = Kind(description: "failed")
        /// A cached answer is asked for anew in the background, before or after its time to live.
        public static let refreshStarted = Kind(description: "refresh-started")
        /// The refresh brought an answer.
        public static let refreshed = Kind(description: "refreshed")
        /// The refresh brought none; what is in the cache stays, as long as it may.
        public static let refreshFailed = Kind(description: "refresh-failed")
        /// An answer past its time to live began to serve a name. Once, not for each question that it serves.
        public static let servedStale = Kind(description: "served-stale")
        /// A new answer has other addresses than the last one. Their order does not matter.
        public static let changed = Kind(description: "changed")
        /// A query to a provider failed.
        public static let providerFailed = Kind(description: "provider-failed")
        /// A provider failed so often that it is left alone, but for probes.
        public static let providerQuarantined = Kind(description: "provider-quarantined")
        /// A provider that was left alone answers again.
        public static let providerRecovered = Kind(description: "provider-recovered")
        /// Answers left the cache to make room.
        public static let evicted = Kind(description: "evicted")
        /// Answers came out of the store.
        public static let restored = Kind(description: "restored")
        /// The cache was written to the store.
        public static let snapshotSaved = Kind(description: "snapshot-saved")
        /// The store could not be read or written; the resolver goes on without.
        public static let storeFailed = Kind(description: "store-failed")
        /// Other settings are in use.
        public static let reloaded = Kind(description: "reloaded")
        /// Something was switched off: the names in ``HTTPDNSResolver/Event/message``, by whom in
        /// ``HTTPDNSResolver/Event/code``.
        public static let switchedOff = Kind(description: "switched-off")
        /// Something was switched on again: the names in ``HTTPDNSResolver/Event/message``, by whom in
        /// ``HTTPDNSResolver/Event/code``.
        public static let switchedOn = Kind(description: "switched-on")
        /// Providers and system resolver have different addresses for a name of a route in shadow mode:
        /// ``HTTPDNSResolver/Event/addresses`` are the providers', ``HTTPDNSResolver/Event/previousAddresses`` the system's.
        /// Each difference once, until others came between.
        public static let shadowDiffered = Kind(description: "shadow-differed")
        /// All sources failed for a name, and addresses of last resort serve.
        public static let lastResort = Kind(description: "last-resort")
        /// Everything cached was forgotten.
        public static let cleared = Kind(description: "cleared")

        /// All kinds that there are.
        package static let all: [Kind] = [
            .answered, .failed, .refreshStarted, .refreshed, .refreshFailed, .servedStale, .changed, .providerFailed,
            .providerQuarantined, .providerRecovered, .evicted, .restored, .snapshotSaved, .storeFailed, .cleared,
            .reloaded, .switchedOff, .switchedOn, .shadowDiffered, .lastResort,
        ]
    }
}
