/// The order in which the targets of a rule are tried.
enum WeightedOrder {
    /// A weight above this is refused, so that sums stay far from overflow and shares far from rounding to nothing.
    static let maximumWeight = 1_000_000

    /// The given order when all weights are equal; else a weighted random choice without replacement: each place goes to
    /// one of those left, with its share of the weights left.
    /// - Parameter random: A number below its argument, each with the same chance.
    static func arrange(
        _ targets: [HostMapping.Target],
        random: (UInt64) -> UInt64
    ) -> [HostMapping.Target] {
        guard let first = targets.first, targets.contains(where: { $0.weight != first.weight }) else { return targets }
        var left = targets
        var order: [HostMapping.Target] = []
        order.reserveCapacity(targets.count)
        while left.count > 1 {
            let sum = left.reduce(0) { $0 + UInt64($1.weight) }
            var ticket = random(sum)
            let chosen =
                left.firstIndex { target in
                    let weight = UInt64(target.weight)
                    if ticket < weight { return true }
                    ticket -= weight
                    return false
                } ?? left.startIndex
            order.append(left.remove(at: chosen))
        }
        return order + left
    }
}
