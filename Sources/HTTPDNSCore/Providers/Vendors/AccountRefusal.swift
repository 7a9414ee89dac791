internal import HTTPDNSPrimitives

/// A vendor's refusal of an account, with the time of the next attempt. A value type.
///
/// An account stays refused until its owner pays, switches a feature on or corrects a secret. Meanwhile the vendor gets only
/// one query after each pause: a change in the vendor's console changes no setting here.
struct AccountRefusal: Sendable {
    /// The first pause between two attempts.
    static let firstPause = Duration.seconds(300)
    /// The longest pause; pauses double up to it.
    static let longestPause = Duration.seconds(3600)

    /// The fingerprint of the refused secrets. With other secrets the account may be accepted.
    let fingerprint: Int
    private(set) var error: HTTPDNSProviderError
    private var pause = AccountRefusal.firstPause
    private var retryAt: MonotonicTime

    init(fingerprint: Int, error: HTTPDNSProviderError, at now: MonotonicTime) {
        self.fingerprint = fingerprint
        self.error = error
        retryAt = now + pause
    }

    /// Whether a query may test if the account is accepted again. The next test may follow after the first pause, unless this
    /// query is refused too: a mere timeout says nothing about the account.
    mutating func beginRetry(at now: MonotonicTime) -> Bool {
        guard now >= retryAt else { return false }
        retryAt = now + Self.firstPause
        return true
    }

    /// Lets the next query test whether the account is accepted again. The length of the pause does not change.
    mutating func allowRetry(at now: MonotonicTime) { retryAt = now }

    mutating func refusedAgain(_ error: HTTPDNSProviderError, at now: MonotonicTime) {
        self.error = error
        pause = min(pause * 2, Self.longestPause)
        retryAt = now + pause
    }
}

/// A provider that identifies itself to its service by an account.
protocol AccountHolding: HTTPDNSProvider {
    /// Lets one query test whether a refused account is accepted again.
    /// - Returns: Whether the account is refused.
    func retryRefusedAccount() -> Bool
}
