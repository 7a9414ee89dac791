// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

internal import HTTPDNSPrimitives

/// The lifetimes of answers without a time to live, and the limits for those with one.
enum Lifetimes {
    /// The limits of a negative answer's lifetime.
    ///
    /// RFC 2308 section 5 derives the lifetime from the SOA. A wrong negative answer must not make a service unreachable for
    /// long, and a 0 must not lead to constant queries for one name.
    static let negative: ClosedRange<Duration> = .seconds(1) ... .seconds(300)
    /// The lifetime of a negative answer without SOA (RFC 2308 section 5: such answers should not be cached; unbound uses 5 s).
    static let negativeWithoutSOA: Duration = .seconds(5)
    /// The time after a negative answer of one source from which a second one removes the addresses that it contradicts.
    static let confirmation: Duration = .seconds(5)
    /// The time after which a family is queried again that failed while the other had addresses.
    ///
    /// It is doubled with each failure after the second one, up to ``negative``'s limit.
    static let partial: Duration = .seconds(10)

    /// Returns the time after which a family is queried again that failed, while the other one has addresses.
    static func familyBackoff(afterFailures count: Int) -> Duration {
        min(partial * (1 << min(max(count - 2, 0), 5)), negative.upperBound)
    }

    /// Returns the time before the end of a lifetime in which a use refreshes the answer: a tenth of it, 2 s at least, never
    /// more than half.
    static func refreshWindow(of life: Duration) -> Duration {
        min(max(life / 10, .seconds(2)), life / 2)
    }

    /// Returns the time from which a use of an answer refreshes it.
    /// - Parameter chance: A number in -1...1.
    static func refreshMoment(of answer: KnownAnswer, chance: Double) -> MonotonicTime {
        answer.expiresAt - refreshWindow(of: answer.life) * (1 + refreshJitter * chance)
    }

    /// Returns a random number in -1...1 that spreads simultaneous refreshes.
    /// - Parameter random: A function that returns a uniform random number below its argument.
    static func chance(_ random: (UInt64) -> UInt64) -> Double { Double(random(2001)) / 1000 - 1 }

    /// The random variation of the window, so that answers received together are not all refreshed together.
    static let refreshJitter: Double = 0.1

    /// Returns the back-off after a number of failures in a row: 1 s, doubled each time, 30 s at most.
    ///
    /// RFC 9520 section 3.2 requires 1 s at least and 5 minutes at most.
    /// - Parameter jitter: A number in 0...1 that makes it up to a tenth longer, so that names that failed together are not
    ///   queried together.
    static func backoff(afterFailures count: Int, jitter: Double = 0) -> Duration {
        .seconds(min(1 << min(max(count - 1, 0), 5), 30)) * (1 + backoffJitter * jitter)
    }

    static let backoffJitter: Double = 0.1

    /// Returns a positive answer's lifetime, within the limits of the route, or else of the cache. A minimum above zero also
    /// raises a time to live of 0.
    static func positive(
        _ timeToLive: Duration,
        within limits: HTTPDNSResolver.Configuration.Cache,
        _ route: HTTPDNSRoute?
    ) -> Duration {
        let least = route?.minimumTimeToLive ?? limits.minimumTimeToLive
        let most = route?.maximumTimeToLive ?? max(limits.maximumTimeToLive, route?.minimumTimeToLive ?? .zero)
        return min(max(timeToLive, least, .zero), most)
    }

    /// Returns a negative answer's lifetime.
    static func negative(_ timeToLive: Duration?, _ route: HTTPDNSRoute?) -> Duration {
        min(
            max(timeToLive ?? negativeWithoutSOA, negative.lowerBound),
            route?.negativeTimeToLive ?? negative.upperBound
        )
    }
}
