internal import HTTPDNSPrimitives

extension HTTPDNSClientError {
    /// Creates the error of a request that got no connection permit. Nothing of it was sent.
    /// - Parameter call: The times of the call.
    init(_ failure: AdmissionFailure, _ call: CallTime) {
        let place = "\(failure.origin.host):\(failure.origin.port)"
        let limits = failure.limits.queue
        let (code, text, hint): (Code, String, String?) =
            switch failure.reason {
            case .deadline:
                (
                    .timedOut, "waited \(failure.waited.shortText) for a connection until the call's deadline",
                    "\(HTTPDNSClientError.callTimeHint); \(HTTPDNSClientError.relief)"
                )
            case .waitedTooLong:
                (
                    .timedOut, "waited \(failure.waited.shortText) for a connection",
                    "connections.queueWait bounds it; \(HTTPDNSClientError.relief)"
                )
            case .full:
                (
                    .limitReached, "found the queue full",
                    "wait for answers before sending more, or raise connections.maximumQueued"
                )
            case .displaced:
                (
                    .limitReached, "had to leave the full queue for a more urgent one",
                    "wait for answers before sending more, or raise connections.maximumQueued"
                )
            case .shutDown:
                (.shutDown, "waited for a connection when the client was shut down", HTTPDNSClientError.shutDownHint)
            }
        let bounds = [
            limits.perHost < .max ? "\(limits.perHost) for a host" : nil,
            limits.total < .max ? "\(limits.total) in all" : nil,
        ].compactMap(\.self).joined(separator: " and ")
        let others = "\(failure.waitingForHost) others wait for this host, \(failure.waiting) in all"
        self.init(
            code: code,
            stage: .queue,
            message: "the request to \(place) \(text); connections are limited to \(bounds); \(others)",
            host: failure.origin.host.description,
            hint: hint
        )
        elapsed = call.elapsed
        switch failure.reason {
        case .deadline: (limit, isCallDeadline) = (call.firstLimit, true)
        case .waitedTooLong: limit = failure.limits.wait
        default: break
        }
    }

    private static let relief = "raise connections.perHost or connections.total if the server can take more"

    /// The error of a call that would block the thread that its own work needs.
    static var blockingRefused: HTTPDNSClientError {
        HTTPDNSClientError(
            code: .blockingRefused,
            stage: .request,
            message: "a blocking call on a thread that carries the client's own work would never end",
            hint: "here, on client.executor or in an interceptor of a blocking call, use try await execute(_:)"
        )
    }
}
