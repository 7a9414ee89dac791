internal import CurlTransport
internal import HTTPDNSPrimitives

/// One client's way to the wire on a transport that others may use too: its own transfers, counted and ended apart.
///
/// It has a transport for each of its trust settings: those for all hosts, and those of hosts that have their own.
final class TenantLane: HopSending {
    private struct Leases {
        /// What is held.
        var trusts: [TrustSettings]
        /// Those whose last user this client was.
        var unused: [TrustedTransport] = []
    }

    private let transport: HTTPDNSTransport
    private let trusted: [TrustedTransport]
    private let everybody: TrustedTransport
    /// Those of hosts with trust settings of their own.
    private let byHost: HostTable<TrustedTransport>
    private let group: TransferGroup
    private let leases: Lock<Leases>

    /// - Throws: ``HTTPDNSClientError`` with code `configuration`, `limitReached` or `shutDown`.
    init(_ configuration: HTTPDNSClient.Configuration, on transport: HTTPDNSTransport) async throws(HTTPDNSClientError)
    {
        var leased: [TrustSettings: TrustedTransport] = [:]
        do throws(HTTPDNSClientError) {
            for trust in [configuration.trust] + configuration.trustByHost.values where leased[trust] == nil {
                leased[trust] = try await transport.lease(trust)
            }
        } catch {
            for trust in leased.keys { _ = transport.release(trust) }
            throw error
        }
        // Everybody's was leased first.
        guard let everybody = leased[configuration.trust] else { throw HTTPDNSClientError.transportShutDown }
        self.everybody = everybody
        byHost = HostTable(configuration.trustByHost.compactMapValues { leased[$0] })
        executor = everybody.executor
        trusted = Array(leased.values)
        leases = Lock(Leases(trusts: Array(leased.keys)))
        self.transport = transport
        group = TransferGroup(maximum: configuration.maximumRequestsInFlight)
    }

    deinit {
        _ = giveBack()
    }

    func send(_ request: consuming TransferRequest) async throws -> HopAnswer {
        let trusted = byHost[request.url.host] ?? everybody
        return HopAnswer(try await trusted.execute(consume request, in: group))
    }

    /// Where the hops of all clients of the transport wait; nil where nothing is limited.
    var sharedAdmission: Admission? { transport.admission }

    /// How many connections the transport keeps for each of its trust settings.
    var maximumIdleConnections: Int { transport.limits.idleConnections }

    /// Runs tasks on the thread of the loop for hosts without trust settings of their own.
    let executor: LoopExecutor

    /// The connections of all clients with the same trust settings: they share these.
    func retireConnections() {
        for transport in trusted { transport.retireConnections() }
    }

    func retireConnections(host: String) {
        for transport in trusted { transport.retireConnections(host: host) }
    }

    var endpointRecords: [EndpointRecord] {
        guard trusted.count > 1 else { return trusted.first?.endpointRecords ?? [] }
        return trusted.flatMap(\.endpointRecords)
            .sorted { ($0.endpoint.description, $0.host ?? "") < ($1.endpoint.description, $1.host ?? "") }
    }

    /// Those of all clients with the same trust settings: they share these.
    var connectionPools: [ConnectionPoolRecord] { trusted.flatMap(\.connectionPools).merged() }

    var transfersInFlight: Int { group.inFlight }

    func shutdown(drainingFor duration: Duration) async {
        await group.close(drainingUntil: SystemTimeSource().now() + duration)
        for transport in giveBack() { await transport.shutdown() }
    }

    /// Looks at the files of the client's trust settings now.
    func reloadCertificates() async throws(HTTPDNSClientError) {
        var first: TransferFailure?
        for transport in trusted {
            do throws(TransferFailure) {
                try await transport.reload()
            } catch {
                first = first ?? error
            }
        }
        if let first { throw HTTPDNSClientError.unusable(first) }
    }

    /// - Returns: The transports that nobody uses any more.
    private func giveBack() -> [TrustedTransport] {
        leases.withLock { leases in
            leases.unused += leases.trusts.compactMap { transport.release($0) }
            leases.trusts = []
            return leases.unused
        }
    }
}
