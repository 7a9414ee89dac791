internal import HTTPDNSPrimitives

/// How long things are kept when no answer says so, or an answer says too much.
enum Lifetimes {
    /// RFC 2308 section 5 lets a negative answer live for its SOA; a wrong one must not shut a service out for long, and a
    /// 0 must not let one name hammer a provider.
    static let negative: ClosedRange<Duration> = .seconds(1) ... .seconds(300)
    /// For a negative answer without SOA (RFC 2308 section 5: such answers should not be cached; unbound uses 5 s).
    static let negativeWithoutSOA: Duration = .seconds(5)
    /// The time after which a family is asked for again that failed while the other had addresses. It is doubled with each
    /// further failure.
    static let partial: Duration = .seconds(10)

    /// How long before the end of a life a use of the answer asks anew: a tenth of it, 2 s at least, never more than half.
    static func refreshWindow(of life: Duration) -> Duration {
        min(max(life / 10, .seconds(2)), life / 2)
    }

    /// The moment from which a use of an answer asks again.
    /// - Parameter chance: In -1...1.
    static func refreshMoment(of answer: KnownAnswer, chance: Double) -> MonotonicTime {
        answer.expiresAt - refreshWindow(of: answer.life) * (1 + refreshJitter * chance)
    }

    /// How far a window may be stretched or shortened, so that answers that came together do not all go together.
    static let refreshJitter: Double = 0.1

    /// The wait after a number of failures in a row: 1 s, doubled each time, 30 s at most. RFC 9520 section 3.2 demands
    /// 1 s at least and 5 minutes at most.
    /// - Parameter jitter: In 0...1: makes it up to a tenth longer, so that names that failed together are not asked for
    ///   together.
    static func backoff(afterFailures count: Int, jitter: Double = 0) -> Duration {
        .seconds(min(1 << min(max(count - 1, 0), 5), 30)) * (1 + backoffJitter * jitter)
    }

    private static let backoffJitter: Double = 0.1

    /// A positive answer's life, within the limits of the cache. A floor above zero also lifts a time to live of 0.
    static func positive(_ timeToLive: Duration, within limits: HTTPDNSResolver.Configuration.Cache) -> Duration {
        min(max(timeToLive, limits.minimumTimeToLive, .zero), limits.maximumTimeToLive)
    }

    /// A negative answer's life.
    static func negative(_ timeToLive: Duration?) -> Duration {
        guard let timeToLive else { return negativeWithoutSOA }
        return min(max(timeToLive, negative.lowerBound), negative.upperBound)
    }
}
