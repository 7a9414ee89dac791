internal import HTTPDNSPrimitives

/// That a vendor refused an account, and when it is asked again. A value.
///
/// An account is refused until its owner does something about it: pays, switches a feature on, corrects a secret. The vendor
/// is not asked meanwhile, except for one query after each pause: what was done in the vendor's console shows in no
/// setting here.
struct AccountRefusal: Sendable {
    /// The first pause.
    static let firstPause = Duration.seconds(300)
    /// Pauses double up to this.
    static let longestPause = Duration.seconds(3600)

    /// Of the secrets that were refused. With others the account may be a good one.
    let fingerprint: Int
    private(set) var error: ProviderError
    private var pause = AccountRefusal.firstPause
    private var retryAt: MonotonicTime

    init(fingerprint: Int, error: ProviderError, at now: MonotonicTime) {
        self.fingerprint = fingerprint
        self.error = error
        retryAt = now + pause
    }

    /// Whether a query may show if the account is accepted again. The next one may after another pause, whatever becomes of
    /// this one.
    mutating func beginRetry(at now: MonotonicTime) -> Bool {
        guard now >= retryAt else { return false }
        retryAt = now + pause
        return true
    }

    mutating func refusedAgain(_ error: ProviderError, at now: MonotonicTime) {
        self.error = error
        pause = min(pause * 2, Self.longestPause)
        retryAt = now + pause
    }
}

/// A provider whose service knows it by an account.
protocol AccountHolding: Provider {
    /// Lets the next query show whether a refused account is accepted again.
    /// - Returns: Whether it was refused.
    func forgetRefusal() -> Bool
}
