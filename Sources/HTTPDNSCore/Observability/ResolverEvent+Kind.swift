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
