internal import HTTPDNSCurl
internal import HTTPDNSPrimitives
internal import HTTPTypes

/// The exchange over a ``Transport`` that serves one provider alone, so that user load cannot starve resolution.
struct ServiceTransportExchange: ServiceExchanging {
    private let transport: Transport
    private let maximumBodyOctets: Int
    private let readsRefusals: Bool

    /// - Parameters:
    ///   - trustRoots: The authorities that the service's certificate must end at.
    ///   - threadName: The name of the transport's thread, at most 15 octets (pthread_setname_np(3)).
    ///   - maximumBodyOctets: The longest body that an answer may have, after decoding.
    ///   - readsRefusals: Whether bodies are read at other statuses than 200 too: those in which vendors name their errors.
    init(trustRoots: HTTPDNSTrust.Roots, threadName: String, maximumBodyOctets: Int, readsRefusals: Bool = false) {
        var configuration = TransportConfiguration()
        configuration.trustRoots = trustRoots
        configuration.threadName = threadName
        transport = Transport(configuration)
        self.maximumBodyOctets = maximumBodyOctets
        self.readsRefusals = readsRefusals
    }

    func exchange(_ request: ServiceRequest, with endpoint: HTTPDNSEndpoint, deadline: MonotonicTime) async throws
        -> ServiceReply
    {
        // The share of the time limit bounds every phase, so that none has a bound of its own.
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
        var reply = ServiceReply(
            status: response.head.status.code,
            headerFields: response.head.headerFields,
            body: [],
            endpoint: response.endpoint
        )
        guard reply.status == 200 else {
            guard readsRefusals else { return reply }
            do {
                for try await chunk in response.body { reply.body += chunk }
            } catch is TransferFailure {
                // The status says enough, and is worth more than a page that is too long or breaks off.
                reply.body = []
            }
            return reply
        }
        for try await chunk in response.body { reply.body += chunk }
        return reply
    }

    func shutdown() async {
        await transport.shutdown()
    }
}
