// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

internal import HTTPDNSCurl
internal import HTTPDNSPrimitives
public import Logging

/// A transport that many clients share: one process, a thousand tenants, few threads.
///
/// ```swift
/// let transport = HTTPDNSLibcurlTransport()
/// let first = try await HTTPDNSClient(configuration: settingsOfFirst, on: transport)
/// let second = try await HTTPDNSClient(configuration: settingsOfSecond, on: transport)
/// ```
///
/// Each client has its own resolver with cache, mappings, providers and counters, its own interceptors, limits and
/// shutdown. The clients share loop threads; clients with equal `HTTPDNSTrust` also share connections. Clients whose
/// trust settings differ in any way share no thread, no connection and no TLS session.
///
/// **Lifetime.** A loop starts with the first request of its trust settings. It ends when the last client with these
/// settings is shut down, or has changed its settings (``HTTPDNSClient/reload(_:)``) and its requests there have ended.
/// A transport whose clients are all shut down holds no resources, and needs no shutdown of its own. Clients keep their
/// transport alive. ``shutdown(drainingFor:)`` shuts all of them down.
public final class HTTPDNSLibcurlTransport: Sendable {
    /// The resource limits of a transport.
    public struct Limits: Hashable, Sendable {
        /// The maximum number of different trust settings in use, at least 1. Each has its own threads and connections.
        /// A client or a reload that would exceed it is refused with ``HTTPDNSClientError/Code/limitReached``. Settings
        /// that a reload has replaced, with transfers still in flight, do not count.
        public var trustSettings = 32
        /// The maximum number of connections kept open for later requests for each trust setting, at least 1.
        public var idleConnections = 128

        /// Creates the defaults.
        public init() {}
    }

    /// The resources that a transport uses.
    public struct Usage: Hashable, Sendable {
        /// The number of clients that are not shut down.
        public var clients: Int
        /// The number of their different trust settings, including settings that a reload has replaced while requests
        /// are in flight.
        public var trustSettings: Int
        /// The number of loops: one for each trust setting, further ones while requests keep it busy
        /// (``HTTPDNSClient/Configuration/Connections/Loops``), and those that end after a change of certificates. Each
        /// is a thread once it has been used.
        public var loops: Int

        /// Creates a usage for comparisons.
        public init(clients: Int, trustSettings: Int, loops: Int) {
            self.clients = clients
            self.trustSettings = trustSettings
            self.loops = loops
        }
    }

    /// The limits of the transport.
    public let limits: Limits
    /// The settings for making and keeping connections. They override those of its clients.
    public let connections: HTTPDNSClient.Configuration.Connections

    /// The queue in which the hops of all clients wait for a connection; nil when connections are not limited.
    let admission: Admission?

    /// The closed connections of all clients that were not exported yet.
    let closedConnections = ClosedConnections()

    private let logger: Logger?
    private let registry = Lock(TrustRegistry())

    /// Creates a transport. Nothing starts before the first request, and the first client reports invalid settings.
    /// - Parameters:
    ///   - limits: The resource limits.
    ///   - connections: The settings for making and keeping connections. Its `maximumPerHost`, `maximum` and queue are
    ///     one budget for all clients together, with one queue; each client's own settings limit that client as well.
    ///     The selection of addresses, hedging, and the reaction to a changed answer are each client's own.
    ///   - logger: The logger for changed or unusable certificates; nil means no log.
    public init(
        limits: Limits = Limits(),
        connections: HTTPDNSClient.Configuration.Connections = HTTPDNSClient.Configuration.Connections(),
        logger: Logger? = nil
    ) {
        self.limits = limits
        self.connections = connections
        admission = Admission(connections, loops: connections.loops.count)
        self.logger = logger
    }

    /// The resources in use now.
    public var usage: Usage {
        let (clients, transports) = registry.withLock { ($0.clients, $0.transports) }
        return Usage(
            clients: clients,
            trustSettings: transports.count,
            loops: transports.reduce(0) { $0 + $1.loops }
        )
    }

    /// Checks the files of all trust settings now, and returns when changed ones are in use. New requests get new
    /// connections with them; requests in flight finish on the old ones. Without this call, the first request a second
    /// later notices a change.
    /// - Throws: ``HTTPDNSClientError`` with code `configuration` for the first files that cannot be used; their
    ///   previous content stays in use. The other changed files are still loaded.
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

    /// Refuses new clients and new requests of all clients, lets requests in flight finish for `duration`, cancels the
    /// rest, and ends all threads. Each client still needs its own shutdown, for its providers. Idempotent.
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

    /// Leases the transports for one client, until ``ClientTransport`` releases them: all that its settings name, or none.
    /// - Parameter held: The transports that the client gives up for them; nil for a new client.
    /// - Throws: ``HTTPDNSClientError`` with code `configuration`, `limitReached` or `shutDown`.
    func lease(
        _ settings: HTTPDNSClient.Configuration,
        insteadOf held: TransportTable? = nil
    ) async throws(HTTPDNSClientError) -> TransportTable {
        let trusts = Set([settings.trust] + settings.trustByHost.values)
        // Making one reads its files, which may take long on a slow disk: other clients must not wait for that.
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
            for trust in [settings.trust] + settings.trustByHost.values where trust.needsTest {
                do throws(TransferFailure) {
                    try await leased[trust]?.prepare()
                } catch {
                    throw HTTPDNSClientError.unusable(error, origin: settings.trustOrigins[trust])
                }
            }
            guard let table = TransportTable(settings, leased) else { throw HTTPDNSClientError.transportShutDown }
            return table
        } catch {
            let unused = registry.withLock { $0.release(trusts, held: holding) }
            for transport in unused { await transport.shutdown() }
            throw error
        }
    }

    /// Records that a client has changed to other transports.
    func leave(_ table: TransportTable) {
        registry.withLock { $0.leave(table.trusts) }
    }

    /// Releases the transports of a client.
    /// - Returns: The transports without further users, to be shut down.
    func release(_ table: TransportTable, held holding: TrustRegistry.Holding) -> [TrustedTransport] {
        registry.withLock { $0.release(table.trusts, held: holding) }
    }

    private func configuration(_ trust: HTTPDNSTrust) -> TransportConfiguration {
        var configuration = TransportConfiguration()
        configuration.trust = trust
        configuration.maximumIdleConnections = limits.idleConnections
        configuration.attemptDelay = connections.happyEyeballsDelay
        configuration.idleLimit = connections.idleTimeout
        configuration.maximumAge = connections.maximumAge
        configuration.maximumStreams = connections.maximumStreams
        configuration.loops = connections.loops.count
        configuration.takesLoopsInTurn = connections.loops.areTakenInTurn
        configuration.unacknowledgedLimit = connections.tcpUserTimeout
        configuration.tcpKeepalive = connections.tcpKeepalive
        configuration.keepsPeerCertificates = connections.keepsPeerCertificates
        configuration.ejection = connections.ejection
        configuration.activeProbing = connections.probing
        configuration.logger = logger
        configuration.closedConnections = closedConnections
        return configuration
    }
}

extension HTTPDNSLibcurlTransport: CustomReflectable {
    /// An empty mirror: a transport holds the keys of client certificates.
    public var customMirror: Mirror { Mirror(self, children: []) }
}
