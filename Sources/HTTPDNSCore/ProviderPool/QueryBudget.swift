internal import HTTPDNSPrimitives

/// The budget of queries: a token bucket that fills at a steady rate and holds the tokens of one second.
struct QueryBudget: Sendable {
    let queriesPerSecond: Double
    private var tokens: Double
    private var filledAt: MonotonicTime

    /// Creates a full bucket. It holds one query at least, or a rate below one a second would never allow any.
    init(queriesPerSecond: Double, at now: MonotonicTime) {
        self.queriesPerSecond = queriesPerSecond
        tokens = max(1, queriesPerSecond)
        filledAt = now
    }

    func hasOne(at now: MonotonicTime) -> Bool { level(at: now) >= 1 }

    /// Takes a query from the budget.
    /// - Returns: False when there is none.
    mutating func take(at now: MonotonicTime) -> Bool {
        let level = level(at: now)
        guard level >= 1 else { return false }
        tokens = level - 1
        filledAt = max(filledAt, now)
        return true
    }

    /// Returns the token of a query that was never sent.
    mutating func giveBack() {
        tokens = min(max(1, queriesPerSecond), tokens + 1)
    }

    private func level(at now: MonotonicTime) -> Double {
        let elapsed = max(now - filledAt, .zero).inSeconds
        return min(max(1, queriesPerSecond), tokens + elapsed * queriesPerSecond)
    }
}
