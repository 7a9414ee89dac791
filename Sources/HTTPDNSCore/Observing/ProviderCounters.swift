extension HTTPDNSResolver.Counters {
    /// What one provider was asked and gave, since its resolver was made or between two snapshots.
    public struct Provider: Hashable, Sendable {
        /// Queries sent, hedges and probes included. What is left after answers, negatives, failures and cancelled ones is
        /// under way.
        public var queries = 0
        /// Queries that brought addresses.
        public var answers = 0
        /// Queries that brought the answer that there is no such name, or no address of it.
        public var negatives = 0
        /// Queries that failed, by the kind of failure; kinds that did not happen are left out. See
        /// ``HTTPDNSProviderError/Code/other``.
        public var failures: [HTTPDNSProviderError.Code: Int] = [:]
        /// Queries whose answer nobody waited for any more, mostly because another provider was faster.
        public var cancelled = 0
        /// Queries sent because a provider before it was slow.
        public var hedges = 0
        /// Queries sent to see whether a quarantined provider is well again.
        public var probes = 0
        /// How long the answers and negatives took, all together.
        public var answerTime: Duration = .zero

        /// Creates counters that are zero.
        public init() {}

        /// How many queries are under way.
        public var queriesInFlight: Int { queries - answers - negatives - cancelled - failures.values.reduce(0, +) }

        /// How long an answer took on average; nil when there was none.
        public var meanAnswerTime: Duration? {
            answers + negatives > 0 ? answerTime / (answers + negatives) : nil
        }

        /// Both together.
        public static func + (left: HTTPDNSResolver.Counters.Provider, right: HTTPDNSResolver.Counters.Provider)
            -> HTTPDNSResolver.Counters.Provider
        {
            left.combined(with: right, +, +)
        }

        /// What happened between the snapshot `earlier` and `later`.
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
    /// The entries of both; what is missing in one counts as zero, and what comes to zero is left out.
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
    /// A failure with an error of another type: the provider broke its contract.
    public static let other = HTTPDNSProviderError.Code(description: "other")

    /// All kinds that there are.
    package static let all: [HTTPDNSProviderError.Code] = [
        .timedOut, .unreachable, .httpStatus, .badResponse, .serverFailure, .refused, .rateLimited, .accountRefused,
        .serviceDisabled, .notConfigured, .shutDown, .other,
    ]
}
