package import HTTPDNSCurl
internal import HTTPDNSPrimitives
public import Logging

/// A way to the wire that many clients share: one process, a thousand tenants, few threads.
///
/// ```swift
/// let transport = HTTPDNSTransport()
/// let first = try await HTTPDNSClient(configuration: settingsOfFirst, on: transport)
/// let second = try await HTTPDNSClient(configuration: settingsOfSecond, on: transport)
/// ```
///
/// Each client has its own resolver with cache, mappings, providers and counters, its own interceptors, limits and end.
/// Shared are loop threads, and by clients with equal `HTTPDNSTrust` connections. Clients whose trust settings differ in
/// anything share no thread, no connection and no TLS session.
///
/// **Life.** A loop starts with the first request of its trust settings, and ends when the last client with these is shut
/// down, or has taken others (``HTTPDNSClient/reload(_:)``) and ended its requests there. A transport whose clients are all
/// shut down holds nothing, and needs no shutdown of its own. Clients keep their transport alive. ``shutdown(drainingFor:)``
/// ends all of them at once.
public final class HTTPDNSTransport: Sendable {
    /// What a transport may take at most.
    public struct Limits: Hashable, Sendable {
        /// How many different trust settings may be in use at once, at least 1. Each has a thread and connections of its own;
        /// a client with one more, or a reload that brings one, is refused with ``HTTPDNSClientError/Code/limitReached``.
        /// Settings that a reload has replaced, and that transfers in flight still end on, are not counted.
        public var trustSettings = 32
        /// How many connections are kept open for later requests, for each of these, at least 1.
        public var idleConnections = 128

        /// Creates the defaults.
        public init() {}
    }

    /// What a transport has in use.
    public struct Usage: Hashable, Sendable {
        /// Clients that are not shut down.
        public var clients: Int
        /// Different trust settings among these, and those before a reload that requests in flight end on.
        public var trustSettings: Int
        /// Loops, each a thread once it was used: one for each trust settings, and those that end after a change of
        /// certificates.
        public var loops: Int

        /// Creates a usage, to compare with.
        public init(clients: Int, trustSettings: Int, loops: Int) {
            self.clients = clients
            self.trustSettings = trustSettings
            self.loops = loops
        }
    }

    /// The limits given at the beginning.
    public let limits: Limits
    /// How connections are made and kept, whatever the settings of its clients say about that.
    public let connections: HTTPDNSClient.Configuration.Connections

    /// Where the hops of all clients wait for a connection; nil where nothing is limited.
    let admission: Admission?

    private let logger: Logger?
    private let driver: TransportConfiguration.Driver
    private let registry = Lock(TrustRegistry())

    /// Creates a transport. Nothing is started before the first request, and settings that make no sense are told by the
    /// first client.
    /// - Parameters:
    ///   - limits: What it may take at most.
    ///   - connections: How connections are made and kept. Its `perHost`, `total` and queue are one budget for all clients
    ///     together, with one queue; each client's own settings bound that client besides. Which address comes first, after
    ///     how long a request is sent once more, and what happens when a provider's answer changes, are each client's own.
    ///   - logger: Where it says that certificates changed, or cannot be used; nil means nowhere.
    public convenience init(
        limits: Limits = Limits(),
        connections: HTTPDNSClient.Configuration.Connections = HTTPDNSClient.Configuration.Connections(),
        logger: Logger? = nil
    ) {
        self.init(limits: limits, connections: connections, logger: logger, driver: .platformDefault)
    }

    package init(
        limits: Limits,
        connections: HTTPDNSClient.Configuration.Connections,
        logger: Logger?,
        driver: TransportConfiguration.Driver
    ) {
        self.limits = limits
        self.connections = connections
        admission = Admission(connections)
        self.logger = logger
        self.driver = driver
    }

    /// What is in use now.
    public var usage: Usage {
        let (clients, transports) = registry.withLock { ($0.clients, $0.transports) }
        return Usage(
            clients: clients,
            trustSettings: transports.count,
            loops: transports.reduce(0) { $0 + $1.loops }
        )
    }

    /// Looks at the files of all trust settings now, and returns when changed ones are in use: new requests get new
    /// connections with them, requests in flight end on the old ones. Without this call a change is seen by the first request
    /// a second later.
    /// - Throws: ``HTTPDNSClientError`` with code `configuration` for the first files that cannot be used; what was in use
    ///   before stays so. The others are taken into use all the same.
    public func reloadCertificates() async throws {
        var first: TransferFailure?
        for transport in registry.withLock({ $0.transports }) {
            do throws(TransferFailure) {
                try await transport.reload()
            } catch {
                first = first ?? error
            }
        }
        if let first { throw HTTPDNSClientError.unusable(first) }
    }

    /// Refuses new clients and new requests of all clients, lets what is in flight end for `duration`, cuts the rest, and
    /// ends all threads. The clients stay to be shut down, for their providers. Idempotent.
    public func shutdown(drainingFor duration: Duration = .zero) async {
        let transports = registry.withLock { $0.close() }
        await withTaskGroup(of: Void.self) { tasks in
            for transport in transports { tasks.addTask { await transport.shutdown(drainingFor: duration) } }
        }
    }

    // MARK: leases

    /// - Throws: ``HTTPDNSClientError`` with code `configuration`.
    func validate() throws(HTTPDNSClientError) {
        do {
            try connections.validate()
        } catch {
            throw .configuration("the transport's \(error.message)", hint: error.hint)
        }
    }

    /// The ways for one client, until ``TenantLane`` gives them back: all that its settings name, or none.
    /// - Parameter held: What the client gives up for them; nil: it is a new client.
    /// - Throws: ``HTTPDNSClientError`` with code `configuration`, `limitReached` or `shutDown`.
    func lease(
        _ settings: HTTPDNSClient.Configuration,
        insteadOf held: TrustedWays? = nil
    ) async throws(HTTPDNSClientError) -> TrustedWays {
        let trusts = Set([settings.trust] + settings.trustByHost.values)
        // Making one looks at its files, which may take as long as their disk likes: nobody else is to wait for that.
        let offer = Dictionary(uniqueKeysWithValues: trusts.map { ($0, TrustedTransport(configuration($0))) })
        let lease = registry.withLock { $0.lease(offer, insteadOf: held?.trusts, maximum: limits.trustSettings) }
        let leased: [HTTPDNSTrust: TrustedTransport]
        switch lease {
        case .granted(let transports): leased = transports
        case .tooMany: throw HTTPDNSClientError.tooManyTrustSettings(limits.trustSettings)
        case .closed: throw HTTPDNSClientError.transportShutDown
        }
        let holding: TrustRegistry.Holding = held == nil ? .inUse : .candidate
        do throws(HTTPDNSClientError) {
            for trust in [settings.trust] + settings.trustByHost.values where trust.namesFiles {
                do throws(TransferFailure) {
                    try await leased[trust]?.prepare()
                } catch {
                    throw HTTPDNSClientError.unusable(error, origin: settings.trustOrigins[trust])
                }
            }
            guard let ways = TrustedWays(settings, leased) else { throw HTTPDNSClientError.transportShutDown }
            return ways
        } catch {
            let unused = registry.withLock { $0.release(trusts, held: holding) }
            for transport in unused { await transport.shutdown() }
            throw error
        }
    }

    /// A client has taken other ways.
    func leave(_ ways: TrustedWays) {
        registry.withLock { $0.leave(ways.trusts) }
    }

    /// A client gives ways back.
    /// - Returns: The transports, to be ended, whose last user it was.
    func release(_ ways: TrustedWays, held holding: TrustRegistry.Holding) -> [TrustedTransport] {
        registry.withLock { $0.release(ways.trusts, held: holding) }
    }

    private func configuration(_ trust: HTTPDNSTrust) -> TransportConfiguration {
        var configuration = TransportConfiguration()
        configuration.trust = trust
        configuration.driver = driver
        configuration.maximumIdleConnections = limits.idleConnections
        configuration.attemptDelay = connections.attemptDelay
        configuration.idleLimit = connections.idle
        configuration.maximumAge = connections.maximumAge
        configuration.maximumStreams = connections.maximumStreams
        configuration.unacknowledgedLimit = connections.unacknowledged
        configuration.keepsPeerCertificates = connections.keepsPeerCertificates
        configuration.ejection = connections.ejection
        configuration.activeProbing = connections.activeProbing
        configuration.logger = logger
        return configuration
    }
}
