internal import HTTPDNSClient
internal import Workload

/// The same requests through this project's client, called from ordinary tasks, its whole pipeline on.
@main
struct ClientContender {
    static func main() async throws {
        let orders = try Orders(arguments: CommandLine.arguments.dropFirst())
        let client = try await HTTPDNSClient(configuration: configuration(orders))
        try await touchOtherNames(orders, client)
        try await measure(orders) {
            let response = try await client.get(orders.url, headerFields: headerFields)
            let body = try await response.body.collect(upTo: .mebibytes(1))
            return Answer(
                status: response.status.code,
                bodyBytes: body.count,
                isHTTP2: response.version == .http2
            )
        }
        try await client.shutdown()
    }

    private static let headerFields: HTTPFields = [.accept: "*/*", .userAgent: "bench"]

    private static func configuration(_ orders: Orders) throws -> HTTPDNSClient.Configuration {
        var configuration = HTTPDNSClient.Configuration()
        configuration.resolver.mappings = [try MappingKey(orders.host): .addresses(orders.addresses)]
        configuration.versions = orders.isHTTP2 ? .automatic : .http1Only
        if let file = orders.certificateFile { configuration.trustRoots = .file(file) }
        return configuration
    }

    /// Requests every other name once on every address, as a mapping that moves through its addresses would have it.
    private static func touchOtherNames(_ orders: Orders, _ client: HTTPDNSClient) async throws {
        guard orders.otherNames > 0 else { return }
        var addresses = orders.addresses
        for _ in orders.addresses {
            let order = addresses
            try client.mappings.apply { rules in
                for name in 0..<orders.otherNames { rules[orders.otherHost(name)] = .addresses(order) }
            }
            try await inFlight(orders.otherNames) { name in
                let response = try await client.get(orders.otherURL(name), headerFields: headerFields)
                _ = try await response.body.collect(upTo: .mebibytes(1))
                let remote = response.exchanges.last.map { "\($0.remote.address)" }
                if remote != order[0] {
                    throw UnexpectedAnswer(
                        "\(orders.otherHost(name)) went to \(remote ?? "nowhere"), not to \(order[0])"
                    )
                }
            }
            addresses.append(addresses.removeFirst())
        }
    }
}
