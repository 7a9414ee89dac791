internal import CurlTransport
internal import HTTPDNSPrimitives

/// A provider's way to its service: every request tries the service's addresses in turn, beginning with the one that
/// answered last, until one gives an HTTP response, whatever that says.
final class ServiceChannel: Sendable {
    private struct State {
        var order: BootstrapOrder
        var isShutDown = false
    }

    private let exchange: any ServiceExchanging
    private let time: any TimeSource
    private let state: Lock<State>

    init(endpoints: [Endpoint], exchange: any ServiceExchanging, time: any TimeSource) {
        self.exchange = exchange
        self.time = time
        state = Lock(State(order: BootstrapOrder(endpoints)))
    }

    /// Sends the request, and returns the first response.
    /// - Parameters:
    ///   - limit: The query's time limit, for messages.
    ///   - deadline: The end of that limit.
    /// - Throws: ``ProviderError`` that names every address tried; `CancellationError` when the task is cancelled.
    func reply(
        to request: ServiceRequest,
        limit: Duration,
        deadline: MonotonicTime
    ) async throws -> ServiceReply {
        let (endpoints, isShutDown) = state.withLock { ($0.order.endpoints, $0.isShutDown) }
        guard !isShutDown else { throw ProviderError(code: .shutDown, message: "the provider is shut down") }
        var attempts = ServiceAttempts(endpoints: endpoints, limit: limit, deadline: deadline)

        while let attempt = attempts.next(at: time.now()) {
            try Task.checkCancellation()
            do {
                let reply = try await exchange.exchange(request, with: attempt.endpoint, deadline: attempt.deadline)
                state.withLock { $0.order.succeeded(attempt.endpoint) }
                return reply
            } catch let failure as TransferFailure {
                attempts.failed(attempt, with: failure)
            }
        }
        throw attempts.error
    }

    /// Cuts the requests in flight, ends the connections and the transport's thread. Idempotent.
    func shutdown() async {
        state.withLock { $0.isShutDown = true }
        await exchange.shutdown()
    }
}
