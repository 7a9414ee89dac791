/// The counters of the names of one route, or of those without one.
///
/// Counts of every request are kept only here: the resolver's own counters are the sums over all of these.
package final class RouteCounting: Sendable {
    /// The counters of ``AnswerCount``.
    let answers = StripedCounters(
        count: AnswerCount.allCases.count,
        stripes: min(StripedCounters.defaultStripes, RouteCounting.maximumStripes)
    )
    private let failures = CounterRow(HTTPDNSResolver.Error.Code.all.count)

    /// 2 KiB for each route: it is unlikely that many threads use many routes with full traffic at the same time.
    private static let maximumStripes = 16

    package init() {}

    /// Counts a query without addresses.
    package func countFailure(_ code: HTTPDNSResolver.Error.Code) {
        guard let number = HTTPDNSResolver.Error.Code.all.firstIndex(of: code) else { return }
        failures.add(1, to: number)
    }

    /// The counts up to now.
    var snapshot: HTTPDNSResolver.Counters.Route {
        func sum(_ kinds: AnswerCount...) -> Int { kinds.reduce(0) { $0 + answers.sum($1.rawValue) } }
        var counters = HTTPDNSResolver.Counters.Route()
        counters.fresh = sum(.hitFromProvider, .awaitedProvider)
        counters.stale = sum(
            .staleHitFromProvider,
            .staleHitFromSystem,
            .staleAfterWaitFromProvider,
            .staleAfterWaitFromSystem
        )
        counters.system = sum(.hitFromSystem, .awaitedSystem)
        for (number, code) in HTTPDNSResolver.Error.Code.all.enumerated() where failures[number] != 0 {
            counters.failures[code] = failures[number]
        }
        return counters
    }
}
