internal import HTTPDNSCurl
public import HTTPDNSPrimitives

extension HTTPDNSClient {
    /// Makes connections for requests to come, TLS included, and sends nothing on them: the name is resolved, and its
    /// addresses are tried, as for a request. Interceptors do not run.
    ///
    /// ```swift
    /// try await client.preconnect(to: "https://img.shop.example/")
    /// ```
    ///
    /// A connection that is not used within ``Configuration/Connections/idle`` is closed. Over HTTP/2 one connection serves
    /// all requests. One that is idle already counts.
    /// - Parameters:
    ///   - url: Any URL of the origin; only its scheme, host and port count.
    ///   - connections: How many at once, for HTTP/1.1; 1 to 64, more are taken for 64. No more are made than
    ///     ``Configuration/Connections/perHost`` and ``Configuration/Connections/total`` leave beside the requests under way.
    ///   - options: As for a request: the deadline, the addresses, the HTTP versions.
    /// - Returns: Where the connections lead.
    /// - Throws: ``HTTPDNSClientError`` of the first that failed; the others may stand. `CancellationError`.
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
