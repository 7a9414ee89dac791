// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

internal import HTTPDNSCore
internal import HTTPDNSCurl
internal import HTTPDNSPrimitives
internal import Synchronization

/// The memory of a client about hosts, for choosing between the given addresses, the system's, and the last one used.
final class ConnectionChoice: Sendable {
    private let counted = Lock(HTTPDNSClient.ConnectionCounters())
    private let time: any TimeSource
    private let breaker = Lock(FallbackBreaker())
    /// Whether any host has fallen back. This is rare, and otherwise no request pays for the check.
    private let hasFallenBack = Atomic(false)
    private let hold: Lock<AddressHold>
    private let holds: Bool

    init(_ settings: HTTPDNSClient.Configuration.Connections, time: any TimeSource) {
        self.time = time
        // Settings that spread requests over addresses follow the newest answer.
        holds = settings.addressStickiness > .zero && [.automatic, .given].contains(settings.selection)
        hold = Lock(
            AddressHold(limit: settings.addressStickiness, sendsOneAhead: settings.onAddressChange == .warmThenMove)
        )
    }

    // MARK: falling back

    /// Whether requests take the given addresses: no host has fallen back.
    var isGiven: Bool { !hasFallenBack.load(ordering: .relaxed) }

    func path(for rewritten: HTTPDNSRewriter.RewrittenRequest) -> FallbackBreaker.Path {
        guard !isGiven, rewritten.mayFallBack else { return .given }
        let now = time.now()
        return breaker.withLock { $0.path(for: HopOrigin(rewritten), at: now) }
    }

    func noteSystemFallback(_ rewritten: HTTPDNSRewriter.RewrittenRequest) {
        let now = time.now()
        breaker.withLock { $0.recordSystemFallback(HopOrigin(rewritten), at: now) }
        hasFallenBack.store(true, ordering: .relaxed)
    }

    func noteTrialSaidNothing(_ rewritten: HTTPDNSRewriter.RewrittenRequest) {
        breaker.withLock { $0.trialSaidNothing(HopOrigin(rewritten)) }
    }

    /// Forgets that a host has fallen back: its given addresses worked, or those of the system failed.
    func forget(_ rewritten: HTTPDNSRewriter.RewrittenRequest) {
        breaker.withLock { breaker in
            breaker.forget(HopOrigin(rewritten))
            // Under the lock, so that it cannot cross a fallback that has just been noted.
            if breaker.count == 0 { hasFallenBack.store(false, ordering: .relaxed) }
        }
    }

    // MARK: staying

    /// The decision before a request is sent, which its response is recorded with.
    struct Stay {
        /// The address that the request stays on.
        var endpoint: HTTPDNSEndpoint?
        fileprivate let provenance: AnswerProvenance
        fileprivate let epoch: UInt64
    }

    /// Returns the decision for a request; nil when requests never stay, or when its answers cannot be compared.
    func stay(of rewritten: HTTPDNSRewriter.RewrittenRequest, among endpoints: [HTTPDNSEndpoint]) -> Stay? {
        guard holds, !rewritten.isUnresolved, let provenance = AnswerProvenance(rewritten.resolution) else {
            return nil
        }
        let now = time.coarseNow()
        return hold.withLock { hold in
            let endpoint = hold.heldEndpoint(for: HopOrigin(rewritten), among: endpoints, provenance, at: now)
            return Stay(endpoint: endpoint, provenance: provenance, epoch: hold.epoch)
        }
    }

    /// - Parameter held: The address of `stay`, if the request was sent there.
    func noteAnswer(
        from endpoint: HTTPDNSEndpoint,
        status: Int,
        held: HTTPDNSEndpoint?,
        to rewritten: HTTPDNSRewriter.RewrittenRequest,
        _ stay: Stay
    ) {
        let now = time.coarseNow()
        hold.withLock { hold in
            hold.answered(
                by: endpoint,
                status: status,
                held: held,
                for: HopOrigin(rewritten),
                stay.provenance,
                at: now,
                since: stay.epoch
            )
        }
    }

    /// Forgets where requests stay, also for responses that are still in flight. Call it when the previous connections
    /// are no longer used, and not earlier: a request that begins in between may use one of them.
    func forgetHeld() {
        hold.withLock { $0.forgetAll() }
    }

    // MARK: counting

    func count(_ event: WritableKeyPath<HTTPDNSClient.ConnectionCounters, Int>) {
        counted.withLock { $0[keyPath: event] += 1 }
    }

    var counters: HTTPDNSClient.ConnectionCounters {
        var counters = counted.withLock { $0 }
        counters.fallenBackHosts = breaker.withLock { $0.count }
        return counters
    }
}

extension HTTPDNSRewriter.RewrittenRequest {
    /// Whether the system resolver may be used when the addresses refuse connections: only for those of a provider
    /// whose route falls back to it. A mapping and a request's own addresses are explicit decisions.
    var mayFallBack: Bool {
        guard source == .provider, !content.resolution.isMapped else { return false }
        guard let route = content.resolution.route, case .providers(_, let fallback) = route.action else {
            return false
        }
        return route.connectFallback ?? (fallback == .system)
    }
}

extension HTTPDNSClient {
    /// Counters of requests that went elsewhere than to the first address they were given, since the client was made.
    public struct ConnectionCounters: Hashable, Sendable {
        /// The requests that were sent to an address of the system resolver after no address of a provider accepted a
        /// connection.
        public var fallbacks = 0
        /// The requests for which the system resolver's addresses did not accept a connection either.
        public var fallbacksFailed = 0
        /// The requests that took the system path immediately, because the breaker of their host was open: an earlier one
        /// had to fall back.
        public var fallbacksShortCircuited = 0
        /// The requests that stayed on a warm address that the newest answer no longer contains.
        public var keptPreviousAddress = 0
        /// The hosts that take the system path at present.
        public var fallenBackHosts = 0
    }
}

/// The order in which the transport tries the addresses of a resolution, as far as the client's setting applies.
struct AddressOrder: Sendable {
    private let selection: HTTPDNSClient.Configuration.Connections.Selection
    private let adaptive: EndpointOrder

    init(_ settings: HTTPDNSClient.Configuration.Connections) {
        selection = settings.selection
        adaptive = .adaptive(first: settings.firstFamily)
    }

    func order(of resolution: borrowing HTTPDNSResolver.Resolution) -> EndpointOrder {
        if selection == .automatic { return resolution.isOrdered ? .given : adaptive }
        if resolution.isChosen { return .given }
        return switch selection {
        case .roundRobin: .roundRobin
        case .random: .random
        case .fastest: .fastest
        default: .given
        }
    }
}

/// The host and port of a hop.
struct HopOrigin: Hashable, Sendable {
    var host: HTTPDNSHost
    var port: UInt16

    init(host: HTTPDNSHost, port: UInt16) {
        self.host = host
        self.port = port
    }

    init(_ rewritten: HTTPDNSRewriter.RewrittenRequest) {
        self.init(host: rewritten.content.url.host, port: rewritten.content.url.port)
    }
}
