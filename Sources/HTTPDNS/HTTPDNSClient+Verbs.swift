// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

public import HTTPTypes

extension HTTPDNSClient {
    /// Sends a GET request and returns when its response head has arrived.
    /// - Parameters:
    ///   - url: The absolute http or https URL.
    ///   - headerFields: The header fields.
    ///   - targets: The addresses to connect to instead of any other source, see
    ///     ``HTTPDNSClient/Request/Options/addresses``. Nil means
    ///     ``HTTPDNSClient/Request/Options/Addresses/automatic``; an empty list is refused.
    ///   - timeout: The time for the call with its body.
    /// - Throws: ``HTTPDNSClientError``, `CancellationError`.
    public func get(
        _ url: String,
        headerFields: HTTPFields = [:],
        connectTo targets: [HTTPDNSClient.Request.Target]? = nil,
        timeout: HTTPDNSClient.TimeLimit = .inherited
    ) async throws -> HTTPDNSClient.Response {
        var request = HTTPDNSClient.Request(method: .get, url: url, headerFields: headerFields)
        request.take(connectTo: targets, timeout: timeout)
        return try await execute(request)
    }

    /// Sends a HEAD request and returns when its response head has arrived. The response has no body.
    /// - Parameters:
    ///   - url: The absolute http or https URL.
    ///   - headerFields: The header fields.
    ///   - targets: The addresses to connect to instead of any other source, see
    ///     ``HTTPDNSClient/Request/Options/addresses``. Nil means
    ///     ``HTTPDNSClient/Request/Options/Addresses/automatic``; an empty list is refused.
    ///   - timeout: The time for the call with its body.
    /// - Throws: ``HTTPDNSClientError``, `CancellationError`.
    public func head(
        _ url: String,
        headerFields: HTTPFields = [:],
        connectTo targets: [HTTPDNSClient.Request.Target]? = nil,
        timeout: HTTPDNSClient.TimeLimit = .inherited
    ) async throws -> HTTPDNSClient.Response {
        var request = HTTPDNSClient.Request(method: .head, url: url, headerFields: headerFields)
        request.take(connectTo: targets, timeout: timeout)
        return try await execute(request)
    }

    /// Sends a POST request and returns when its response head has arrived.
    /// - Parameters:
    ///   - url: The absolute http or https URL.
    ///   - headerFields: The header fields.
    ///   - body: The body.
    ///   - targets: The addresses to connect to instead of any other source, see
    ///     ``HTTPDNSClient/Request/Options/addresses``. Nil means
    ///     ``HTTPDNSClient/Request/Options/Addresses/automatic``; an empty list is refused.
    ///   - timeout: The time for the call with its body.
    /// - Throws: ``HTTPDNSClientError``, `CancellationError`.
    public func post(
        _ url: String,
        headerFields: HTTPFields = [:],
        body: HTTPDNSClient.Request.Body,
        connectTo targets: [HTTPDNSClient.Request.Target]? = nil,
        timeout: HTTPDNSClient.TimeLimit = .inherited
    ) async throws -> HTTPDNSClient.Response {
        var request = HTTPDNSClient.Request(method: .post, url: url, headerFields: headerFields, body: body)
        request.take(connectTo: targets, timeout: timeout)
        return try await execute(request)
    }

    /// Sends a POST request with a value as JSON, see ``HTTPDNSClient/Request/Body/json(_:)``, and returns when its
    /// response head has arrived.
    /// - Parameters:
    ///   - url: The absolute http or https URL.
    ///   - headerFields: The header fields.
    ///   - value: The value.
    ///   - targets: The addresses to connect to instead of any other source, see
    ///     ``HTTPDNSClient/Request/Options/addresses``. Nil means
    ///     ``HTTPDNSClient/Request/Options/Addresses/automatic``; an empty list is refused.
    ///   - timeout: The time for the call with its body.
    /// - Throws: ``HTTPDNSClientError``, `CancellationError`.
    public func post(
        _ url: String,
        headerFields: HTTPFields = [:],
        json value: some Encodable,
        connectTo targets: [HTTPDNSClient.Request.Target]? = nil,
        timeout: HTTPDNSClient.TimeLimit = .inherited
    ) async throws -> HTTPDNSClient.Response {
        try await post(
            url,
            headerFields: headerFields,
            body: .json(value),
            connectTo: targets,
            timeout: timeout
        )
    }

    /// Sends a PUT request and returns when its response head has arrived.
    /// - Parameters:
    ///   - url: The absolute http or https URL.
    ///   - headerFields: The header fields.
    ///   - body: The body.
    ///   - targets: The addresses to connect to instead of any other source, see
    ///     ``HTTPDNSClient/Request/Options/addresses``. Nil means
    ///     ``HTTPDNSClient/Request/Options/Addresses/automatic``; an empty list is refused.
    ///   - timeout: The time for the call with its body.
    /// - Throws: ``HTTPDNSClientError``, `CancellationError`.
    public func put(
        _ url: String,
        headerFields: HTTPFields = [:],
        body: HTTPDNSClient.Request.Body,
        connectTo targets: [HTTPDNSClient.Request.Target]? = nil,
        timeout: HTTPDNSClient.TimeLimit = .inherited
    ) async throws -> HTTPDNSClient.Response {
        var request = HTTPDNSClient.Request(method: .put, url: url, headerFields: headerFields, body: body)
        request.take(connectTo: targets, timeout: timeout)
        return try await execute(request)
    }

    /// Sends a PUT request with a value as JSON, see ``HTTPDNSClient/Request/Body/json(_:)``, and returns when its
    /// response head has arrived.
    /// - Parameters:
    ///   - url: The absolute http or https URL.
    ///   - headerFields: The header fields.
    ///   - value: The value.
    ///   - targets: The addresses to connect to instead of any other source, see
    ///     ``HTTPDNSClient/Request/Options/addresses``. Nil means
    ///     ``HTTPDNSClient/Request/Options/Addresses/automatic``; an empty list is refused.
    ///   - timeout: The time for the call with its body.
    /// - Throws: ``HTTPDNSClientError``, `CancellationError`.
    public func put(
        _ url: String,
        headerFields: HTTPFields = [:],
        json value: some Encodable,
        connectTo targets: [HTTPDNSClient.Request.Target]? = nil,
        timeout: HTTPDNSClient.TimeLimit = .inherited
    ) async throws -> HTTPDNSClient.Response {
        try await put(
            url,
            headerFields: headerFields,
            body: .json(value),
            connectTo: targets,
            timeout: timeout
        )
    }

    /// Sends a PATCH request and returns when its response head has arrived.
    /// - Parameters:
    ///   - url: The absolute http or https URL.
    ///   - headerFields: The header fields.
    ///   - body: The body.
    ///   - targets: The addresses to connect to instead of any other source, see
    ///     ``HTTPDNSClient/Request/Options/addresses``. Nil means
    ///     ``HTTPDNSClient/Request/Options/Addresses/automatic``; an empty list is refused.
    ///   - timeout: The time for the call with its body.
    /// - Throws: ``HTTPDNSClientError``, `CancellationError`.
    public func patch(
        _ url: String,
        headerFields: HTTPFields = [:],
        body: HTTPDNSClient.Request.Body,
        connectTo targets: [HTTPDNSClient.Request.Target]? = nil,
        timeout: HTTPDNSClient.TimeLimit = .inherited
    ) async throws -> HTTPDNSClient.Response {
        var request = HTTPDNSClient.Request(method: .patch, url: url, headerFields: headerFields, body: body)
        request.take(connectTo: targets, timeout: timeout)
        return try await execute(request)
    }

    /// Sends a PATCH request with a value as JSON, see ``HTTPDNSClient/Request/Body/json(_:)``, and returns when its
    /// response head has arrived.
    /// - Parameters:
    ///   - url: The absolute http or https URL.
    ///   - headerFields: The header fields.
    ///   - value: The value.
    ///   - targets: The addresses to connect to instead of any other source, see
    ///     ``HTTPDNSClient/Request/Options/addresses``. Nil means
    ///     ``HTTPDNSClient/Request/Options/Addresses/automatic``; an empty list is refused.
    ///   - timeout: The time for the call with its body.
    /// - Throws: ``HTTPDNSClientError``, `CancellationError`.
    public func patch(
        _ url: String,
        headerFields: HTTPFields = [:],
        json value: some Encodable,
        connectTo targets: [HTTPDNSClient.Request.Target]? = nil,
        timeout: HTTPDNSClient.TimeLimit = .inherited
    ) async throws -> HTTPDNSClient.Response {
        try await patch(
            url,
            headerFields: headerFields,
            body: .json(value),
            connectTo: targets,
            timeout: timeout
        )
    }

    /// Sends a DELETE request and returns when its response head has arrived.
    /// - Parameters:
    ///   - url: The absolute http or https URL.
    ///   - headerFields: The header fields.
    ///   - targets: The addresses to connect to instead of any other source, see
    ///     ``HTTPDNSClient/Request/Options/addresses``. Nil means
    ///     ``HTTPDNSClient/Request/Options/Addresses/automatic``; an empty list is refused.
    ///   - timeout: The time for the call with its body.
    /// - Throws: ``HTTPDNSClientError``, `CancellationError`.
    public func delete(
        _ url: String,
        headerFields: HTTPFields = [:],
        connectTo targets: [HTTPDNSClient.Request.Target]? = nil,
        timeout: HTTPDNSClient.TimeLimit = .inherited
    ) async throws -> HTTPDNSClient.Response {
        var request = HTTPDNSClient.Request(method: .delete, url: url, headerFields: headerFields)
        request.take(connectTo: targets, timeout: timeout)
        return try await execute(request)
    }
}

extension HTTPDNSClient.Request {
    /// Most calls set none of these options, and their request then has no options at all.
    fileprivate mutating func take(connectTo targets: [HTTPDNSClient.Request.Target]?, timeout: HTTPDNSClient.TimeLimit)
    {
        guard targets != nil || !timeout.isInherited else { return }
        if let targets { options.addresses = .only(targets) }
        options.timeout = timeout
    }
}
