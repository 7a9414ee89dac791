// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

internal import HTTPDNSCurl
package import HTTPDNSPrimitives
internal import HTTPTypes

/// An exchange over a ``TrustedTransport`` that only one provider uses, so that user load cannot starve resolution. A changed file
/// of authorities is read again.
package struct UpstreamTransportExchange: UpstreamExchanging {
    private let transport: TrustedTransport
    private let maximumBodyOctets: Int
    private let readsRefusals: Bool

    /// - Parameters:
    ///   - trustRoots: The trust roots for the service's certificate.
    ///   - threadName: The name of the transport's thread, at most 15 bytes (pthread_setname_np(3)).
    ///   - maximumBodyOctets: The maximum length of a body, after decoding.
    ///   - readsRefusals: Whether bodies are also read at statuses other than 200, for vendors that describe their errors
    ///     there.
    ///   - time: The clock of the checks for changed files.
    package init(
        trustRoots: HTTPDNSTrust.Roots,
        threadName: String,
        maximumBodyOctets: Int,
        readsRefusals: Bool = false,
        time: any TimeSource = SystemTimeSource()
    ) {
        var configuration = TransportConfiguration()
        configuration.trustRoots = trustRoots
        configuration.threadName = threadName
        transport = TrustedTransport(configuration, clock: time)
        self.maximumBodyOctets = maximumBodyOctets
        self.readsRefusals = readsRefusals
    }

    package func exchange(
        _ request: ServiceRequest,
        with endpoint: HTTPDNSEndpoint,
        deadline: MonotonicTime
    ) async throws -> UpstreamReply {
        // The attempt's share of the time limit bounds every phase, so no phase has a limit of its own.
        var limits = TransferLimits()
        limits.connect = nil
        limits.tls = nil
        limits.firstByte = nil
        limits.idle = nil
        limits.deadline = deadline
        limits.maximumResponseBytes = maximumBodyOctets
        let response = try await transport.execute(
            TransferRequest(
                method: request.method,
                url: request.url,
                headerFields: request.headerFields,
                body: request.body.map(RequestBodySource.bytes) ?? .none,
                endpoints: [endpoint],
                limits: limits
            )
        )
        var reply = UpstreamReply(
            status: response.head.status.code,
            headerFields: response.head.headerFields,
            body: [],
            endpoint: response.endpoint
        )
        guard reply.status == 200 else {
            guard readsRefusals else { return reply }
            do {
                reply.body = try await response.readDecoded()
            } catch is TransferFailure {
                // The status is sufficient, and more useful than a body that is too long or incomplete.
                reply.body = []
            }
            return reply
        }
        reply.body = try await response.readDecoded()
        return reply
    }

    package func shutdown() async {
        await transport.shutdown()
    }
}
