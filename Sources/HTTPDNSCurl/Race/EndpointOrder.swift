package import HTTPDNSPrimitives

/// In which order a request's endpoints are tried. Whatever it says, endpoints that are suspect or cooling down go last.
package enum EndpointOrder: Hashable, Sendable {
    /// As given: somebody has thought about it.
    case given
    /// The endpoint that carried the last request to the same host and port first, then the families by turns (RFC 8305
    /// section 4), the one given here first; nil means IPv6 on a machine with a route for it, else IPv4.
    case adaptive(first: HTTPDNSAddress.Family?)
    /// The one whose last request is longest ago first, for each host and port.
    case roundRobin
    /// By lot.
    case random
    /// The one that answered fastest of late first, for each host and port; see ``EndpointMemory``.
    case fastest
}

extension EndpointOrder {
    /// Each endpoint once, where it comes first.
    static func unique(_ endpoints: [HTTPDNSEndpoint]) -> [HTTPDNSEndpoint] {
        var result: [HTTPDNSEndpoint] = []
        for (index, endpoint) in endpoints.enumerated() {
            if endpoints[..<index].contains(endpoint) {
                if result.isEmpty { result = Array(endpoints[..<index]) }
            } else if !result.isEmpty {
                result.append(endpoint)
            }
        }
        return result.isEmpty ? endpoints : result
    }

    /// The endpoints by turns of family, each family in its own order, each endpoint once.
    static func interleaved(_ endpoints: [HTTPDNSEndpoint], first: HTTPDNSAddress.Family) -> [HTTPDNSEndpoint] {
        let leading = endpoints.filter { $0.address.family == first }
        let others = endpoints.filter { $0.address.family != first }
        if leading.isEmpty || others.isEmpty { return endpoints }
        var result: [HTTPDNSEndpoint] = []
        result.reserveCapacity(endpoints.count)
        for turn in 0..<max(leading.count, others.count) {
            if turn < leading.count { result.append(leading[turn]) }
            if turn < others.count { result.append(others[turn]) }
        }
        return result
    }

    /// By lot: each order with the same chance (Fisher and Yates).
    /// - Parameter random: A number in 0..<1.
    static func shuffled(_ endpoints: [HTTPDNSEndpoint], random: () -> Double) -> [HTTPDNSEndpoint] {
        var result = endpoints
        for last in result.indices.dropFirst().reversed() {
            let chosen = min(last, Int(random() * Double(last + 1)))
            result.swapAt(last, chosen)
        }
        return result
    }

    /// The endpoints that the machine has a route to. A list with nothing else stays whole, for its error to name what was
    /// tried.
    static func withRoute(_ endpoints: [HTTPDNSEndpoint], _ hasRoute: (HTTPDNSAddress) -> Bool) -> [HTTPDNSEndpoint] {
        let reachable = endpoints.filter { hasRoute($0.address) }
        return reachable.isEmpty ? endpoints : reachable
    }

    /// The endpoints with one of them first; as they are when it is not among them.
    static func leading(with endpoint: HTTPDNSEndpoint, _ endpoints: [HTTPDNSEndpoint]) -> [HTTPDNSEndpoint] {
        guard let index = endpoints.firstIndex(of: endpoint), index > 0 else { return endpoints }
        var result = endpoints
        result.remove(at: index)
        result.insert(endpoint, at: 0)
        return result
    }
}
