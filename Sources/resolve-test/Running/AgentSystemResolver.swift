// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

#if CommandLine && NIO && YAML
internal import HTTPDNS
internal import HTTPDNSConfiguration
internal import HTTPDNSCore
internal import HTTPDNSPrimitives

/// The system resolver of an agent. For names that the agent decides about, getaddrinfo(3) would ask the agent: they are asked of
/// the machine's name servers. For all others the machine's own order applies, with its hosts file.
final class AgentSystemResolver: SystemResolving {
    private let nameServers: NameServerResolver
    private let machine: SystemResolver
    /// The agent's resolver, once it is there.
    private let resolver = Lock<HTTPDNSResolver?>(nil)

    /// - Parameter dns: The agent's own name server, which is not asked.
    init(_ dns: AgentSettings.NameServer?, threads: Int) throws(HTTPDNSProviderConfigurationError) {
        nameServers = try NameServerResolver(
            dns?.forward ?? .file("/etc/resolv.conf"),
            excluding: dns?.listen ?? []
        )
        machine = SystemResolver(threads: threads)
    }

    func serve(_ resolver: HTTPDNSResolver) { self.resolver.withLock { $0 = resolver } }

    func resolve(
        _ host: HTTPDNSName,
        families: HTTPDNSAddress.Families,
        timeLimit: Duration
    ) async throws(SystemResolverError) -> [HTTPDNSAddress] {
        // With the switch off the machine's own order applies to all names.
        if let resolver = resolver.withLock({ $0 }), resolver.switchEntry(for: host) == nil,
            case .providers? = resolver.route(for: host)?.action
        {
            return try await nameServers.resolve(host, families: families, timeLimit: timeLimit)
        }
        return try await machine.resolve(host, families: families, timeLimit: timeLimit)
    }
}
#endif
