package import HTTPDNSCore
internal import HTTPDNSCurl
package import HTTPDNSPrimitives

extension HTTPDNSClient {
    /// Connects to an address and verifies with TLS that it serves the name, with certificate and SNI as for a request.
    /// The connection is closed before a byte of a request is sent.
    /// - Parameters:
    ///   - host: The name.
    ///   - endpoint: The address to verify, and the port to connect to.
    ///   - timeLimit: The total time; the client's own limits apply as well.
    /// - Returns: The time that it took.
    /// - Throws: ``HTTPDNSClientError`` with code `certificateRefused` when the certificate is not valid for the name,
    ///   `policyRefused`, `connectFailed`, `timedOut`; `CancellationError`.
    package func proveIdentity(
        of host: HTTPDNSName,
        at endpoint: HTTPDNSEndpoint,
        timeLimit: Duration
    ) async throws -> Duration {
        var request = HTTPDNSClient.Request(method: .head, url: "https://\(host):\(endpoint.port)/")
        request.options.pinnedTo = ["\(endpoint)"]
        request.options.deadline = HTTPDNSClient.TimeLimit(timeLimit)
        request.options.stopsBeforeSending = true
        do {
            _ = try await execute(request)
        } catch {
            guard let error = error as? HTTPDNSClientError, let failure = error.underlying as? TransferFailure,
                failure.code == .heldBack
            else { throw error }
            return failure.elapsed
        }
        // A request that is never sent has no response.
        throw HTTPDNSClientError(
            code: .transportFailed,
            stage: .tls,
            message: "the connection to \(endpoint) proved nothing",
            host: host.description
        )
    }
}
