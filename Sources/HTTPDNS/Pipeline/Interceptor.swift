extension HTTPDNSClient {
    /// An interceptor around the rest of the pipeline. It may change the request, call `next` never, once or several
    /// times, change the response, or answer without sending.
    ///
    /// It runs on the caller's task, and never on the loop thread. When the call as a whole has a time limit, it runs
    /// on a child of that task, which is canceled at the limit. An application interceptor runs once per call, a
    /// network interceptor once per hop, in the listed order. Responses pass them in reverse order:
    ///
    /// ```
    /// call -> application interceptors -> retry -> redirect
    ///      -> [ hop: network interceptors -> canonicalize, resolve, policy -> transfer ] -> back
    /// ```
    ///
    /// - Warning: A network interceptor runs for each hop of a redirect, also to servers that a response has named. A
    ///   credential that it adds is sent there, unless it checks ``HTTPDNSClient/InterceptionContext/isCrossOrigin``.
    ///
    /// It may make calls of its own, also through the same client. Such calls pass the whole pipeline, this interceptor
    /// included; nested more than 8 deep they fail with ``HTTPDNSClientError/Code/loop``. The depth follows the task
    /// and its children, but not `Task.detached`.
    public protocol Interceptor: Sendable {
        /// The rest of the pipeline, as ``intercept(_:context:next:)`` receives it. It runs where its caller runs.
        /// Write `next: Next`, since the full type depends on a module's upcoming features
        /// (`NonisolatedNonsendingByDefault`).
        typealias Next =
            nonisolated(nonsending) (HTTPDNSClient.Request, HTTPDNSClient.InterceptionContext) async throws ->
            HTTPDNSClient.Response

        /// Handles a request.
        ///
        /// Each call of `next` is a separate transfer under the call's one deadline, also after a failure. A stream
        /// body can be sent once: see ``HTTPDNSClient/Request/Body/isReplayable``.
        /// - Parameters:
        ///   - request: The request from the interceptor before.
        ///   - context: The context of the request. It is a value: only the interceptors that receive a changed copy
        ///     see it.
        ///   - next: The rest of the pipeline.
        /// - Throws: Any error, which fails this call only. Errors other than ``HTTPDNSClientError`` and
        ///   `CancellationError` reach the caller as ``HTTPDNSClientError/Code/interceptorFailed`` with the error in
        ///   `underlying`; outer interceptors see them unchanged.
        func intercept(
            _ request: HTTPDNSClient.Request,
            context: HTTPDNSClient.InterceptionContext,
            next: Next
        ) async throws -> HTTPDNSClient.Response
    }
}
