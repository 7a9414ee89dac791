// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

public import HTTPDNSCore
internal import HTTPDNSPrimitives

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

extension HTTPDNSClient.Configuration {
    /// Returns the settings of a client that resolves all public names by one DNS-over-HTTPS service (RFC 8484).
    ///
    /// The service becomes the provider `doh` of a route for all names. Internal names, such as those in `internal` or
    /// without a dot, stay with the system resolver.
    /// - Parameters:
    ///   - url: The service's URL, such as `https://dns.example/dns-query`.
    ///   - bootstrap: The service's addresses, in the order to try. Required unless the URL has an address in place of a
    ///     name: the name is never looked up.
    ///   - fallback: The behavior when the service has no usable answer.
    /// - Throws: ``HTTPDNSClientError`` with code `configuration` for a URL or an address that cannot be used.
    public static func doh(
        _ url: String,
        bootstrap: [String] = [],
        fallback: HTTPDNSRoute.Fallback = .off
    ) throws -> HTTPDNSClient.Configuration {
        let addresses = try bootstrap.map { text in
            guard let address = HTTPDNSAddress(text) else {
                throw HTTPDNSClientError.configuration(
                    "\"\(text.escaped(limit: 80))\" is not an address of \(url.escaped(limit: 200))",
                    hint: "give IP addresses, such as 192.0.2.53 or 2001:db8::53"
                )
            }
            return address
        }
        var configuration = HTTPDNSClient.Configuration()
        do {
            configuration.resolver.providers = [
                try HTTPDNSDoHProvider(.init(name: "doh", url: url, bootstrap: addresses))
            ]
        } catch {
            throw HTTPDNSClientError.configuration("\(error)", underlying: error)
        }
        configuration.resolver.routes = [HTTPDNSRoute(.any, .providers(["doh"], fallback: fallback))]
        return configuration
    }
}
