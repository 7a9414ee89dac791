internal import HTTPDNSCore
internal import HTTPDNSCurl
internal import HTTPDNSPrimitives

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
