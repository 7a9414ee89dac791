// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

internal import HTTPDNSCore
internal import HTTPDNSCurl
internal import HTTPDNSPrimitives

/// The sender of one client on a transport that others may use too: its own transfers, counted and ended separately.
///
/// Its ``TransportTable`` is replaced as a whole when its trust settings change. The previous one is kept until its
/// last transfer has ended, and is then released. The last client to release them ends their loops.
final class ClientTransport: HopSending {
    private struct State {
        var table: TransportTable
        /// The number of the transfers that begin now.
        var transportSet = 0
        /// The replaced transports of older transport sets with transfers in flight.
        var leaving: [Int: TransportTable] = [:]
        var isClosed = false
        var isGivenBack = false
        /// The transports whose last user this client was, until they have ended.
        var unused: [TrustedTransport] = []
    }

    private let transport: HTTPDNSLibcurlTransport
    private let group: TransferGroup
    private let state: Lock<State>

    /// - Throws: ``HTTPDNSClientError`` with code `configuration`, `limitReached` or `shutDown`.
    init(_ configuration: HTTPDNSClient.Configuration, on transport: HTTPDNSLibcurlTransport)
        async throws(HTTPDNSClientError)
    {
        let table = try await transport.lease(configuration)
        state = Lock(State(table: table))
        self.transport = transport
        group = TransferGroup(maximum: configuration.maximumRequestsInFlight)
    }

    deinit {
        giveBack()
    }

    func send(_ request: consuming TransferRequest, unless isStale: () -> Bool) async throws -> HopAnswer? {
        while true {
            let (table, transportSet) = state.withLock { ($0.table, $0.transportSet) }
            if isStale() { return nil }
            let trusted = table[request.url.host]
            // Its authorities are those of the general settings, whatever the host's are.
            if request.egressPath?.proxy?.kind == .https { try await request.trustProxy(as: table.everybody) }
            do {
                let response = try await trusted.execute(consume request, in: group, transportSet: transportSet)
                return HopAnswer(response.facts, .transfer(response.body))
            } catch let superseded as TransferGroup.StaleTransportSet {
                // The settings were replaced after they were looked up.
                request = superseded.request
            }
        }
    }

    /// Records that a client has begun with its trust settings.
    func noteTaken() { state.withLock { $0.table }.noteTaken() }

    /// The queue in which the hops of all clients of the transport wait; nil when connections are not limited.
    var sharedAdmission: Admission? { transport.admission }

    /// The maximum number of loops for each of the transport's trust settings.
    var loops: Int { transport.connections.loops.count }

    /// The number of connections that the transport keeps for each of its trust settings.
    var maximumIdleConnections: Int { transport.limits.idleConnections }

    /// Retires the connections of all clients with the same trust settings, because they are shared.
    func retireConnections() {
        for transport in transports { transport.retireConnections() }
    }

    func retireConnections(host: String) {
        for transport in transports { transport.retireConnections(host: host) }
    }

    /// The records for the trust settings in use; records for other settings do not apply to these.
    var endpointRecords: [HTTPDNSClient.EndpointRecord] {
        let transports = state.withLock { $0.table.transports }
        guard transports.count > 1 else { return transports.first?.endpointRecords ?? [] }
        return transports.flatMap(\.endpointRecords)
            .sorted { ($0.endpoint.description, $0.host ?? "") < ($1.endpoint.description, $1.host ?? "") }
    }

    /// The pools of all clients with the same trust settings, because they are shared.
    var connectionPools: [HTTPDNSClient.ConnectionPool] { transports.flatMap(\.connectionPools).merged() }

    /// The closed connections of all clients of the transport.
    var closedConnections: ClosedConnections { transport.closedConnections }

    var transfersInFlight: Int { group.inFlight }

    /// The transports in use, and those on which transfers in flight began.
    private var transports: [TrustedTransport] {
        let tables = state.withLock { [$0.table] + $0.leaving.values }
        guard tables.count > 1 else { return tables.flatMap(\.transports) }
        var seen: Set<ObjectIdentifier> = []
        return tables.flatMap(\.transports).filter { seen.insert(ObjectIdentifier($0)).inserted }
    }

    func shutdown(drainingFor duration: Duration) async {
        state.withLock { $0.isClosed = true }
        await group.close(drainingUntil: SystemTimeSource().now() + duration)
        giveBack()
        for transport in state.withLock({ $0.unused }) { await transport.shutdown() }
    }

    /// Checks the files of the client's trust settings now.
    func reloadCertificates() async throws(HTTPDNSClientError) {
        var first: TransferFailure?
        for transport in state.withLock({ $0.table.transports }) {
            do throws(TransferFailure) {
                try await transport.reload()
            } catch {
                first = first ?? error
            }
        }
        if let first { throw HTTPDNSClientError.unusable(first) }
    }

    // MARK: other trust settings

    /// Prepares other trust settings: their files are read and checked, and nothing changes yet. Pass the result to
    /// ``exchange(_:)`` or to ``abandon(_:)``.
    /// - Returns: The transports of these settings; nil when they are already in use.
    /// - Throws: ``HTTPDNSClientError`` with code `configuration`, `limitReached` or `shutDown`.
    func prepare(_ configuration: HTTPDNSClient.Configuration) async throws(HTTPDNSClientError) -> TransportTable? {
        let table = state.withLock { $0.table }
        if table.isMade(of: configuration) { return nil }
        return try await transport.lease(configuration, insteadOf: table)
    }

    /// Makes all transfers that begin from now on use these transports. Transfers in flight finish on theirs; then
    /// loops without further users end.
    /// - Returns: Whether they are in use; false after the shutdown.
    func exchange(_ table: TransportTable) -> Bool {
        let old = state.withLock { state -> (table: TransportTable, transportSet: Int)? in
            if state.isClosed { return nil }
            let old = (state.table, state.transportSet)
            state.leaving[old.1] = old.0
            state.table = table
            // Under this lock, so that a transfer refused as one of an older transport set finds the newer transports.
            state.transportSet = group.advance()
            // Also under this lock: a shutdown must release what has been left, and not what is about to be.
            transport.leave(old.0)
            return old
        }
        guard let old else { return false }
        table.noteTaken()
        Task { [weak self, group] in
            await group.awaitEnd(of: old.transportSet)
            await self?.end(transportSet: old.transportSet)
        }
        return true
    }

    /// Releases transports that were prepared.
    func abandon(_ table: TransportTable) async {
        for transport in transport.release(table, held: .candidate) { await transport.shutdown() }
    }

    private func end(transportSet: Int) async {
        // Trust settings have closures of the caller: the table is released after the lock.
        let (unused, _) = state.withLock { state -> ([TrustedTransport], TransportTable?) in
            guard let table = state.leaving.removeValue(forKey: transportSet) else { return ([], nil) }
            let unused = transport.release(table, held: .leaving)
            state.unused += unused
            return (unused, table)
        }
        for transport in unused { await transport.shutdown() }
        state.withLock { state in state.unused.removeAll { transport in unused.contains { $0 === transport } } }
    }

    /// Releases all transports.
    private func giveBack() {
        state.change { state in
            if state.isGivenBack { return }
            state.isGivenBack = true
            state.unused += transport.release(state.table, held: .inUse)
            for table in state.leaving.values { state.unused += transport.release(table, held: .leaving) }
            state.leaving = [:]
        }
    }
}

/// The transports of one client by trust settings: those for all hosts, and those of hosts with their own.
///
/// It never changes. When a client's trust settings change, another one replaces it.
final class TransportTable: Sendable {
    private let trust: HTTPDNSTrust
    private let trustByHost: [HTTPDNSRoute.Pattern: HTTPDNSTrust]
    private let byTrust: [HTTPDNSTrust: TrustedTransport]
    private let byHost: HostTable<TrustedTransport>
    /// The transport for hosts without trust settings of their own.
    let everybody: TrustedTransport

    /// - Parameter byTrust: The transports of all settings in the configuration; nil is returned if one is missing.
    init?(_ configuration: HTTPDNSClient.Configuration, _ byTrust: [HTTPDNSTrust: TrustedTransport]) {
        guard let everybody = byTrust[configuration.trust] else { return nil }
        trust = configuration.trust
        trustByHost = configuration.trustByHost
        self.byTrust = byTrust
        self.everybody = everybody
        byHost = HostTable(configuration.trustByHost.compactMapValues { byTrust[$0] })
    }

    /// The trust settings that are leased for it.
    var trusts: Set<HTTPDNSTrust> { Set(byTrust.keys) }
    /// All transports, in no order.
    var transports: [TrustedTransport] { Array(byTrust.values) }

    /// Returns the transport for a host.
    subscript(host: ParsedURL.Host) -> TrustedTransport { byHost[host] ?? everybody }

    /// Records that a client's requests use these transports from now on.
    func noteTaken() {
        for transport in transports { transport.noteTaken() }
    }

    /// Whether the configuration has the same trust settings.
    func isMade(of configuration: HTTPDNSClient.Configuration) -> Bool {
        trust == configuration.trust && trustByHost == configuration.trustByHost
    }
}
