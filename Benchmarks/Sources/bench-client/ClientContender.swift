internal import HTTPDNSClient
internal import Workload

/// The same requests through this project's client, called from ordinary tasks, its whole pipeline on.
@main
struct ClientContender {
    static func main() async throws {
        let orders = try Orders(arguments: CommandLine.arguments.dropFirst())
        let client = try await HTTPDNSClient(configuration: configuration(orders))
        try await touchOtherNames(orders, client)
        try await measure(orders) { try await get(orders.url, client) }
        try await client.shutdown()
    }

    private static func get(_ url: String, _ client: HTTPDNSClient) async throws -> Answer {
        let response = try await client.get(url, headerFields: headerFields)
        let body = try await response.body.collect(upTo: .mebibytes(1))
        return Answer(
            status: response.status.code,
            bodyBytes: body.count,
            isHTTP2: response.exchange?.version == .http2
        )
    }

    private static let headerFields: HTTPFields = [.accept: "*/*", .userAgent: "bench"]
}
