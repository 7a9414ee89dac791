internal import CurlTransport
internal import HTTPDNSPrimitives
internal import HTTPTypes

/// The exchange over a ``Transport`` that serves one provider alone, so that user load cannot starve resolution.
struct DoHTransportExchange: DoHExchanging {
    private let transport: Transport

    init(trustRoots: TrustRoots) {
        var configuration = TransportConfiguration()
        configuration.trustRoots = trustRoots
        configuration.threadName = "httpdns-doh"
        transport = Transport(configuration)
    }

    func exchange(_ request: DoHRequest, with endpoint: Endpoint, deadline: MonotonicTime) async throws -> DoHReply {
        // The share of the time limit bounds every phase, so that none has a bound of its own.
        var limits = TransferLimits()
        limits.connect = nil
        limits.tls = nil
        limits.firstByte = nil
        limits.idle = nil
        limits.deadline = deadline
        limits.maximumResponseBytes = DNSWireFormat.maximumMessageOctets
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
        var reply = DoHReply(
            status: response.head.status.code,
            headerFields: response.head.headerFields,
            body: [],
            endpoint: response.endpoint
        )
        guard reply.status == 200 else { return reply }
        for try await chunk in response.body { reply.body += chunk }
        return reply
    }

    func shutdown() async {
        await transport.shutdown()
    }
}
