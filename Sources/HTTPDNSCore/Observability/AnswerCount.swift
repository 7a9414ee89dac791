/// The outcomes of queries that are counted for every request, one for each answer.
///
/// ``ResolverCounting`` keeps them in ``StripedCounters``, whose stripe has room for exactly 16.
package enum AnswerCount: Int, CaseIterable, Sendable {
    /// Fresh and cached, from a provider.
    case hitFromProvider
    /// Fresh and cached, from the system resolver.
    case hitFromSystem
    /// Served immediately past its time to live, because the name or its providers are in back-off.
    case staleHitFromProvider
    /// As ``staleHitFromProvider``, of the system resolver.
    case staleHitFromSystem
    /// A cached "no such name" or "no addresses".
    case negativeHit
    /// A cached failure, while the name is in back-off.
    case failureHit
    /// The request named its addresses.
    case pinned
    /// A rule of the mappings had the addresses.
    case mapped
    /// The URL had an address, or `localhost`.
    case literal
    /// Not cached: the query started a lookup.
    case miss
    /// Not cached: the query joined a lookup in flight.
    case joined
    /// A lookup that the query waited for returned addresses of a provider.
    case awaitedProvider
    /// A lookup that the query waited for returned addresses of the system resolver.
    case awaitedSystem
    /// The wait for a new answer ended, and a stale one of a provider was served.
    case staleAfterWaitFromProvider
    /// As ``staleAfterWaitFromProvider``, of the system resolver.
    case staleAfterWaitFromSystem
    /// There were addresses, and the address policy refused all of them.
    case policyRefusal

    /// Returns the count for an answer that was served immediately from the cache.
    package static func hit(fromSystem: Bool, isStale: Bool) -> AnswerCount {
        switch (fromSystem, isStale) {
        case (false, false): .hitFromProvider
        case (true, false): .hitFromSystem
        case (false, true): .staleHitFromProvider
        case (true, true): .staleHitFromSystem
        }
    }

    /// Returns the count for the answer to a query that waited.
    package static func awaited(fromSystem: Bool, isStale: Bool) -> AnswerCount {
        switch (fromSystem, isStale) {
        case (false, false): .awaitedProvider
        case (true, false): .awaitedSystem
        case (false, true): .staleAfterWaitFromProvider
        case (true, true): .staleAfterWaitFromSystem
        }
    }

    /// Returns the count for a query that needed neither cache nor lookup; nil for a source that always does.
    package static func immediate(_ source: HTTPDNSResolver.Resolution.Source) -> AnswerCount? {
        switch source {
        case .request: .pinned
        case .mapping: .mapped
        case .literal: .literal
        default: nil
        }
    }
}
