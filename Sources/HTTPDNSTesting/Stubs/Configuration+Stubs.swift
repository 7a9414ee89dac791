// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

public import HTTPDNS
internal import HTTPDNSCore
internal import HTTPDNSPrimitives

extension HTTPDNSClient.Configuration {
    /// Returns the settings of a client for tests, which is answered by stubs and reaches no server that these do not allow.
    ///
    /// It has no providers and no mappings. The system resolver is asked only for the hosts of requests that the stubs have let
    /// through: to an allowed host, by ``HTTPDNSStubs/Unmatched/pass`` or ``HTTPDNSStubs/Unmatched/warn``, or by an answer that
    /// sends. Everything else about the client can be changed in the result. The variable `HTTPDNS_DISABLED` is not read.
    public static func stubbed(_ stubs: HTTPDNSStubs) -> HTTPDNSClient.Configuration {
        var configuration = HTTPDNSClient.Configuration()
        configuration.environment = { _ in nil }
        configuration.systemResolver = PassedHostsResolver(
            hosts: stubs.passed,
            base: SystemResolver(threads: configuration.resolver.systemThreads)
        )
        configuration.use(stubs)
        return configuration
    }

    /// Lets stubs answer the requests of clients with these settings. They are inside all network interceptors, once per hop.
    ///
    /// Nothing else changes: requests that no stub answers, and that the stubs let through, are resolved and sent as without
    /// them. It replaces an earlier set, and an earlier recording: set a recording after it.
    public mutating func use(_ stubs: HTTPDNSStubs) { innermost = stubs }
}

extension HTTPDNSClient {
    /// Whether later calls of this client are answered by the stubs of its settings. When false, they are resolved and
    /// sent as without stubs, also with ``HTTPDNSStubs/Unmatched/fail``. It does not concern other clients with the same
    /// stubs, see ``HTTPDNSStubs/isEnabled``.
    public var usesStubs: Bool {
        get { usesInnermost }
        set { usesInnermost = newValue }
    }
}

/// The hosts of the requests that a set of stubs has let through.
final class PassedHosts: Sendable {
    private let names = Lock<Set<HTTPDNSName>>([])

    func note(_ request: HTTPDNSClient.Request) {
        guard case .name(let name)? = (try? HTTPDNSRewriter.Canonicalizer.canonicalize(request.url))?.host else {
            return
        }
        names.withLock { _ = $0.insert(name) }
    }

    func contains(_ name: HTTPDNSName) -> Bool { names.withLock { $0.contains(name) } }
}

/// A system resolver for the hosts that a set of stubs has let through.
private struct PassedHostsResolver: SystemResolving {
    let hosts: PassedHosts
    let base: SystemResolver

    func resolve(
        _ host: HTTPDNSName,
        families: HTTPDNSAddress.Families,
        timeLimit: Duration
    ) async throws(SystemResolverError) -> [HTTPDNSAddress] {
        guard hosts.contains(host) else {
            throw SystemResolverError(
                code: .failed,
                message: "\(host) is not looked up: a client made by Configuration.stubbed looks up only the hosts of "
                    + "requests that its stubs let through"
            )
        }
        return try await base.resolve(host, families: families, timeLimit: timeLimit)
    }
}
