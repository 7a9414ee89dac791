// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

internal import AsyncHTTPClient
internal import NIOCore
internal import NIOHTTP1
internal import NIOSSL
internal import Workload

/// The same requests through AsyncHTTPClient, whose `dnsOverride` stands for the mapping.
@main
struct AsyncHTTPClientContender {
    static func main() async throws {
        let orders = try Orders(arguments: CommandLine.arguments.dropFirst())
        let client = HTTPClient(eventLoopGroupProvider: .singleton, configuration: configuration(orders))
        var template = HTTPClientRequest(url: orders.url)
        template.headers = ["Accept": "*/*", "User-Agent": "bench"]
        if orders.postBytes > 0 {
            template.method = .POST
            template.body =
                orders.streamsUpload
                ? .stream(orders.postStream.map { ByteBuffer(bytes: $0) }, length: .known(Int64(orders.postBytes)))
                : .bytes(ByteBuffer(bytes: orders.postBody))
        }
        let request = template
        try await measure(orders) {
            let response = try await client.execute(request, timeout: .seconds(30))
            let bytes =
                orders.discards
                ? try await response.body.reduce(0) { $0 + $1.readableBytes }
                : try await response.body.collect(upTo: orders.bodyBytes).readableBytes
            return Answer(
                status: Int(response.status.code),
                bodyBytes: bytes,
                isHTTP2: response.version == .http2
            )
        }
        try await client.shutdown()
    }

    private static func configuration(_ orders: Orders) -> HTTPClient.Configuration {
        var configuration = HTTPClient.Configuration()
        configuration.dnsOverride = [orders.host: orders.addresses[0]]
        configuration.httpVersion = orders.isHTTP2 ? .automatic : .http1Only
        // The default of 8 would queue most of the 64 requests; the other contenders have no such limit.
        configuration.connectionPool.concurrentHTTP1ConnectionsPerHostSoftLimit = orders.inFlight
        if let file = orders.certificateFile {
            var tls = TLSConfiguration.makeClientConfiguration()
            tls.trustRoots = .file(file)
            configuration.tlsConfiguration = tls
        }
        return configuration
    }
}
