extension HTTPDNSClient {
    /// A stage round the rest of the pipeline: it may change the request, call `next` none, one or several times, change the
    /// response, or answer by itself.
    ///
    /// It runs on the caller's task, or on a child of it where the call as a whole has a time limit: then it is cancelled
    /// when that is over. It never runs on the loop thread. An application interceptor runs once per call, a network
    /// interceptor once per hop, in the order in which they are listed; the way back is the reverse:
    ///
    /// ```
    /// call -> application interceptors -> retry -> redirect
    ///      -> [ hop: network interceptors -> canonicalize, resolve, policy -> transfer ] -> back
    /// ```
    ///
    /// - Warning: A network interceptor runs for each hop of a redirect, also to servers that a response has named. A
    ///   credential that it adds goes there, unless it looks at ``HTTPDNSClient/InterceptionContext/isCrossOrigin``.
    ///
    /// It may make calls of its own, through the same client too. Such calls pass the whole pipeline, this interceptor
    /// included; nested more than 8 deep they fail with ``HTTPDNSClientError/Code/loop``. The depth follows the task and its
    /// children; `Task.detached` leaves it.
    public protocol Interceptor: Sendable {
        /// The rest of the pipeline, as ``intercept(_:context:next:)`` is given it. It runs where its caller runs; write
        /// `next: Next`, since the full type depends on a module's upcoming features (`NonisolatedNonsendingByDefault`).
        typealias Next =
            nonisolated(nonsending) (HTTPDNSClient.Request, HTTPDNSClient.InterceptionContext) async throws ->
            HTTPDNSClient.Response

        /// Handles a request.
        ///
        /// Each call of `next` is a transfer of its own under the call's one deadline, also after a failure. A body that is a
        /// stream can be sent once: see ``HTTPDNSClient/Request/Body/isReplayable``.
        /// - Parameters:
        ///   - request: The request as the stage before left it.
        ///   - context: What travels with it. It is a value: a changed copy is seen only by the stages that it is passed to.
        ///   - next: The rest of the pipeline.
        /// - Throws: Any error fails this call only. Errors other than ``HTTPDNSClientError`` and `CancellationError` reach
        ///   the caller as ``HTTPDNSClientError/Code/interceptorFailed`` with the error in `underlying`; interceptors further
        ///   out see them as they are.
        func intercept(
            _ request: HTTPDNSClient.Request,
            context: HTTPDNSClient.InterceptionContext,
            next: Next
        ) async throws -> HTTPDNSClient.Response
    }
}
