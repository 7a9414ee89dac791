public import HTTPDNSPrimitives
public import HTTPTypes

extension HTTPDNSClient {
    /// Sends a GET request.
    /// - Throws: ``HTTPDNSClientError``, `CancellationError`.
    public func get(
        _ url: String,
        headerFields: HTTPFields = [:],
        pinnedTo addresses: [String]? = nil,
        bypass: Bool = false,
        deadline: Duration? = nil
    ) async throws -> ClientResponse { fatalError("seam") }

    /// Sends a POST request.
    /// - Throws: ``HTTPDNSClientError``, `CancellationError`.
    public func post(
        _ url: String,
        headerFields: HTTPFields = [:],
        body: RequestBody,
        pinnedTo addresses: [String]? = nil,
        bypass: Bool = false,
        deadline: Duration? = nil
    ) async throws -> ClientResponse { fatalError("seam") }
}
