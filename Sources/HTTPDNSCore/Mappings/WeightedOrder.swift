/// The order in which the targets of a rule are tried.
enum WeightedOrder {
    /// A weight above this is refused, so that sums stay far from overflow and shares far from rounding to nothing.
    static let maximumWeight = 1_000_000

    /// The given order without weights; else a weighted random choice without replacement: each place goes to one of those
    /// left, with its share of the weights left. Equal weights are weights: they share equally.
    /// - Parameter random: A number below its argument, each with the same chance.
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
    /// Whether the targets share the requests by weight. A rule that has weights has one for each target.
    package var areWeighted: Bool { first?.weight != nil }
}

extension HTTPDNSMapping.Target {
    /// The weight as a number of lots. Clamped, because a set of rules is indexed before it is checked.
    var share: UInt64 { UInt64(clamping: weight ?? 1) }
}
