internal import HTTPDNSPrimitives

/// The number of retries that a client may still send: a share of its calls over the last two windows, and some for
/// each second.
///
/// Two alternating windows count about as well as an exact record of each call, and cost nothing per call. They advance
/// when a retry is requested; calls of a longer time without one count by their average.
struct RetryBudget {
    /// Half of the observed time, in seconds.
    static let window = 5

    private struct Count {
        var calls: UInt64 = 0
        var retries = 0
    }

    private var begun: MonotonicTime
    /// The number of all calls at the start of the present window.
    private var callsBefore: UInt64 = 0
    private var last = Count()
    private var retries = 0

    init(at now: MonotonicTime) { begun = now }

    /// Takes one retry, if one is left.
    /// - Parameter calls: The number of all calls of the client so far.
    mutating func take(_ budget: HTTPDNSClient.RetryPolicy.Budget, calls: UInt64, at now: MonotonicTime) -> Bool {
        turn(calls: calls, at: now)
        let counted = last.calls + since(callsBefore, calls)
        let bySeconds = budget.perSecond * 2 * RetryBudget.window
        let byCalls = Int(clamping: counted) * budget.percent / 100
        guard last.retries + retries < bySeconds + byCalls else { return false }
        retries += 1
        return true
    }

    private mutating func turn(calls: UInt64, at now: MonotonicTime) {
        let elapsed = now - begun
        guard elapsed >= .seconds(RetryBudget.window) else { return }
        let window = Duration.seconds(RetryBudget.window)
        last = Count(calls: since(callsBefore, calls), retries: retries)
        if elapsed >= window * 2 {
            // The windows did not advance for so long because nothing failed, not because there were no calls.
            last = Count(calls: UInt64(Double(last.calls) * (window / elapsed)), retries: 0)
        }
        begun = now
        callsBefore = max(callsBefore, calls)
        retries = 0
    }

    /// Returns zero when the number is older than the one it is compared with: another thread has advanced the window
    /// meanwhile.
    private func since(_ before: UInt64, _ calls: UInt64) -> UInt64 { calls > before ? calls - before : 0 }
}
