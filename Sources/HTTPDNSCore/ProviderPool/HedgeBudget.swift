/// The budget for hedges, queries to a second provider because the first is slow: a tenth of all requests, after the first ten.
struct HedgeBudget: Sendable {
    /// The maximum that may be saved, in tenths of a hedge.
    static let most = 100

    private var tenths = HedgeBudget.most

    mutating func noteQuestion() { tenths = min(tenths + 1, HedgeBudget.most) }

    /// Takes a hedge from the budget.
    /// - Returns: False when there is none.
    mutating func take() -> Bool {
        guard tenths >= 10 else { return false }
        tenths -= 10
        return true
    }
}
