internal import HTTPDNSPrimitives

/// Which hosts go straight to the addresses of the system resolver, because those that a provider gave could not be
/// connected to and the system's could. A value: it is told what happened and when.
///
/// After such a fallback all requests to the host take the system path for 30 s. Then one request tries the provider's
/// addresses, and the others stay; when it has to fall back as well the time doubles, up to 5 minutes. So a sick provider costs
/// one request its connect time-out, and not each.
struct FallbackBreaker: Sendable {
    /// Where a request goes first.
    enum Path: Equatable, Sendable {
        /// To the addresses it was given; nothing is known against them.
        case given
        /// To the addresses it was given, on behalf of all others. Its end must be told.
        case trial
        /// To the addresses of the system resolver.
        case system
    }

    private struct Entry: Sendable {
        var until: MonotonicTime
        var rest: Duration
        var isTried = false
    }

    static let shortestRest = Duration.seconds(30)
    static let longestRest = Duration.seconds(300)
    /// How many hosts are remembered. An entry takes about 100 bytes; who has as many sick hosts loses no more than a fallback
    /// for each that is forgotten.
    static let maximumEntries = 4096

    private var entries: [HopOrigin: Entry] = [:]

    var count: Int { entries.count }

    mutating func path(for origin: HopOrigin, at now: MonotonicTime) -> Path {
        guard let entry = entries[origin] else { return .given }
        guard now >= entry.until, !entry.isTried else { return .system }
        entries[origin]?.isTried = true
        return .trial
    }

    /// The given addresses could not be connected to, and the system's answered. However many requests find that out
    /// together, it counts once.
    mutating func fellBack(_ origin: HopOrigin, at now: MonotonicTime) {
        if let entry = entries[origin] {
            guard now >= entry.until else { return }
            let rest = min(entry.rest * 2, FallbackBreaker.longestRest)
            entries[origin] = Entry(until: now + rest, rest: rest)
            return
        }
        if entries.count >= FallbackBreaker.maximumEntries,
            let any = entries.min(by: { $0.value.until < $1.value.until })
        {
            entries[any.key] = nil
        }
        let rest = FallbackBreaker.shortestRest
        entries[origin] = Entry(until: now + rest, rest: rest)
    }

    /// The given addresses answered, or the system's did no better.
    mutating func forget(_ origin: HopOrigin) {
        entries[origin] = nil
    }

    /// A trial ended without saying anything about the addresses, such as by cancellation: the next request is one.
    mutating func trialSaidNothing(_ origin: HopOrigin) {
        entries[origin]?.isTried = false
    }
}
