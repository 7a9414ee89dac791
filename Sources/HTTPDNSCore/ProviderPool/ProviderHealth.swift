public import HTTPDNSPrimitives

extension HTTPDNSResolver.Status {
    /// The present health of one provider, which decides the order of queries.
    public struct Provider: Hashable, Sendable {
        /// The state of a provider in the order of queries.
        public enum State: Hashable, Sendable {
            /// The provider is queried in its turn.
            case healthy
            /// An answer of the provider is overdue; healthy providers are queried before it.
            case suspect
            /// The provider failed, or asked for a pause.
            ///
            /// It is queried only when no other provider and no system resolver has an answer. After `until` one query is
            /// copied to it, and an answer makes it healthy again.
            case quarantined(until: MonotonicTime, why: String)
        }

        /// The provider's name.
        public var name: String
        /// The state of the provider in the order of queries.
        public var state: State
        /// The mean latency of its answers, weighted towards new ones; nil before the first.
        public var latency: Duration?
        /// The 95th percentile of its latency, at most a quarter too high; nil before the fifth answer.
        public var percentile95: Duration?
        /// The number of queries with a definite answer.
        public var successes: Int
        /// The number of failed queries.
        public var failures: Int
        /// The number of queries in flight.
        public var inFlight: Int
        /// The number of queries that wait for one of those to end.
        public var queued: Int
        /// The number of queries sent.
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
