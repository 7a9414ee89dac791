// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

internal import HTTPDNSCurl
internal import HTTPDNSPrimitives

/// The attempts of one query at the service's addresses: their order and deadlines, and the error when all failed.
struct UpstreamAttempts {
    struct Attempt {
        let endpoint: HTTPDNSEndpoint
        /// The end of the attempt's equal share of the remaining time.
        let deadline: MonotonicTime
    }

    private enum Failure {
        case transfer(HTTPDNSEndpoint, TransferFailure)
        case reply(HTTPDNSProviderError)

        var text: String {
            switch self {
            case .transfer(let endpoint, let failure):
                "\(endpoint): \(UntrustedText.excerpt(failure.message, limit: 200))"
            case .reply(let error): error.message
            }
        }
    }

    private var remaining: ArraySlice<HTTPDNSEndpoint>
    /// The quarantined addresses. They have no share of the time, and are tried if all others fail before the deadline.
    private var reserve: [HTTPDNSEndpoint]
    private let limit: Duration
    private let deadline: MonotonicTime
    private var failures: [Failure] = []
    private var hasRedialed = false
    private var isFinal = false

    init(_ order: UpstreamAddressBook.Order, limit: Duration, deadline: MonotonicTime) {
        remaining = order.first[...]
        reserve = order.reserve
        self.limit = limit
        self.deadline = deadline
    }

    /// Returns the next attempt; `nil` when ``error`` is the outcome.
    mutating func next(at now: MonotonicTime) -> Attempt? {
        if remaining.isEmpty {
            remaining = reserve[...]
            reserve = []
        }
        guard !isFinal, now < deadline, let endpoint = remaining.first else { return nil }
        let share = (deadline - now) / remaining.count
        remaining.removeFirst()
        return Attempt(endpoint: endpoint, deadline: remaining.isEmpty ? deadline : now + share)
    }

    /// Records a failure. A failure that every other address would also cause ends the query.
    mutating func failed(_ attempt: Attempt, with failure: TransferFailure) {
        failures.append(.transfer(attempt.endpoint, failure))
        switch failure.code {
        case .connectionLost where !hasRedialed:
            // The server may have closed a kept connection at the moment of its use: connect again, but only once.
            hasRedialed = true
            remaining = [attempt.endpoint] + remaining
        case .invalidRequest, .trustRootsMissing, .trustUnsupported, .tlsSettingsRefused, .lookupDenied,
            .responseTooLarge, .requestBodyFailed, .bodyConsumedTwice, .shutDown:
            isFinal = true
        default:
            break
        }
    }

    /// Records a response without an answer.
    mutating func failed(_ attempt: Attempt, with error: HTTPDNSProviderError) {
        failures.append(.reply(error))
    }

    /// Makes the next attempt one at the same address: the reason for its refusal can be corrected.
    mutating func `repeat`(_ attempt: Attempt) {
        remaining = [attempt.endpoint] + remaining
    }

    /// The error of the query, with every address that was tried.
    var error: HTTPDNSProviderError {
        let tried = failures.map(\.text).joined(separator: "; ")
        switch failures.last {
        case nil: return HTTPDNSProviderError(code: .timedOut, message: "no time left within the limit of \(limit)")
        case .reply(var error):
            error.message = tried
            return error
        case .transfer(_, let failure): return self.error(failure, tried)
        }
    }

    private func error(_ last: TransferFailure, _ tried: String) -> HTTPDNSProviderError {
        switch last.code {
        case .shutDown:
            return HTTPDNSProviderError(code: .shutDown, message: "the provider is shut down")
        case .timedOut:
            return HTTPDNSProviderError(code: .timedOut, message: "no answer within \(limit): \(tried)")
        case .responseTooLarge:
            return HTTPDNSProviderError(
                code: .badResponse,
                message: "the body is longer than an answer can be: \(tried)"
            )
        case .protocolViolation:
            return HTTPDNSProviderError(
                code: .badResponse,
                message: "the answer breaks the rules of the protocol: \(tried)"
            )
        case .certificateRefused:
            return HTTPDNSProviderError(
                code: .unreachable,
                message: "the certificate does not prove the service's name; check url, bootstrap and "
                    + "trust roots: \(tried)"
            )
        default:
            return HTTPDNSProviderError(code: .unreachable, message: tried)
        }
    }
}
