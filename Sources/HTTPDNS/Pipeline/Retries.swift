// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

internal import HTTPDNSCore
internal import HTTPDNSCurl
internal import HTTPDNSPrimitives
internal import HTTPTypes
internal import Logging
internal import Synchronization

extension Error {
    /// Whether a loop could not send a request for a reason of its own. It gets none for a while, and nothing was sent.
    var isForAnotherLoop: Bool {
        guard let error = self as? HTTPDNSClientError, !error.requestMayHaveBeenSent else { return false }
        return (error.underlying as? TransferFailure)?.lacksSocket == true
    }
}

/// The record of earlier tries that the result of the last one includes.
struct RetryTrail {
    private var exchanges: [HTTPDNSClient.Exchange] = []
    private var attempts = HTTPDNSClientError.AttemptTrail()
    private var mayHaveBeenSent = false
    private var retries = 0
    private(set) var isEmpty = true

    mutating func noteRetry() { retries += 1 }

    mutating func add(_ result: Result<HTTPDNSClient.Response, any Error>) {
        isEmpty = false
        switch result {
        case .success(let response):
            exchanges += response.exchanges
            mayHaveBeenSent = true
        case .failure(let error):
            guard let error = error as? HTTPDNSClientError else { return }
            attempts.append(error.trail)
            if error.requestMayHaveBeenSent { mayHaveBeenSent = true }
        }
    }

    /// Adds the exchanges of the earlier tries to the response of the last one.
    func addExchanges(to response: inout HTTPDNSClient.Response) {
        if !exchanges.isEmpty { response.exchanges = exchanges + response.exchanges }
    }

    /// Returns the error of the last try with the facts of the earlier ones.
    func completed(_ error: any Error) -> any Error {
        guard !isEmpty, var error = error as? HTTPDNSClientError else { return error }
        error.trail = attempts.appending(error.trail)
        error.retries += retries
        if mayHaveBeenSent { error.requestMayHaveBeenSent = true }
        return error
    }
}

/// The tries of one hop, which decide whether there is another one.
struct RetryRun {
    /// The result of a try.
    enum Outcome {
        case status(Int, retryAfter: Duration?)
        /// - Parameter isUnknownName: Whether a resolver reported that the name does not exist.
        case failure(
            HTTPDNSClientError.Code,
            HTTPDNSClientError.Phase,
            mayHaveBeenSent: Bool,
            isUnknownName: Bool = false
        )
    }

    /// Returns the endpoint that the next try does not prefer.
    static func endpoint(of result: Result<HTTPDNSClient.Response, any Error>) -> HTTPDNSEndpoint? {
        switch result {
        case .success(let response): response.exchanges.last?.remote
        case .failure(let error): (error as? HTTPDNSClientError)?.attempts.last?.endpoint
        }
    }

    let policy: HTTPDNSClient.RetryPolicy
    /// Whether the request can be repeated without harm.
    let isIdempotent: Bool
    /// The number of retries so far, without those that wait for the network.
    private(set) var count = 0
    /// Whether the next try waits for the network.
    private(set) var waitsForNetwork = false
    /// The number of tries that waited for the network.
    private var networkTries = 0

    init(_ policy: HTTPDNSClient.RetryPolicy, _ request: HTTPDNSClient.Request) {
        self.policy = policy
        isIdempotent =
            policy.methods.contains(request.method)
            || request.headerFields.contains { RetryRun.idempotencyKey == $0.name && !$0.value.isEmpty }
    }

    /// The shortest pause of a request that waits for the network, whatever its policy says: a network that comes back is
    /// found soon enough, and tries without a pause would take a core and flood the network.
    static let leastNetworkPause: Duration = .milliseconds(100)

    private static let idempotencyKey = HTTPField.Name("Idempotency-Key")

    /// Returns the wait before the next try; nil when there is none.
    /// - Parameters:
    ///   - isBodySpent: Whether the request body can no longer be sent.
    ///   - elapsed: The time since the first failure.
    ///   - left: The remaining time of the call; nil without a limit.
    ///   - random: A number from 0 to 1.
    mutating func next(
        after outcome: Outcome,
        isBodySpent: Bool,
        elapsed: Duration = .zero,
        left: Duration?,
        random: Double
    ) -> Duration? {
        waitsForNetwork = !isBodySpent && elapsed < policy.networkWait && RetryRun.isUnconnected(outcome)
        if waitsForNetwork {
            let rest = policy.networkWait - elapsed
            var wait = max(backoff(0.5 + random / 2, after: networkTries), RetryRun.leastNetworkPause)
            // The last try is at the end of the time, and not shortly after another one.
            if rest - wait < RetryRun.leastNetworkPause { wait = rest }
            networkTries += 1
            if let left, wait >= left { return nil }
            return wait
        }
        guard count < policy.limit, !isBodySpent, wants(outcome) else { return nil }
        var wait = backoff(random, after: count)
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
        case .failure(let code, let phase, let mayHaveBeenSent, _):
            // A request that waited too long in a queue would only make the queue longer.
            policy.errors.contains(code) && phase != .total && phase != .queue && (isIdempotent || !mayHaveBeenSent)
        }
    }

    /// Whether no address accepted a connection, so that nothing was sent. A name that does not exist is no outage of the network.
    private static func isUnconnected(_ outcome: Outcome) -> Bool {
        guard case .failure(let code, let phase, mayHaveBeenSent: false, isUnknownName: false) = outcome else {
            return false
        }
        return code == .connectFailed || code == .proxyUnreachable || code == .resolveFailed
            || code == .timedOut && (phase == .connect || phase == .resolve)
    }

    /// Returns a wait with full jitter: any time up to a bound that doubles.
    private func backoff(_ random: Double, after count: Int) -> Duration {
        var bound = policy.delay
        for _ in 0..<count where bound < policy.maximumDelay { bound = bound * 2 }
        return min(bound, policy.maximumDelay) * min(max(random, 0), 1)
    }
}

extension RetryRun.Outcome {
    /// Creates nil for a result that another try would have too.
    /// - Parameters:
    ///   - wasSent: Whether the try may have been sent, for errors of interceptors.
    ///   - now: The seconds since 1970.
    init?(_ result: Result<HTTPDNSClient.Response, any Error>, wasSent: Bool, now: () -> Int64) {
        switch result {
        case .success(let response) where response.statusCode < 400 || response.isFromCache: return nil
        case .success(let response):
            let wait = RetryAfter.wait(in: response.headerFields, now: now())
            self = .status(response.statusCode, retryAfter: wait)
        case .failure(let error):
            guard let error = error as? HTTPDNSClientError,
                (error.underlying as? TransferFailure)?.code != .clientCertificateRefused
            else { return nil }
            // An interceptor's own error does not know what was sent inside it. Earlier tries and hops do not count: each of them
            // had a response, or was found to be safe to repeat.
            self = .failure(
                error.code,
                error.phase,
                mayHaveBeenSent: error.requestMayHaveBeenSent || wasSent,
                isUnknownName: (error.underlying as? HTTPDNSResolver.Error)?.code == .nameNotFound
            )
        }
    }
    /// Logs that a request is sent again.
    func logRetry(in wait: Duration, _ logger: Logger?) {
        guard let logger, logger.logLevel <= .debug else { return }
        let reason =
            switch self {
            case .status(let status, _): "\(status)"
            case .failure(let code, let phase, _, _): "\(code)/\(phase)"
            }
        logger.debug("request is sent again", metadata: ["after": "\(wait.shortText)", "reason": "\(reason)"])
    }
}

/// The state that all retries of a client share: their budget, clocks and random numbers.
final class RetryState: Sendable {
    let time: any TimeSource
    private let random: @Sendable () -> Double
    private let wallClock: WallClock
    private let calls = Atomic<UInt64>(0)
    private let budget: Lock<RetryBudget>

    init(_ configuration: HTTPDNSClient.Configuration) {
        time = configuration.resolver.timeSource
        random = configuration.random
        wallClock = configuration.wallClock
        budget = Lock(RetryBudget(at: configuration.resolver.timeSource.now()))
    }

    func noteCall() { calls.wrappingAdd(1, ordering: .relaxed) }

    /// Takes one retry out of the budget.
    func take(_ settings: HTTPDNSClient.RetryPolicy.Budget) -> Bool {
        let now = time.now()
        // Read under the lock: a later caller must not have a lower number.
        return budget.withLock { $0.take(settings, calls: calls.load(ordering: .relaxed), at: now) }
    }

    /// Returns a retry that was not sent to the budget.
    func giveBack() { budget.withLock { $0.giveBack() } }

    /// Returns a number from 0 to 1.
    func chance() -> Double { random() }

    /// Returns the seconds since 1970.
    func calendarSeconds() -> Int64 { wallClock.now() / 1000 }
}
