internal import HTTPDNSPrimitives

/// How many retries a client may still send: a share of its calls over the last two windows, and some for each second.
///
/// Two windows that take turns count about as well as an exact record of each call, and cost nothing per call.
struct RetryBudget {
    /// Half of the time that is looked back on, in seconds.
    static let window = 5

    private struct Count {
        var calls: UInt64 = 0
        var retries = 0
    }

    private var begun: MonotonicTime
    /// The number of all calls when the present window began.
    private var callsBefore: UInt64 = 0
    private var last = Count()
    private var retries = 0

    init(at now: MonotonicTime) { begun = now }

    /// Takes one retry, if there is one left.
    /// - Parameter calls: The number of all calls of the client so far.
    mutating func take(_ budget: RetryPolicy.Budget, calls: UInt64, at now: MonotonicTime) -> Bool {
        turn(calls: calls, at: now)
        let counted = last.calls + (calls - callsBefore)
        let bySeconds = budget.perSecond * 2 * RetryBudget.window
        let byCalls = Int(clamping: counted) * budget.percent / 100
        guard last.retries + retries < bySeconds + byCalls else { return false }
        retries += 1
        return true
    }

    private mutating func turn(calls: UInt64, at now: MonotonicTime) {
        let elapsed = now - begun
        guard elapsed >= .seconds(RetryBudget.window) else { return }
        last =
            elapsed < .seconds(2 * RetryBudget.window) ? Count(calls: calls - callsBefore, retries: retries) : Count()
        begun = now
        callsBefore = calls
        retries = 0
    }
}
