internal import HTTPDNSPrimitives

/// A vendor's refusal of an account, with the time of the next try. A value.
///
/// An account is refused until its owner pays, switches a feature on or corrects a secret. The vendor is not asked meanwhile,
/// except for one query after each pause: a change in the vendor's console shows in no setting here.
struct AccountRefusal: Sendable {
    /// The first pause.
    static let firstPause = Duration.seconds(300)
    /// Pauses double up to this.
    static let longestPause = Duration.seconds(3600)

    /// The fingerprint of the secrets that were refused. With others the account may be a good one.
    let fingerprint: Int
    private(set) var error: HTTPDNSProviderError
    private var pause = AccountRefusal.firstPause
    private var retryAt: MonotonicTime

    init(fingerprint: Int, error: HTTPDNSProviderError, at now: MonotonicTime) {
        self.fingerprint = fingerprint
        self.error = error
        retryAt = now + pause
    }

    /// Whether a query may show if the account is accepted again. The next one may after the first pause, unless this one is
    /// refused again: one that only times out says nothing about the account.
    mutating func beginRetry(at now: MonotonicTime) -> Bool {
        guard now >= retryAt else { return false }
        retryAt = now + Self.firstPause
        return true
    }

    /// Lets the next query show whether the account is accepted again. The pause stays as long as it is.
    mutating func allowRetry(at now: MonotonicTime) { retryAt = now }

    mutating func refusedAgain(_ error: HTTPDNSProviderError, at now: MonotonicTime) {
        self.error = error
        pause = min(pause * 2, Self.longestPause)
        retryAt = now + pause
    }
}

/// A provider whose service knows it by an account.
protocol AccountHolding: HTTPDNSProvider {
    /// Lets one query show whether a refused account is accepted again.
    /// - Returns: Whether it is refused.
    func retryRefusedAccount() -> Bool
}
