internal import HTTPDNSCore
internal import HTTPDNSPrimitives

// Refusals by the client's policy; those of the resolver arrive as its errors.
extension HTTPDNSClientError {
    /// Returns the error for an answer of which the policy refuses every address.
    static func allRefused(_ what: String, of host: HTTPDNSHost, _ reason: String) -> HTTPDNSClientError {
        HTTPDNSClientError(
            code: .policyRefused,
            stage: .policy,
            message: "\(what) for \(host) are refused: \(reason)",
            host: host.description
        )
    }

    /// Returns the error for a proxy at an address that the policy denies.
    static func deniedProxy(_ proxy: HTTPDNSClient.Proxy, _ reason: String) -> HTTPDNSClientError {
        var error = HTTPDNSClientError(
            code: .policyRefused,
            stage: .policy,
            message: "the address of the proxy \(proxy) is refused: \(reason)"
        )
        error.proxy = proxy.description
        return error
    }

    /// Returns the error for a hop outside the networks that it may reach.
    /// - Parameter what: The destination of the hop.
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

    /// Returns the error for a name that a proxy resolves, so that the client cannot know its address.
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
