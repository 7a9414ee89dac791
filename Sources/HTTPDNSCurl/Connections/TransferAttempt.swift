package import HTTPDNSPrimitives

/// A failed attempt at one endpoint.
package struct TransferAttempt: Hashable, Sendable {
    package var endpoint: HTTPDNSEndpoint
    /// The phase that the attempt reached.
    package var phase: TransferFailure.Phase
    package var code: TransferFailure.Code
    /// The reason of its failure, without pin names or secrets.
    package var message: String
    /// The duration from its own start.
    package var elapsed: Duration

    package init(
        endpoint: HTTPDNSEndpoint,
        phase: TransferFailure.Phase,
        code: TransferFailure.Code,
        message: String,
        elapsed: Duration
    ) {
        self.endpoint = endpoint
        self.phase = phase
        self.code = code
        self.message = message
        self.elapsed = elapsed
    }
}

extension TransferAttempt {
    /// Creates the attempt that ended with a failure; `nil` when no endpoint was tried.
    init?(ending failure: TransferFailure) {
        guard let endpoint = failure.endpoint else { return nil }
        self.init(
            endpoint: endpoint,
            phase: failure.phase,
            code: failure.code,
            message: failure.message,
            elapsed: failure.elapsed
        )
    }
}
