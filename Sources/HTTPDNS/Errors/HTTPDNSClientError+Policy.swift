internal import HTTPDNSCore
internal import HTTPDNSPrimitives

// The client's own refusals by policy; those of the resolver come as its errors.
extension HTTPDNSClientError {
    /// The addresses of an answer, when the policy leaves none of them.
    static func allRefused(_ what: String, of host: HTTPDNSHost, _ reason: String) -> HTTPDNSClientError {
        HTTPDNSClientError(
            code: .policyRefused,
            stage: .policy,
            message: "\(what) for \(host) are refused: \(reason)",
            host: host.description
        )
    }

    /// A proxy at an address that the policy denies.
    static func deniedProxy(_ proxy: HTTPDNSClient.Proxy, _ reason: String) -> HTTPDNSClientError {
        var error = HTTPDNSClientError(
            code: .policyRefused,
            stage: .policy,
            message: "the address of the proxy \(proxy) is refused: \(reason)"
        )
        error.proxy = proxy.description
        return error
    }

    /// A hop that leads out of the networks that it may reach.
    /// - Parameter what: Where it leads.
    static func beyond(_ networks: HTTPDNSClient.ReachableNetworks, _ what: String, _ host: HTTPDNSHost)
        -> HTTPDNSClientError
    {
        HTTPDNSClientError(
            code: .policyRefused,
            stage: .policy,
            message: "the request to \(host) is refused: \(what), and reachable_networks is \(networks)",
            host: host.description,
            hint: "to allow it, set options.reachableNetworks of the request, or client.reachable_networks, to any"
        )
    }

    /// A name that a proxy looks up, so that the client cannot know where it leads.
    static func beyond(
        _ networks: HTTPDNSClient.ReachableNetworks,
        _ host: HTTPDNSHost,
        throughResolving proxy: HTTPDNSClient.Proxy
    )
        -> HTTPDNSClientError
    {
        var error = beyond(networks, "the proxy \(proxy) looks the name up itself", host)
        error.hint =
            "let the client look it up (resolve: local, Proxy.resolvesLocally); or, for a proxy that refuses other networks "
            + "itself, set enforces_reachable_networks (Proxy.enforcesReachableNetworks)"
        error.proxy = proxy.description
        return error
    }
}
