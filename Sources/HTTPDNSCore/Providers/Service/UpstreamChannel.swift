// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

internal import HTTPDNSCurl
package import HTTPDNSPrimitives

/// The meaning of a service's response for its query.
package enum ReplyVerdict: Sendable {
    /// The service's answer, whatever its content.
    case answer
    /// This address fails: the next one is tried, and this one is quarantined.
    case addressFailed(HTTPDNSProviderError)
    /// The next address may have an answer; this one is not quarantined.
    case nextAddress(HTTPDNSProviderError)
    /// The request can be corrected so that the same address accepts it.
    case again(HTTPDNSProviderError)
    /// Another address would return the same.
    case final(HTTPDNSProviderError)
}

/// A provider's connection to its service. Every request tries the service's addresses in turn until one responds, beginning
/// with the address that responded last. All providers use it.
package final class UpstreamChannel: Sendable {
    package let addresses: UpstreamAddresses
    private let exchange: any UpstreamExchanging
    private let time: any TimeSource
    private let shutDown = Lock(false)

    package init(addresses: UpstreamAddresses, exchange: any UpstreamExchanging, time: any TimeSource) {
        self.addresses = addresses
        self.exchange = exchange
        self.time = time
    }

    /// Creates a channel to the addresses of the settings alone; one query may try all of them.
    convenience init(_ location: UpstreamLocation, exchange: any UpstreamExchanging, time: any TimeSource) {
        let addresses = UpstreamAddresses(
            bootstrap: location.endpoints,
            maximumAttempts: location.endpoints.count,
            scope: location.scope,
            time: time,
            wallClock: .system
        )
        self.init(addresses: addresses, exchange: exchange, time: time)
    }

    /// - Throws: ``HTTPDNSProviderError`` with code `shutDown` after ``shutdown()``.
    package func requireRunning() throws(HTTPDNSProviderError) {
        if shutDown.withLock({ $0 }) {
            throw HTTPDNSProviderError(code: .shutDown, message: "the provider is shut down")
        }
    }

    /// Sends a request, and returns the first response that is an answer.
    /// - Parameters:
    ///   - endpoints: The addresses to try; `nil` means those of a query.
    ///   - limit: The query's time limit, for messages.
    ///   - deadline: The end of that limit.
    ///   - request: Returns the request for an address.
    ///   - verdict: Returns the meaning of a response.
    /// - Throws: ``HTTPDNSProviderError`` that names every address tried; `CancellationError` when the task is canceled.
    package func reply(
        of endpoints: [HTTPDNSEndpoint]? = nil,
        limit: Duration,
        deadline: MonotonicTime,
        request: (HTTPDNSEndpoint) throws -> ServiceRequest,
        verdict: (UpstreamReply) -> ReplyVerdict
    ) async throws -> UpstreamReply {
        try requireRunning()
        let order = endpoints.map { UpstreamAddressBook.Order(first: $0) } ?? addresses.order()
        var attempts = UpstreamAttempts(order, limit: limit, deadline: deadline)
        while let attempt = attempts.next(at: time.now()) {
            try Task.checkCancellation()
            let request = try request(attempt.endpoint)
            let reply: UpstreamReply
            do {
                reply = try await exchange.exchange(request, with: attempt.endpoint, deadline: attempt.deadline)
            } catch let failure as TransferFailure {
                if Self.isAboutAddress(failure) { addresses.failed(attempt.endpoint) }
                attempts.failed(attempt, with: failure)
                continue
            }
            switch verdict(reply) {
            case .answer:
                addresses.succeeded(attempt.endpoint)
                return reply
            case .addressFailed(let error):
                addresses.failed(attempt.endpoint)
                attempts.failed(attempt, with: error)
            case .nextAddress(let error):
                attempts.failed(attempt, with: error)
            case .again(let error):
                attempts.failed(attempt, with: error)
                attempts.repeat(attempt)
            case .final(let error):
                throw error
            }
        }
        throw attempts.error
    }

    /// Aborts the requests in progress, closes the connections and stops the transport's thread. Idempotent.
    package func shutdown() async {
        shutDown.withLock { $0 = true }
        addresses.shutdown()
        await exchange.shutdown()
        await addresses.settled()
    }

    /// Whether a failure is about the address, and not only about this process or this query.
    private static func isAboutAddress(_ failure: TransferFailure) -> Bool {
        switch failure.code {
        case .connectFailed, .tlsFailed, .clientCertificateRefused, .certificateRefused, .wrongPeer, .protocolViolation:
            true
        case .timedOut:
            // After these phases the time may have been spent on one name whose name servers do not respond.
            [.connect, .tls].contains(failure.reached ?? failure.phase)
        default: false
        }
    }
}
