public import HTTPTypes

extension HTTPDNSClient {
    /// Sends a GET request and returns at the head of its response.
    /// - Parameters:
    ///   - url: The absolute http or https URL.
    ///   - headerFields: The header fields.
    ///   - addresses: Addresses for this request only, see ``RequestOptions/pinnedTo``.
    ///   - bypass: Passes over mappings and providers, see ``RequestOptions/bypass``.
    ///   - deadline: The time for the call with its body.
    /// - Throws: ``HTTPDNSClientError``, `CancellationError`.
    public func get(
        _ url: String,
        headerFields: HTTPFields = [:],
        pinnedTo addresses: [String]? = nil,
        bypass: Bool = false,
        deadline: TimeLimit = .inherited
    ) async throws -> ClientResponse {
        var request = ClientRequest(url: url, headerFields: headerFields)
        request.take(pinnedTo: addresses, bypass: bypass, deadline: deadline)
        return try await execute(request)
    }

    /// Sends a POST request and returns at the head of its response.
    /// - Parameters:
    ///   - url: The absolute http or https URL.
    ///   - headerFields: The header fields.
    ///   - body: The body.
    ///   - addresses: Addresses for this request only, see ``RequestOptions/pinnedTo``.
    ///   - bypass: Passes over mappings and providers, see ``RequestOptions/bypass``.
    ///   - deadline: The time for the call with its body.
    /// - Throws: ``HTTPDNSClientError``, `CancellationError`.
    public func post(
        _ url: String,
        headerFields: HTTPFields = [:],
        body: RequestBody,
        pinnedTo addresses: [String]? = nil,
        bypass: Bool = false,
        deadline: TimeLimit = .inherited
    ) async throws -> ClientResponse {
        var request = ClientRequest(method: .post, url: url, headerFields: headerFields, body: body)
        request.take(pinnedTo: addresses, bypass: bypass, deadline: deadline)
        return try await execute(request)
    }
}

extension ClientRequest {
    /// Most calls ask for none of it, and their request then has no options at all.
    fileprivate mutating func take(pinnedTo addresses: [String]?, bypass: Bool, deadline: TimeLimit) {
        guard addresses != nil || bypass || !deadline.isInherited else { return }
        options.pinnedTo = addresses
        options.bypass = bypass
        options.deadline = deadline
    }
}
