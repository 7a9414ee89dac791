/// The counters of the names of one route, or of those without one. What is on the way of every request is counted here and
/// nowhere else: the resolver's own counters are the sums over all of these.
package final class RouteCounting: Sendable {
    /// ``AnswerCount``.
    let answers = StripedCounters(
        count: AnswerCount.allCases.count,
        stripes: min(StripedCounters.defaultStripes, RouteCounting.maximumStripes)
    )
    private let failures = CounterRow(HTTPDNSResolver.Error.Code.all.count)

    /// 2 KiB for each route: many routes and all of their traffic at once on many threads do not meet.
    private static let maximumStripes = 16

    package init() {}

    /// Counts a question that got no addresses.
    package func countFailure(_ code: HTTPDNSResolver.Error.Code) {
        guard let number = HTTPDNSResolver.Error.Code.all.firstIndex(of: code) else { return }
        failures.add(1, to: number)
    }

    /// What was counted up to now.
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
