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
        return try await addresses.reply(of: endpoints, limit: limit, deadline: deadline) { endpoint, deadline in
            try await exchange.exchange(request(endpoint), with: endpoint, deadline: deadline)
        } verdict: {
            verdict($0)
        }
    }

    /// Aborts the requests in progress, closes the connections and stops the transport's thread. Idempotent.
    package func shutdown() async {
        shutDown.withLock { $0 = true }
        addresses.shutdown()
        await exchange.shutdown()
        await addresses.settled()
    }
}
