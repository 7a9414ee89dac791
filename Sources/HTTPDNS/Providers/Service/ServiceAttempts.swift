internal import CurlTransport
internal import HTTPDNSPrimitives

/// One query's way through the service's addresses: which comes next, until when, and what to say when all failed.
struct ServiceAttempts {
    struct Attempt {
        let endpoint: Endpoint
        /// The end of this attempt's equal share of the time left.
        let deadline: MonotonicTime
    }

    private var remaining: ArraySlice<Endpoint>
    private let limit: Duration
    private let deadline: MonotonicTime
    private var failures: [(endpoint: Endpoint, failure: TransferFailure)] = []
    private var hasRedialled = false
    private var isFinal = false

    init(endpoints: [Endpoint], limit: Duration, deadline: MonotonicTime) {
        remaining = endpoints[...]
        self.limit = limit
        self.deadline = deadline
    }

    /// The next attempt; nil when ``error`` is the outcome.
    mutating func next(at now: MonotonicTime) -> Attempt? {
        guard !isFinal, now < deadline, let endpoint = remaining.first else { return nil }
        let share = (deadline - now) / remaining.count
        remaining.removeFirst()
        return Attempt(endpoint: endpoint, deadline: remaining.isEmpty ? deadline : now + share)
    }

    /// Takes note of a failure. Those that another address would meet too end the query.
    mutating func failed(_ attempt: Attempt, with failure: TransferFailure) {
        failures.append((attempt.endpoint, failure))
        switch failure.code {
        case .connectionLost where !hasRedialled:
            // A kept connection may have been closed at the very moment of its use: say that once, dial once more.
            hasRedialled = true
            remaining = [attempt.endpoint] + remaining
        case .invalidRequest, .trustRootsMissing, .lookupDenied, .responseTooLarge, .requestBodyFailed,
            .bodyConsumedTwice, .shutDown:
            isFinal = true
        default:
            break
        }
    }

    /// Makes the next attempt one with the same address: what it refused can be mended.
    mutating func `repeat`(_ attempt: Attempt) {
        remaining = [attempt.endpoint] + remaining
    }

    /// Why the query failed, with every address that was tried.
    var error: ProviderError {
        guard let last = failures.last?.failure else {
            return ProviderError(code: .timedOut, message: "no time left within the limit of \(limit)")
        }
        let tried = failures.map { "\($0.endpoint): \(ForeignText.excerpt($0.failure.message, limit: 200))" }
            .joined(separator: "; ")
        switch last.code {
        case .shutDown:
            return ProviderError(code: .shutDown, message: "the provider is shut down")
        case .timedOut:
            return ProviderError(code: .timedOut, message: "no answer within \(limit): \(tried)")
        case .responseTooLarge:
            return ProviderError(
                code: .badResponse,
                message: "the body is longer than an answer can be: \(tried)"
            )
        case .protocolViolation:
            return ProviderError(code: .badResponse, message: "the answer breaks the rules of HTTP: \(tried)")
        case .certificateRefused:
            return ProviderError(
                code: .unreachable,
                message: "the certificate does not prove the service's name; check url, bootstrap and "
                    + "trust roots: \(tried)"
            )
        default:
            return ProviderError(code: .unreachable, message: tried)
        }
    }
}
