internal import HTTPDNSCore
internal import HTTPDNSCurl
internal import HTTPDNSPrimitives
internal import Synchronization

extension Pipeline {
    /// Makes the connection of a request and keeps it. Interceptors do not run, because nothing is sent.
    /// - Returns: The endpoint of the connection.
    /// - Throws: ``HTTPDNSClientError``, `CancellationError`.
    func preconnect(_ request: HTTPDNSClient.Request) async throws -> HTTPDNSEndpoint {
        let time = time(request.options.deadline)
        do {
            return try await keepConnection(for: request, time)
        } catch let error as HTTPDNSClientError {
            throw completed(error, time)
        }
    }

    private func keepConnection(for request: HTTPDNSClient.Request, _ time: CallTime) async throws -> HTTPDNSEndpoint {
        try gate.enter()
        defer { gate.leave() }
        var context = HTTPDNSClient.InterceptionContext(
            callID: Pipeline.lastCallID.wrappingAdd(1, ordering: .relaxed).newValue,
            hop: 0,
            deadline: time.deadline,
            depth: 0,
            rewritten: nil,
            call: time,
            reachableNetworks: request.options.reachableNetworks,
            compressed: nil,
            frame: nil
        )
        var rewritten = try await rewritten(request, context)
        if !admissions.isEmpty, let (place, hasWaited) = try await admit(request, to: rewritten, context) {
            if hasWaited { rewritten = try await self.rewritten(request, context) }
            context.place = place
        }
        do {
            _ = try await transfer(request, to: rewritten, context)
        } catch let error as HTTPDNSClientError {
            guard let failure = error.underlying as? TransferFailure, failure.code == .heldBack,
                let endpoint = failure.endpoint
            else { throw error }
            return endpoint
        }
        // A request that is never sent has no response.
        throw HTTPDNSClientError(
            code: .transportFailed,
            stage: .connect,
            message: "the connection to \(rewritten.content.url.host) could not be kept"
        )
    }
}
