/// The order in which the targets of a rule are tried.
enum WeightedOrder {
    /// The maximum weight, so that sums cannot overflow and shares are not rounded to zero.
    static let maximumWeight = 1_000_000

    /// Returns the given order without weights; else a weighted random order without replacement.
    ///
    /// Each position is drawn from the remaining targets, by their share of the remaining weights. Targets with equal weights
    /// are drawn at random too, with equal shares.
    /// - Parameter random: A function that returns a uniform random number below its argument.
    static func arrange(
        _ targets: [HTTPDNSMapping.Target],
        random: (UInt64) -> UInt64
    ) -> [HTTPDNSMapping.Target] {
        guard targets.count > 1, targets.areWeighted else { return targets }
        var left = targets
        var order: [HTTPDNSMapping.Target] = []
        order.reserveCapacity(targets.count)
        while left.count > 1 {
            let sum = left.reduce(0) { $0 + $1.share }
            var ticket = random(sum)
            let chosen =
                left.firstIndex { target in
                    if ticket < target.share { return true }
                    ticket -= target.share
                    return false
                } ?? left.startIndex
            order.append(left.remove(at: chosen))
        }
        return order + left
    }
}

extension [HTTPDNSMapping.Target] {
    /// Whether the targets share the requests by weight. A rule with weights has one for each target.
    package var areWeighted: Bool { first?.weight != nil }
}

extension HTTPDNSMapping.Target {
    /// The weight for the drawing. Clamped, because a set of rules is indexed before it is checked.
    var share: UInt64 { UInt64(clamping: weight ?? 1) }
}
