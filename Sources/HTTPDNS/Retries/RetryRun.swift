internal import HTTPTypes

/// The tries of one call, which decide whether there is another one.
struct RetryRun {
    /// The result of a try.
    enum Outcome {
        case status(Int, retryAfter: Duration?)
        case failure(HTTPDNSClientError.Code, HTTPDNSClientError.Stage, mayHaveBeenSent: Bool)
    }

    let policy: HTTPDNSClient.RetryPolicy
    /// Whether the request can be repeated without harm.
    let isIdempotent: Bool
    /// The number of retries so far.
    private(set) var count = 0

    init(_ policy: HTTPDNSClient.RetryPolicy, _ request: HTTPDNSClient.Request) {
        self.policy = policy
        isIdempotent =
            policy.methods.contains(request.method)
            || request.headerFields.contains { RetryRun.idempotencyKey == $0.name && !$0.value.isEmpty }
    }

    private static let idempotencyKey = HTTPField.Name("Idempotency-Key")

    /// Returns the wait before the next try; nil when there is none.
    /// - Parameters:
    ///   - isBodySpent: Whether the request body can no longer be sent.
    ///   - left: The remaining time of the call; nil without a limit.
    ///   - random: A number from 0 to 1.
    mutating func next(after outcome: Outcome, isBodySpent: Bool, left: Duration?, random: Double) -> Duration? {
        guard count < policy.limit, !isBodySpent, wants(outcome) else { return nil }
        var wait = backoff(random)
        if case .status(_, let retryAfter?) = outcome {
            guard retryAfter <= policy.maximumRetryAfter else { return nil }
            // All clients with the same Retry-After would otherwise return at the same time.
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
            // A request that waited too long in a queue would only make the queue longer.
            policy.errors.contains(code) && stage != .total && stage != .queue && (isIdempotent || !mayHaveBeenSent)
        }
    }

    /// Returns a wait with full jitter: any time up to a bound that doubles.
    private func backoff(_ random: Double) -> Duration {
        var bound = policy.delay
        for _ in 0..<count where bound < policy.maximumDelay { bound = bound * 2 }
        return min(bound, policy.maximumDelay) * min(max(random, 0), 1)
    }
}
