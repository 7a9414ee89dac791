// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

public import HTTPTypes

extension HTTPDNSClient {
    /// Sends a GET request and returns when its response head has arrived.
    /// - Parameters:
    ///   - url: The absolute http or https URL.
    ///   - headerFields: The header fields.
    ///   - change: A change of the client's options for this call.
    /// - Throws: ``HTTPDNSClientError``, `CancellationError`.
    public func get(
        _ url: String,
        headerFields: HTTPFields = [:],
        _ change: HTTPDNSClient.Request.Options.Change? = nil
    ) async throws -> HTTPDNSClient.Response {
        try await pipeline.call(HTTPDNSClient.Request(method: .get, url: url, headerFields: headerFields, change))
    }

    /// Sends a HEAD request and returns when its response head has arrived. The response has no body.
    /// - Parameters:
    ///   - url: The absolute http or https URL.
    ///   - headerFields: The header fields.
    ///   - change: A change of the client's options for this call.
    /// - Throws: ``HTTPDNSClientError``, `CancellationError`.
    public func head(
        _ url: String,
        headerFields: HTTPFields = [:],
        _ change: HTTPDNSClient.Request.Options.Change? = nil
    ) async throws -> HTTPDNSClient.Response {
        try await pipeline.call(HTTPDNSClient.Request(method: .head, url: url, headerFields: headerFields, change))
    }

    /// Sends a POST request and returns when its response head has arrived.
    /// - Parameters:
    ///   - url: The absolute http or https URL.
    ///   - headerFields: The header fields.
    ///   - body: The body.
    ///   - change: A change of the client's options for this call.
    /// - Throws: ``HTTPDNSClientError``, `CancellationError`.
    public func post(
        _ url: String,
        headerFields: HTTPFields = [:],
        body: HTTPDNSClient.Request.Body,
        _ change: HTTPDNSClient.Request.Options.Change? = nil
    ) async throws -> HTTPDNSClient.Response {
        try await pipeline.call(
            HTTPDNSClient.Request(method: .post, url: url, headerFields: headerFields, body: body, change)
        )
    }

    /// Sends a POST request with a value as JSON, see ``HTTPDNSClient/Request/Body/json(_:)``, and returns when its
    /// response head has arrived.
    /// - Parameters:
    ///   - url: The absolute http or https URL.
    ///   - headerFields: The header fields.
    ///   - value: The value.
    ///   - change: A change of the client's options for this call.
    /// - Throws: ``HTTPDNSClientError``, `CancellationError`.
    public func post(
        _ url: String,
        headerFields: HTTPFields = [:],
        json value: some Encodable,
        _ change: HTTPDNSClient.Request.Options.Change? = nil
    ) async throws -> HTTPDNSClient.Response {
        try await post(
            url,
            headerFields: headerFields,
            body: .json(value),
            change
        )
    }

    /// Sends a PUT request and returns when its response head has arrived.
    /// - Parameters:
    ///   - url: The absolute http or https URL.
    ///   - headerFields: The header fields.
    ///   - body: The body.
    ///   - change: A change of the client's options for this call.
    /// - Throws: ``HTTPDNSClientError``, `CancellationError`.
    public func put(
        _ url: String,
        headerFields: HTTPFields = [:],
        body: HTTPDNSClient.Request.Body,
        _ change: HTTPDNSClient.Request.Options.Change? = nil
    ) async throws -> HTTPDNSClient.Response {
        try await pipeline.call(
            HTTPDNSClient.Request(method: .put, url: url, headerFields: headerFields, body: body, change)
        )
    }

    /// Sends a PUT request with a value as JSON, see ``HTTPDNSClient/Request/Body/json(_:)``, and returns when its
    /// response head has arrived.
    /// - Parameters:
    ///   - url: The absolute http or https URL.
    ///   - headerFields: The header fields.
    ///   - value: The value.
    ///   - change: A change of the client's options for this call.
    /// - Throws: ``HTTPDNSClientError``, `CancellationError`.
    public func put(
        _ url: String,
        headerFields: HTTPFields = [:],
        json value: some Encodable,
        _ change: HTTPDNSClient.Request.Options.Change? = nil
    ) async throws -> HTTPDNSClient.Response {
        try await put(
            url,
            headerFields: headerFields,
            body: .json(value),
            change
        )
    }

    /// Sends a PATCH request and returns when its response head has arrived.
    /// - Parameters:
    ///   - url: The absolute http or https URL.
    ///   - headerFields: The header fields.
    ///   - body: The body.
    ///   - change: A change of the client's options for this call.
    /// - Throws: ``HTTPDNSClientError``, `CancellationError`.
    public func patch(
        _ url: String,
        headerFields: HTTPFields = [:],
        body: HTTPDNSClient.Request.Body,
        _ change: HTTPDNSClient.Request.Options.Change? = nil
    ) async throws -> HTTPDNSClient.Response {
        try await pipeline.call(
            HTTPDNSClient.Request(method: .patch, url: url, headerFields: headerFields, body: body, change)
        )
    }

    /// Sends a PATCH request with a value as JSON, see ``HTTPDNSClient/Request/Body/json(_:)``, and returns when its
    /// response head has arrived.
    /// - Parameters:
    ///   - url: The absolute http or https URL.
    ///   - headerFields: The header fields.
    ///   - value: The value.
    ///   - change: A change of the client's options for this call.
    /// - Throws: ``HTTPDNSClientError``, `CancellationError`.
    public func patch(
        _ url: String,
        headerFields: HTTPFields = [:],
        json value: some Encodable,
        _ change: HTTPDNSClient.Request.Options.Change? = nil
    ) async throws -> HTTPDNSClient.Response {
        try await patch(
            url,
            headerFields: headerFields,
            body: .json(value),
            change
        )
    }

    /// Sends a DELETE request and returns when its response head has arrived.
    /// - Parameters:
    ///   - url: The absolute http or https URL.
    ///   - headerFields: The header fields.
    ///   - change: A change of the client's options for this call.
    /// - Throws: ``HTTPDNSClientError``, `CancellationError`.
    public func delete(
        _ url: String,
        headerFields: HTTPFields = [:],
        _ change: HTTPDNSClient.Request.Options.Change? = nil
    ) async throws -> HTTPDNSClient.Response {
        try await pipeline.call(HTTPDNSClient.Request(method: .delete, url: url, headerFields: headerFields, change))
    }
}
