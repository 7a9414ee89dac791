// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

/// Creates a client, runs `body` with it, and shuts it down, whether `body` returns, throws or is canceled.
///
/// ```swift
/// try await withHTTPDNSClient(configuration: configuration) { client in
///     let response = try await client.get("https://img.shop.example/a.jpg")
///     print(response.status, response.destination)
/// }
/// ```
///
/// The function runs on the actor of its caller.
/// - Parameters:
///   - configuration: The settings of the client.
///   - duration: The time that requests in flight have to finish after `body` has ended, see
///     ``HTTPDNSClient/shutdown(drainingFor:)``. Zero cancels them immediately.
///   - body: The work. A client that it passes on refuses requests after this function has returned.
/// - Returns: The result of `body`.
/// - Throws: The error of `body`; ``HTTPDNSClientError`` with code `configuration` when there is no client for `body`.
nonisolated(nonsending) public func withHTTPDNSClient<Success>(
    configuration: HTTPDNSClient.Configuration = HTTPDNSClient.Configuration(),
    drainingFor duration: Duration = .zero,
    _ body: nonisolated(nonsending) (HTTPDNSClient) async throws -> Success
) async throws -> Success {
    let client = try await HTTPDNSClient(configuration: configuration)
    let result: Result<Success, any Error>
    do {
        result = .success(try await body(client))
    } catch {
        result = .failure(error)
    }
    // A task of its own: the caller's may be canceled, which would cut the draining short.
    await Task { try? await client.shutdown(drainingFor: duration) }.value
    return try result.get()
}
