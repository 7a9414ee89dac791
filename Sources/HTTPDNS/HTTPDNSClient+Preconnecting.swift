internal import HTTPDNSCurl
public import HTTPDNSPrimitives

extension HTTPDNSClient {
    /// Makes connections for later requests, TLS included, and sends nothing on them. The name is resolved and its
    /// addresses are tried as for a request. Interceptors do not run.
    ///
    /// ```swift
    /// try await client.preconnect(to: "https://img.shop.example/")
    /// ```
    ///
    /// A connection that is not used within ``Configuration/Connections/idle`` is closed. Over HTTP/2 one connection
    /// serves all requests. A connection that is already idle counts.
    /// - Parameters:
    ///   - url: Any URL of the origin; only its scheme, host and port count.
    ///   - connections: The number of concurrent connections for HTTP/1.1: 1 to 64; a larger number means 64. No more
    ///     are made than ``Configuration/Connections/perHost`` and ``Configuration/Connections/total`` leave beside the
    ///     requests in flight.
    ///   - options: The deadline, addresses and HTTP versions, as for a request.
    /// - Returns: The endpoints of the connections.
    /// - Throws: ``HTTPDNSClientError`` of the first connection that failed; others may have been made.
    ///   `CancellationError`.
    @discardableResult
    public func preconnect(
        to url: String,
        connections: Int = 1,
        options: HTTPDNSClient.Request.Options = HTTPDNSClient.Request.Options()
    ) async throws -> [HTTPDNSEndpoint] {
        var request = HTTPDNSClient.Request(method: .head, url: url, options: options)
        request.options.stopsBeforeSending = true
        request.options.keepsConnection = true
        let pipeline = pipeline
        return try await withThrowingTaskGroup(of: HTTPDNSEndpoint.self) { [request] tasks in
            for _ in 0..<min(max(1, connections), 64) { tasks.addTask { try await pipeline.preconnect(request) } }
            var endpoints: [HTTPDNSEndpoint] = []
            for try await endpoint in tasks { endpoints.append(endpoint) }
            return endpoints
        }
    }
}
