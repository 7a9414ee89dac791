internal import Synchronization

/// How many flights may still be started, over all shards.
final class FlightBudget: Sendable {
    private let left: Atomic<Int>

    init(_ maximum: Int) { left = Atomic(maximum) }

    /// Takes one, if one is left.
    func take() -> Bool {
        if left.subtract(1, ordering: .relaxed).newValue >= 0 { return true }
        left.add(1, ordering: .relaxed)
        return false
    }

    func giveBack(_ count: Int) { left.add(count, ordering: .relaxed) }
}
