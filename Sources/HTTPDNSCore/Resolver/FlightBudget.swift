internal import Synchronization

/// The number of lookups that may still be started, over all shards.
final class FlightBudget: Sendable {
    private let left: Atomic<Int>

    init(_ maximum: Int) { left = Atomic(maximum) }

    /// Takes one from the budget.
    /// - Returns: Whether one was left.
    func take() -> Bool {
        if left.subtract(1, ordering: .relaxed).newValue >= 0 { return true }
        left.add(1, ordering: .relaxed)
        return false
    }

    func giveBack(_ count: Int) { left.add(count, ordering: .relaxed) }
}
