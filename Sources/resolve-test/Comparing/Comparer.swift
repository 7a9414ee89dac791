// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

#if CommandLine
internal import HTTPDNS

/// A comparer that queries both sides for a name, and verifies the answers by TLS.
struct Comparer: Sendable {
    /// The time limit for the verification of one address: the client's default limits for connecting and TLS together.
    static let proofLimit: Duration = .seconds(10)

    let client: HTTPDNSClient
    let resolver: HTTPDNSResolver.Configuration
    let routes: RouteTable
    let change: HTTPDNSClient.Request.Options.Change?
    let isProbing: Bool
    let system = SystemResolver()

    func compare(_ host: HTTPDNSName, port: UInt16) async throws -> Comparison {
        let route = routes.entry(for: host)?.route
        async let ours = clientAnswer(host, port: port, route: route)
        let own = client.resolved(HTTPDNSClient.Request(url: "", change)).options.families
        async let theirs = systemAnswer(
            host,
            port: port,
            families: own ?? route?.families ?? resolver.families ?? .both
        )
        var comparison = Comparison(host: host, port: port, client: try await ours, system: try await theirs)
        guard comparison.isComparable else { return comparison }
        comparison.isProbed = isProbing
        for endpoint in comparison.system.endpoints {
            comparison.proofs[endpoint] = refusal(of: endpoint.address, route: route).map(Comparison.Proof.refused)
        }
        guard isProbing else { return comparison }
        let endpoints = comparison.endpoints.filter { comparison.proofs[$0] == nil }
        // Only a few concurrently: a name with hundreds of addresses must not look like an attack on them.
        let proofs = try await ConcurrentWork.map(endpoints, atMost: 8) { endpoint in
            try await proof(of: host, at: endpoint)
        }
        for (endpoint, proof) in zip(endpoints, proofs) { comparison.proofs[endpoint] = proof }
        return comparison
    }

    /// Returns the reason that an address of the system resolver must not be dialed for its verification.
    ///
    /// Hijackers and sinkholes answer with black holes, metadata services and the like. Addresses outside of a route's only
    /// blocks are not suspicious for that reason.
    private func refusal(of address: HTTPDNSAddress, route: HTTPDNSRoute?) -> String? {
        var route = route
        route?.only = []
        let refusal = resolver.policy.refusal(of: address, from: .system, providerScope: nil, route: route)
        // The advice to allow an address is wrong for a suspicious one.
        return (refusal?.split(separator: "; allow it").first).map { "not dialed: \($0)" }
    }

    private func clientAnswer(
        _ host: HTTPDNSName,
        port: UInt16,
        route: HTTPDNSRoute?
    ) async throws -> Comparison.Answer {
        switch try await client.outcome(of: host.queryText, port, change) {
        case .success(let resolution):
            switch resolution.source {
            case .provider, .mapping: return .resolved(resolution)
            case .system: return .notAsked(Self.reasonNotAsked(host, resolution: resolution))
            default: return .notAsked("\(host) is this machine for every resolver")
            }
        case .failure(let failure):
            guard case .providers? = route?.action else {
                return .notAsked(Self.reasonNotAsked(host, resolution: nil))
            }
            switch failure.reason {
            case "\(HTTPDNSResolver.Error.Code.nameNotFound)", "\(HTTPDNSResolver.Error.Code.noAddresses)":
                return .nothing(failure.shortReason)
            default: return .failed(failure)
            }
        }
    }

    private static func reasonNotAsked(_ host: HTTPDNSName, resolution: HTTPDNSResolver.Resolution?) -> String {
        if let mapping = resolution?.mapping { return "the mapping \"\(mapping.key)\" bypasses HTTP-DNS" }
        if let route = resolution?.route { return "the route \"\(route.pattern)\" bypasses HTTP-DNS" }
        return "no route leads \(host) to a provider"
    }

    private func systemAnswer(_ host: HTTPDNSName, port: UInt16, families: HTTPDNSAddress.Families) async throws
        -> Comparison.Answer
    {
        do {
            return .system(
                try await system.resolve(host, families: families, timeLimit: resolver.timeLimit),
                port: port
            )
        } catch {
            switch error.code {
            case .canceled: throw CancellationError()
            case .nameNotFound: return .nothing("name not found")
            case .noAddresses: return .nothing("no addresses")
            case .timedOut, .failed, .overloaded: return .failed(.failed(code: "\(error.code)", error.message))
            }
        }
    }

    private func proof(of host: HTTPDNSName, at endpoint: HTTPDNSEndpoint) async throws -> Comparison.Proof {
        do {
            return .verified(try await client.proveIdentity(of: host, at: endpoint, timeLimit: Self.proofLimit))
        } catch let error as CancellationError {
            throw error
        } catch {
            return Self.proof(of: CommandFailure(error))
        }
    }

    /// Returns the meaning of a failed verification: a peer that speaks TLS badly, or not at all, exists and cannot prove the
    /// name.
    static func proof(of failure: CommandFailure) -> Comparison.Proof {
        let attempt = failure.attempts.first?.failure ?? failure.message
        switch failure.code {
        case "\(HTTPDNSClientError.Code.certificateRefused)": return .refused(attempt)
        case "\(HTTPDNSClientError.Code.connectFailed)" where failure.phase == "\(HTTPDNSClientError.Phase.tls)":
            return .refused(attempt)
        default: return .unreachable(attempt)
        }
    }
}
#endif
