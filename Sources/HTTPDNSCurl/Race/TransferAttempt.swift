package import HTTPDNSPrimitives

/// One endpoint that was tried, and failed.
package struct TransferAttempt: Hashable, Sendable {
    package var endpoint: HTTPDNSEndpoint
    /// How far it came.
    package var phase: TransferFailure.Phase
    package var code: TransferFailure.Code
    /// Why it ended, without pin names or secrets.
    package var message: String
    /// How long it took, from its own beginning.
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
    /// The attempt that ended so; nil when no endpoint was tried.
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
