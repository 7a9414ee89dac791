public import HTTPTypes

extension HTTPDNSClient {
    /// Sends a GET request and returns when its response head has arrived.
    /// - Parameters:
    ///   - url: The absolute http or https URL.
    ///   - headerFields: The header fields.
    ///   - addresses: Addresses for this request only, see ``HTTPDNSClient/Request/Options/pinnedTo``.
    ///   - bypass: Passes over mappings and providers, see ``HTTPDNSClient/Request/Options/bypass``.
    ///   - deadline: The time for the call with its body.
    /// - Throws: ``HTTPDNSClientError``, `CancellationError`.
    public func get(
        _ url: String,
        headerFields: HTTPFields = [:],
        pinnedTo addresses: [String]? = nil,
        bypass: Bool = false,
        deadline: HTTPDNSClient.TimeLimit = .inherited
    ) async throws -> HTTPDNSClient.Response {
        var request = HTTPDNSClient.Request(url: url, headerFields: headerFields)
        request.take(pinnedTo: addresses, bypass: bypass, deadline: deadline)
        return try await execute(request)
    }

    /// Sends a POST request and returns when its response head has arrived.
    /// - Parameters:
    ///   - url: The absolute http or https URL.
    ///   - headerFields: The header fields.
    ///   - body: The body.
    ///   - addresses: Addresses for this request only, see ``HTTPDNSClient/Request/Options/pinnedTo``.
    ///   - bypass: Passes over mappings and providers, see ``HTTPDNSClient/Request/Options/bypass``.
    ///   - deadline: The time for the call with its body.
    /// - Throws: ``HTTPDNSClientError``, `CancellationError`.
    public func post(
        _ url: String,
        headerFields: HTTPFields = [:],
        body: HTTPDNSClient.Request.Body,
        pinnedTo addresses: [String]? = nil,
        bypass: Bool = false,
        deadline: HTTPDNSClient.TimeLimit = .inherited
    ) async throws -> HTTPDNSClient.Response {
        var request = HTTPDNSClient.Request(method: .post, url: url, headerFields: headerFields, body: body)
        request.take(pinnedTo: addresses, bypass: bypass, deadline: deadline)
        return try await execute(request)
    }
}

extension HTTPDNSClient.Request {
    /// Most calls set none of these options, and their request then has no options at all.
    fileprivate mutating func take(pinnedTo addresses: [String]?, bypass: Bool, deadline: HTTPDNSClient.TimeLimit) {
        guard addresses != nil || bypass || !deadline.isInherited else { return }
        options.pinnedTo = addresses
        options.bypass = bypass
        options.deadline = deadline
    }
}
