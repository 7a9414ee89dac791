internal import HTTPDNSCurl
internal import HTTPDNSPrimitives

/// One client's way to the wire on a transport that others may use too: its own transfers, counted and ended apart.
///
/// Its ``TrustedWays`` are replaced as a whole when its trust settings change. Those before are kept until the last transfer
/// that began there has ended, and only then given back: whoever gives back last ends their loops.
final class TenantLane: HopSending {
    private struct State {
        var ways: TrustedWays
        /// Of the transfers that begin now.
        var cohort = 0
        /// The ways of older cohorts that have transfers in flight.
        var leaving: [Int: TrustedWays] = [:]
        var isClosed = false
        var isGivenBack = false
        /// Those whose last user this client was, until they have ended.
        var unused: [TrustedTransport] = []
    }

    private let transport: HTTPDNSTransport
    private let group: TransferGroup
    private let state: Lock<State>

    /// - Throws: ``HTTPDNSClientError`` with code `configuration`, `limitReached` or `shutDown`.
    init(_ configuration: HTTPDNSClient.Configuration, on transport: HTTPDNSTransport) async throws(HTTPDNSClientError)
    {
        let ways = try await transport.lease(configuration)
        state = Lock(State(ways: ways))
        executor = LoopExecutor(following: ways.everybody.executor)
        self.transport = transport
        group = TransferGroup(maximum: configuration.maximumRequestsInFlight)
    }

    deinit {
        giveBack()
    }

    func send(_ request: consuming TransferRequest, unless isStale: () -> Bool) async throws -> HopAnswer {
        while true {
            let (ways, cohort) = state.withLock { ($0.ways, $0.cohort) }
            if isStale() { throw StaleSettings() }
            let way = ways[request.url.host]
            do {
                return HopAnswer(try await way.execute(consume request, in: group, cohort: cohort))
            } catch let superseded as TransferGroup.Superseded {
                // The settings were exchanged after they were looked up.
                request = superseded.request
            }
        }
    }

    /// A client has begun, and goes by its trust settings.
    func noteTaken() { state.withLock { $0.ways }.noteTaken() }

    /// Where the hops of all clients of the transport wait; nil where nothing is limited.
    var sharedAdmission: Admission? { transport.admission }

    /// How many connections the transport keeps for each of its trust settings.
    var maximumIdleConnections: Int { transport.limits.idleConnections }

    /// Runs tasks on the thread of the loop for hosts without trust settings of their own, whichever that is at the time.
    let executor: LoopExecutor

    /// The connections of all clients with the same trust settings: they share these.
    func retireConnections() {
        for transport in transports { transport.retireConnections() }
    }

    func retireConnections(host: String) {
        for transport in transports { transport.retireConnections(host: host) }
    }

    /// With the trust settings in use: what was found out with others says nothing about these.
    var endpointRecords: [HTTPDNSClient.EndpointRecord] {
        let transports = state.withLock { $0.ways.transports }
        guard transports.count > 1 else { return transports.first?.endpointRecords ?? [] }
        return transports.flatMap(\.endpointRecords)
            .sorted { ($0.endpoint.description, $0.host ?? "") < ($1.endpoint.description, $1.host ?? "") }
    }

    /// Those of all clients with the same trust settings: they share these.
    var connectionPools: [HTTPDNSClient.ConnectionPool] { transports.flatMap(\.connectionPools).merged() }

    var transfersInFlight: Int { group.inFlight }

    /// Those in use, and those that transfers in flight began on.
    private var transports: [TrustedTransport] {
        let ways = state.withLock { [$0.ways] + $0.leaving.values }
        guard ways.count > 1 else { return ways.flatMap(\.transports) }
        var seen: Set<ObjectIdentifier> = []
        return ways.flatMap(\.transports).filter { seen.insert(ObjectIdentifier($0)).inserted }
    }

    func shutdown(drainingFor duration: Duration) async {
        state.withLock { $0.isClosed = true }
        await group.close(drainingUntil: SystemTimeSource().now() + duration)
        giveBack()
        for transport in state.withLock({ $0.unused }) { await transport.shutdown() }
    }

    /// Looks at the files of the client's trust settings now.
    func reloadCertificates() async throws(HTTPDNSClientError) {
        var first: TransferFailure?
        for transport in state.withLock({ $0.ways.transports }) {
            do throws(TransferFailure) {
                try await transport.reload()
            } catch {
                first = first ?? error
            }
        }
        if let first { throw HTTPDNSClientError.unusable(first) }
    }

    // MARK: other trust settings

    /// Gets ready for other trust settings: their files are read and tried, and nothing has changed yet. What it returns goes
    /// to ``exchange(_:)`` or to ``abandon(_:)``.
    /// - Returns: The ways of these settings; nil when they are those in use.
    /// - Throws: ``HTTPDNSClientError`` with code `configuration`, `limitReached` or `shutDown`.
    func prepare(_ configuration: HTTPDNSClient.Configuration) async throws(HTTPDNSClientError) -> TrustedWays? {
        let ways = state.withLock { $0.ways }
        if ways.isMade(of: configuration) { return nil }
        return try await transport.lease(configuration, insteadOf: ways)
    }

    /// Lets all transfers that begin from now on take these ways. Those in flight end where they are, and so do loops that
    /// nobody else uses.
    /// - Returns: Whether they are in use; not after the shutdown.
    func exchange(_ ways: TrustedWays) -> Bool {
        let old = state.withLock { state -> (ways: TrustedWays, cohort: Int)? in
            if state.isClosed { return nil }
            let old = (state.ways, state.cohort)
            state.leaving[old.1] = old.0
            state.ways = ways
            // Under this lock, so that whoever is refused as one of an older cohort finds the newer ways.
            state.cohort = group.advance()
            // So are these: a shutdown gives back what has been left, and not what is about to be.
            transport.leave(old.0)
            executor.follow(ways.everybody.executor)
            return old
        }
        guard let old else { return false }
        ways.noteTaken()
        Task { [weak self, group] in
            await group.awaitEnd(ofCohort: old.cohort)
            await self?.end(cohort: old.cohort)
        }
        return true
    }

    /// Gives back what was prepared.
    func abandon(_ ways: TrustedWays) async {
        for transport in transport.release(ways, held: .candidate) { await transport.shutdown() }
    }

    private func end(cohort: Int) async {
        let unused = state.withLock { state -> [TrustedTransport] in
            guard let ways = state.leaving.removeValue(forKey: cohort) else { return [] }
            let unused = transport.release(ways, held: .leaving)
            state.unused += unused
            return unused
        }
        for transport in unused { await transport.shutdown() }
        state.withLock { state in state.unused.removeAll { transport in unused.contains { $0 === transport } } }
    }

    /// Gives everything back.
    private func giveBack() {
        state.withLock { state in
            if state.isGivenBack { return }
            state.isGivenBack = true
            state.unused += transport.release(state.ways, held: .inUse)
            for ways in state.leaving.values { state.unused += transport.release(ways, held: .leaving) }
            state.leaving = [:]
        }
    }
}
