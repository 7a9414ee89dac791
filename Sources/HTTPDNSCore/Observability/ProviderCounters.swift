extension HTTPDNSResolver.Counters {
    /// The counters of one provider, since its resolver was created or between two snapshots.
    public struct Provider: Hashable, Sendable {
        /// Queries sent, hedges and probes included.
        ///
        /// Queries that are not yet among answers, negatives, failures and cancelled ones are in flight.
        public var queries = 0
        /// Queries that were answered with addresses.
        public var answers = 0
        /// Queries that were answered with "no such name" or "no addresses".
        public var negatives = 0
        /// Failed queries by kind of failure; kinds without failures are left out. See ``HTTPDNSProviderError/Code/other``.
        public var failures: [HTTPDNSProviderError.Code: Int] = [:]
        /// Queries that were cancelled because no caller needed their answer any more, mostly because another provider was
        /// faster.
        public var cancelled = 0
        /// Queries sent because an earlier provider was slow.
        public var hedges = 0
        /// Queries sent to check whether a quarantined provider has recovered.
        public var probes = 0
        /// The total latency of all answers and negatives.
        public var answerTime: Duration = .zero

        /// Creates counters that are zero.
        public init() {}

        /// The number of queries in flight.
        public var queriesInFlight: Int { queries - answers - negatives - cancelled - failures.values.reduce(0, +) }

        /// The mean latency of an answer; nil when there was none.
        public var meanAnswerTime: Duration? {
            answers + negatives > 0 ? answerTime / (answers + negatives) : nil
        }

        /// Returns the sum of both.
        public static func + (left: HTTPDNSResolver.Counters.Provider, right: HTTPDNSResolver.Counters.Provider)
            -> HTTPDNSResolver.Counters.Provider
        {
            left.combined(with: right, +, +)
        }

        /// Returns the difference between the snapshots `earlier` and `later`.
        public static func - (later: HTTPDNSResolver.Counters.Provider, earlier: HTTPDNSResolver.Counters.Provider)
            -> HTTPDNSResolver.Counters.Provider
        {
            later.combined(with: earlier, -, -)
        }

        private func combined(
            with other: HTTPDNSResolver.Counters.Provider,
            _ combine: (Int, Int) -> Int,
            _ combineTimes: (Duration, Duration) -> Duration
        ) -> HTTPDNSResolver.Counters.Provider {
            var result = HTTPDNSResolver.Counters.Provider()
            let fields: [WritableKeyPath<HTTPDNSResolver.Counters.Provider, Int>] = [
                \.queries, \.answers, \.negatives, \.cancelled, \.hedges, \.probes,
            ]
            for field in fields { result[keyPath: field] = combine(self[keyPath: field], other[keyPath: field]) }
            result.failures = failures.combined(with: other.failures, combine)
            result.answerTime = combineTimes(answerTime, other.answerTime)
            return result
        }
    }
}

extension Dictionary where Value == Int {
    /// Returns the entries of both. Missing entries count as zero, and results of zero are left out.
    func combined(with other: Self, _ combine: (Int, Int) -> Int) -> Self {
        var result: Self = [:]
        for key in Set(keys).union(other.keys) {
            let value = combine(self[key] ?? 0, other[key] ?? 0)
            if value != 0 { result[key] = value }
        }
        return result
    }
}

extension HTTPDNSProviderError.Code {
    /// An error of a type other than ``HTTPDNSProviderError``: the provider violated its contract.
    public static let other = HTTPDNSProviderError.Code(description: "other")

    /// All kinds of failure.
    package static let all: [HTTPDNSProviderError.Code] = [
        .timedOut, .unreachable, .httpStatus, .badResponse, .serverFailure, .refused, .rateLimited, .accountRefused,
        .serviceDisabled, .notConfigured, .shutDown, .other,
    ]
}
