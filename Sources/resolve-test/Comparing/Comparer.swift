internal import HTTPDNS
internal import HTTPDNSCore

/// Asks both ways about a name, and lets TLS prove the answers.
struct Comparer: Sendable {
    /// How long one address has for its proof: the client's default limits for connecting and TLS together.
    static let proofLimit: Duration = .seconds(10)

    let client: HTTPDNSClient
    let system: any SystemResolving
    let routes: RouteTable
    let policy: HTTPDNSAddressPolicy
    let options: HTTPDNSClient.Request.Options
    /// The families asked for when neither the options nor a route say.
    let families: HTTPDNSAddress.Families
    /// How long the system resolver may take.
    let timeLimit: Duration
    let isProbing: Bool

    func compare(_ host: HTTPDNSName, port: UInt16) async throws -> Comparison {
        let route = routes.entry(for: host)?.route
        async let ours = clientAnswer(host, port: port, route: route)
        async let theirs = systemAnswer(host, families: options.families ?? route?.families ?? families)
        var comparison = Comparison(host: host, port: port, client: try await ours, system: try await theirs)
        guard comparison.isComparable else { return comparison }
        comparison.isProbed = isProbing
        for endpoint in comparison.systemEndpoints {
            comparison.proofs[endpoint] = refusal(of: endpoint.address, route: route).map(Comparison.Proof.refused)
        }
        guard isProbing else { return comparison }
        let endpoints = comparison.endpoints.filter { comparison.proofs[$0] == nil }
        // Few at once: a name with hundreds of addresses must not look like an attack on them.
        let proofs = try await ConcurrentWork.map(endpoints, atMost: 8) { endpoint in
            try await proof(of: host, at: endpoint)
        }
        for (endpoint, proof) in zip(endpoints, proofs) { comparison.proofs[endpoint] = proof }
        return comparison
    }

    /// Why nobody may ask an address of the system's for its proof: it is a black hole, a metadata service and the like, as
    /// hijackers and sinkholes answer. What a route calls its only blocks does not make others suspicious.
    private func refusal(of address: HTTPDNSAddress, route: HTTPDNSRoute?) -> String? {
        var route = route
        route?.only = []
        let refusal = policy.refusal(of: address, from: .system, providerScope: nil, route: route)
        // The advice to allow it is not what one wants for a suspect.
        return (refusal?.split(separator: "; allow it").first).map { "not dialled: \($0)" }
    }

    private func clientAnswer(
        _ host: HTTPDNSName,
        port: UInt16,
        route: HTTPDNSRoute?
    ) async throws -> Comparison.ClientAnswer {
        do {
            let resolution = try await client.resolve(host.description, port: port, options: options)
            switch resolution.source {
            case .provider, .mapping: return .resolved(resolution)
            case .system: return .notAsked(Self.reasonNotAsked(host, resolution: resolution))
            default: return .notAsked("\(host) is always this machine, whoever is asked")
            }
        } catch let error as CancellationError {
            throw error
        } catch {
            let failure = CommandFailure(error)
            guard case .providers? = route?.action else {
                return .notAsked(Self.reasonNotAsked(host, resolution: nil))
            }
            switch failure.reason {
            case "\(HTTPDNSResolver.Error.Code.nameNotFound)", "\(HTTPDNSResolver.Error.Code.noAddresses)":
                return .nothing((failure.reason ?? "").split(separator: "-").joined(separator: " "))
            default: return .failed(failure)
            }
        }
    }

    private static func reasonNotAsked(_ host: HTTPDNSName, resolution: HTTPDNSResolver.Resolution?) -> String {
        if let rule = resolution?.rule { return "the mapping \"\(rule.key)\" leads past HTTP-DNS" }
        if let route = resolution?.route { return "the route \"\(route.pattern)\" leads past HTTP-DNS" }
        return "no route leads \(host) to a provider"
    }

    private func systemAnswer(_ host: HTTPDNSName, families: HTTPDNSAddress.Families) async throws
        -> Comparison.SystemAnswer
    {
        do {
            return .addresses(try await system.resolve(host, families: families, timeLimit: timeLimit))
        } catch {
            switch error.code {
            case .cancelled: throw CancellationError()
            case .nameNotFound: return .nothing("name not found")
            case .noAddresses: return .nothing("no addresses")
            case .timedOut, .failed, .overloaded: return .failed(error.message)
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

    /// What a failed proof means: a peer that speaks TLS badly, or not at all, is there and cannot prove the name.
    static func proof(of failure: CommandFailure) -> Comparison.Proof {
        let attempt = failure.attempts.first?.failure ?? failure.message
        switch failure.code {
        case "\(HTTPDNSClientError.Code.certificateRefused)": return .refused(attempt)
        case "\(HTTPDNSClientError.Code.connectFailed)" where failure.stage == "\(HTTPDNSClientError.Stage.tls)":
            return .refused(attempt)
        default: return .unreachable(attempt)
        }
    }
}
