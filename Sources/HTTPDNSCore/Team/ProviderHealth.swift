public import HTTPDNSPrimitives

extension HTTPDNSResolver.Status {
    /// How one provider does at a moment: what the resolver goes by when it chooses whom to ask.
    public struct Provider: Hashable, Sendable {
        /// Whether a provider is asked in its turn.
        public enum State: Hashable, Sendable {
            /// It is asked in its turn.
            case healthy
            /// It owes an answer for longer than it usually takes; the healthy ones are asked before it.
            case suspect
            /// It failed, or asked to be left alone. It is asked only when no other provider and no system resolver has an answer.
            /// After `until` one query is copied to it, and its answer makes it healthy again.
            case quarantined(until: MonotonicTime, why: String)
        }

        /// The provider's name.
        public var name: String
        /// Whether it is asked in its turn.
        public var state: State
        /// The mean latency of its answers, in which new ones count more; nil before the first.
        public var latency: Duration?
        /// The latency that 95 of 100 answers do not pass, at most a quarter too high; nil before the fifth.
        public var percentile95: Duration?
        /// How many queries had a definite answer.
        public var successes: Int
        /// How many queries failed.
        public var failures: Int
        /// How many queries are under way.
        public var inFlight: Int
        /// How many queries wait for one of those to end.
        public var queued: Int
        /// How many queries were sent.
        public var queries: Int

        /// Creates a report.
        package init(
            name: String,
            state: State,
            latency: Duration?,
            percentile95: Duration?,
            successes: Int,
            failures: Int,
            inFlight: Int,
            queued: Int,
            queries: Int
        ) {
            self.name = name
            self.state = state
            self.latency = latency
            self.percentile95 = percentile95
            self.successes = successes
            self.failures = failures
            self.inFlight = inFlight
            self.queued = queued
            self.queries = queries
        }
    }
}
