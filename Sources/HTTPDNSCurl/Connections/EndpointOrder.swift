package import HTTPDNSPrimitives

/// The order in which a request's endpoints are tried. Suspect, ejected and cooling endpoints always go last.
package enum EndpointOrder: Hashable, Sendable {
    /// The given order, which the caller has chosen.
    case given
    /// The endpoint of the last request to the same host and port first, then the families in alternation (RFC 8305 section 4).
    /// `first` is the first family; `nil` means IPv6 on a machine with a route for it, otherwise IPv4.
    case adaptive(first: HTTPDNSAddress.Family?)
    /// The least recently used endpoint first, for each host and port.
    case roundRobin
    /// A random order.
    case random
    /// The endpoint with the fastest recent responses first, for each host and port; see ``EndpointMemory``.
    case fastest
}

extension EndpointOrder {
    /// Returns each endpoint once, at its first position.
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

    /// Returns the endpoints with alternating families, each family in its own order, each endpoint once.
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

    /// Returns the endpoints shuffled: each order is equally likely (Fisher and Yates).
    /// - Parameter random: A number in 0..<1.
    static func shuffled(_ endpoints: [HTTPDNSEndpoint], random: () -> Double) -> [HTTPDNSEndpoint] {
        var result = endpoints
        for last in result.indices.dropFirst().reversed() {
            let chosen = min(last, Int(random() * Double(last + 1)))
            result.swapAt(last, chosen)
        }
        return result
    }

    /// Returns the endpoints that the machine has a route to. A list without any stays whole, so that its error names them.
    static func withRoute(_ endpoints: [HTTPDNSEndpoint], _ hasRoute: (HTTPDNSAddress) -> Bool) -> [HTTPDNSEndpoint] {
        let reachable = endpoints.filter { hasRoute($0.address) }
        return reachable.isEmpty ? endpoints : reachable
    }

    /// Returns the endpoints with the given one first; unchanged when it is not among them.
    static func leading(with endpoint: HTTPDNSEndpoint, _ endpoints: [HTTPDNSEndpoint]) -> [HTTPDNSEndpoint] {
        guard let index = endpoints.firstIndex(of: endpoint), index > 0 else { return endpoints }
        var result = endpoints
        result.remove(at: index)
        result.insert(endpoint, at: 0)
        return result
    }
}
