internal import HTTPTypes

/// The tries of one call, and whether there is another one.
struct RetryRun {
    /// What a try came to.
    enum Outcome {
        case status(Int, retryAfter: Duration?)
        case failure(HTTPDNSClientError.Code, HTTPDNSClientError.Stage, mayHaveBeenSent: Bool)
    }

    let policy: HTTPDNSClient.RetryPolicy
    /// Whether a second time does no harm.
    let isIdempotent: Bool
    /// How often the request was sent again.
    private(set) var count = 0

    init(_ policy: HTTPDNSClient.RetryPolicy, _ request: HTTPDNSClient.Request) {
        self.policy = policy
        isIdempotent =
            policy.methods.contains(request.method)
            || request.headerFields.contains { RetryRun.idempotencyKey == $0.name && !$0.value.isEmpty }
    }

    private static let idempotencyKey = HTTPField.Name("Idempotency-Key")

    /// How long to wait for the next try; nil when there is none.
    /// - Parameters:
    ///   - isBodySpent: Whether the request's body can be sent no more.
    ///   - left: What is left of the call's time; nil without a limit.
    ///   - random: From 0 to 1.
    mutating func next(after outcome: Outcome, isBodySpent: Bool, left: Duration?, random: Double) -> Duration? {
        guard count < policy.limit, !isBodySpent, wants(outcome) else { return nil }
        var wait = backoff(random)
        if case .status(_, let retryAfter?) = outcome {
            guard retryAfter <= policy.maximumRetryAfter else { return nil }
            // Everyone who was told the same time would come back at the same time.
            wait = retryAfter + min(wait, policy.delay)
        }
        if let left, wait >= left { return nil }
        count += 1
        return wait
    }

    private func wants(_ outcome: Outcome) -> Bool {
        switch outcome {
        case .status(let status, _): isIdempotent && policy.statuses.contains(status)
        case .failure(let code, let stage, let mayHaveBeenSent):
            // Whoever comes back to a queue in which it waited too long makes it longer.
            policy.errors.contains(code) && stage != .total && stage != .queue && (isIdempotent || !mayHaveBeenSent)
        }
    }

    /// Full jitter: any time up to a bound that doubles.
    private func backoff(_ random: Double) -> Duration {
        var bound = policy.delay
        for _ in 0..<count where bound < policy.maximumDelay { bound = bound * 2 }
        return min(bound, policy.maximumDelay) * min(max(random, 0), 1)
    }
}
