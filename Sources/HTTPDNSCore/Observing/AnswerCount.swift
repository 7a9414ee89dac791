/// How a question was answered: what is counted on the way of every request, so once for each answer and no more.
///
/// ``ResolverCounting`` keeps these in ``StripedCounters``, whose stripe has room for exactly 16.
package enum AnswerCount: Int, CaseIterable, Sendable {
    /// Fresh, out of the cache; a provider had said so.
    case hitFromProvider
    /// Fresh, out of the cache; the system resolver had said so.
    case hitFromSystem
    /// Past its time to live and served at once, since the name or its providers are left alone for a while.
    case staleHitFromProvider
    /// As ``staleHitFromProvider``, of the system resolver.
    case staleHitFromSystem
    /// A cached "no such name" or "no addresses".
    case negativeHit
    /// A cached failure, while the name is left alone for a while.
    case failureHit
    /// The request named its addresses.
    case pinned
    /// A rule of the mappings had the addresses.
    case mapped
    /// The URL had an address, or `localhost`.
    case literal
    /// Not in the cache: the question started a flight.
    case miss
    /// Not in the cache: the question joined a flight.
    case joined
    /// A flight that was waited for brought addresses of a provider.
    case awaitedProvider
    /// A flight that was waited for brought addresses of the system resolver.
    case awaitedSystem
    /// The wait for a new answer was over, and a stale one of a provider served.
    case staleAfterWaitFromProvider
    /// As ``staleAfterWaitFromProvider``, of the system resolver.
    case staleAfterWaitFromSystem
    /// There were addresses, and the address policy refused all of them.
    case policyRefusal

    /// A hit of one that the cache gave at once.
    package static func hit(fromSystem: Bool, isStale: Bool) -> AnswerCount {
        switch (fromSystem, isStale) {
        case (false, false): .hitFromProvider
        case (true, false): .hitFromSystem
        case (false, true): .staleHitFromProvider
        case (true, true): .staleHitFromSystem
        }
    }

    /// What a question that waited was answered with.
    package static func awaited(fromSystem: Bool, isStale: Bool) -> AnswerCount {
        switch (fromSystem, isStale) {
        case (false, false): .awaitedProvider
        case (true, false): .awaitedSystem
        case (false, true): .staleAfterWaitFromProvider
        case (true, true): .staleAfterWaitFromSystem
        }
    }

    /// What needed neither cache nor flight; nil for a source that always does.
    package static func immediate(_ source: HTTPDNSResolver.Resolution.Source) -> AnswerCount? {
        switch source {
        case .request: .pinned
        case .mapping: .mapped
        case .literal: .literal
        default: nil
        }
    }
}
