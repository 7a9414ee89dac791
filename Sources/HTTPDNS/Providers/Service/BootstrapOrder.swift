internal import HTTPDNSPrimitives

/// The service's addresses, beginning with the one that answered last.
struct BootstrapOrder {
    private(set) var endpoints: [Endpoint]

    init(_ endpoints: [Endpoint]) { self.endpoints = endpoints }

    /// Makes `endpoint` the first; those before it in the list come last, in their order.
    mutating func succeeded(_ endpoint: Endpoint) {
        guard let index = endpoints.firstIndex(of: endpoint), index > 0 else { return }
        endpoints = Array(endpoints[index...] + endpoints[..<index])
    }
}
