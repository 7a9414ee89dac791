package import HTTPDNSCore
internal import HTTPDNSCurl
package import HTTPDNSPrimitives

extension HTTPDNSClient {
    /// Connects to an address and lets TLS prove that it is the name's: certificate and SNI as for a request. The connection
    /// is closed before a byte of a request is sent.
    /// - Parameters:
    ///   - host: The name.
    ///   - endpoint: The address to prove, and the port to connect to.
    ///   - timeLimit: The time in all; the client's own limits hold besides.
    /// - Returns: How long it took.
    /// - Throws: ``HTTPDNSClientError`` with code `certificateRefused` when the certificate is not the name's,
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
        // No answer can come of a request that is never sent.
        throw HTTPDNSClientError(
            code: .transportFailed,
            stage: .tls,
            message: "the connection to \(endpoint) proved nothing",
            host: host.description
        )
    }
}
