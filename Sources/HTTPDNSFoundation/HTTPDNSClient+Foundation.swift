// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

public import Foundation
public import FoundationNetworking
public import HTTPDNS

extension HTTPDNSClient {
    /// Sends a request of Foundation, and returns the whole body with the response.
    ///
    /// Redirects are followed as for all calls of the client. A status such as 404 is no error.
    /// - Parameters:
    ///   - request: The request. ``HTTPDNS/HTTPDNSClient/Request/init(_:)`` lists the properties that are used.
    ///   - limit: The longest body.
    /// - Throws: ``HTTPDNS/HTTPDNSClientError``, with code `responseTooLarge` for a body that is longer than `limit`;
    ///   `CancellationError`.
    public func data(
        for request: URLRequest,
        upTo limit: HTTPDNSByteCount = .mebibytes(16)
    ) async throws -> (Data, HTTPURLResponse) {
        let (body, response) = try await stream(for: request)
        return (Data(try await body.collect(upTo: limit)), response)
    }

    /// Sends a request of Foundation, and returns when its response head has arrived.
    /// - Parameter request: The request. ``HTTPDNS/HTTPDNSClient/Request/init(_:)`` lists the properties that are used.
    /// - Returns: The body, which is read once in chunks of bytes, and the head.
    /// - Throws: ``HTTPDNS/HTTPDNSClientError``, `CancellationError`.
    public func stream(
        for request: URLRequest
    ) async throws -> (HTTPDNSClient.Response.Body, HTTPURLResponse) {
        let converted = try HTTPDNSClient.Request(request)
        let response = try await execute(converted)
        guard let url = request.url, let head = HTTPURLResponse(response, url: url) else {
            throw HTTPDNSClientError(
                code: .protocolViolation,
                phase: .firstByte,
                message:
                    "the response to \(converted.method) cannot become an HTTPURLResponse: Foundation refuses its head",
                hint: "execute(_:) returns the response as it is"
            )
        }
        return (response.body, head)
    }
}
