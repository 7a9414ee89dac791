internal import HTTPDNSCore
internal import HTTPDNSCurl
internal import HTTPDNSPrimitives

/// One client's ways to the wire by whom it believes: those for all hosts, and those of hosts that have their own.
///
/// It never changes. When a client's trust settings do, another one takes its place.
final class TrustedWays: Sendable {
    private let trust: HTTPDNSTrust
    private let trustByHost: [HTTPDNSRoute.Pattern: HTTPDNSTrust]
    private let byTrust: [HTTPDNSTrust: TrustedTransport]
    private let byHost: HostTable<TrustedTransport>
    /// That for hosts without trust settings of their own.
    let everybody: TrustedTransport

    /// - Parameter byTrust: The transports of all settings in the configuration; nil comes of one that is missing.
    init?(_ configuration: HTTPDNSClient.Configuration, _ byTrust: [HTTPDNSTrust: TrustedTransport]) {
        guard let everybody = byTrust[configuration.trust] else { return nil }
        trust = configuration.trust
        trustByHost = configuration.trustByHost
        self.byTrust = byTrust
        self.everybody = everybody
        byHost = HostTable(configuration.trustByHost.compactMapValues { byTrust[$0] })
    }

    /// What is leased for it.
    var trusts: Set<HTTPDNSTrust> { Set(byTrust.keys) }
    /// All of them, in no order.
    var transports: [TrustedTransport] { Array(byTrust.values) }

    /// The way to a host.
    subscript(host: ParsedURL.Host) -> TrustedTransport { byHost[host] ?? everybody }

    /// Somebody's requests take these ways from now on.
    func noteTaken() {
        for transport in transports { transport.noteTaken() }
    }

    /// Whether the configuration has the same.
    func isMade(of configuration: HTTPDNSClient.Configuration) -> Bool {
        trust == configuration.trust && trustByHost == configuration.trustByHost
    }
}
