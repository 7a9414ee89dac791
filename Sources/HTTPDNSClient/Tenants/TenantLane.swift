internal import CurlTransport
internal import HTTPDNSPrimitives

/// One client's way to the wire on a transport that others may use too: its own transfers, counted and ended apart.
final class TenantLane: HopSending {
    private enum Lease {
        case held
        /// Others go on with the transport.
        case givenBack
        case wasLast
    }

    private let transport: HTTPDNSTransport
    private let trust: TrustSettings
    private let trusted: TrustedTransport
    private let group: TransferGroup
    private let lease = Lock(Lease.held)

    /// - Throws: ``HTTPDNSClientError`` with code `configuration`, `limitReached` or `shutDown`.
    init(_ configuration: HTTPDNSClient.Configuration, on transport: HTTPDNSTransport) async throws(HTTPDNSClientError)
    {
        trusted = try await transport.lease(configuration.trust)
        trust = configuration.trust
        self.transport = transport
        group = TransferGroup(maximum: configuration.maximumRequestsInFlight)
    }

    deinit {
        _ = giveBack()
    }

    func send(_ request: consuming TransferRequest) async throws -> HopAnswer {
        HopAnswer(try await trusted.execute(request, in: group))
    }

    /// The connections of all clients with the same trust settings: they share these.
    func retireConnections() { trusted.retireConnections() }

    func retireConnections(host: String) { trusted.retireConnections(host: host) }

    var endpointRecords: [EndpointRecord] { trusted.endpointRecords }

    /// Those of all clients with the same trust settings: they share these.
    var connectionPools: [ConnectionPoolRecord] { trusted.connectionPools }

    var transfersInFlight: Int { group.inFlight }

    func shutdown(drainingFor duration: Duration) async {
        await group.close(drainingUntil: SystemTimeSource().now() + duration)
        if giveBack() { await trusted.shutdown() }
    }

    /// Looks at the files of the client's trust settings now.
    func reloadCertificates() async throws(HTTPDNSClientError) {
        do throws(TransferFailure) {
            try await trusted.reload()
        } catch {
            throw HTTPDNSClientError.unusable(error)
        }
    }

    /// - Returns: Whether nobody uses the transport any more.
    private func giveBack() -> Bool {
        lease.withLock { lease in
            if case .held = lease { lease = transport.release(trust) == nil ? .givenBack : .wasLast }
            if case .wasLast = lease { return true }
            return false
        }
    }
}
