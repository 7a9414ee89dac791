public import HTTPDNS
public import HTTPDNSPrimitives

/// A stage round the rest of the pipeline: it may change the request, call `next` none, one or several times, change the
/// response, or answer by itself.
///
/// It runs on the caller's task, never on the loop thread. An application interceptor runs once per call, a network
/// interceptor once per hop, in the order in which they are listed; the way back is the reverse.
public protocol Interceptor: Sendable {
    /// Handles a request.
    /// - Parameters:
    ///   - request: The request as the stage before left it.
    ///   - context: What travels with it. It is a value: a changed copy is seen only by the stages that it is passed to.
    ///   - next: The rest of the pipeline.
    /// - Throws: Any error fails this call only. Errors other than ``HTTPDNSClientError`` and `CancellationError` reach the
    ///   caller as ``HTTPDNSClientError/Code/interceptorFailed`` with the error in `underlying`.
    func intercept(
        _ request: ClientRequest,
        context: InterceptionContext,
        next: (ClientRequest, InterceptionContext) async throws -> ClientResponse
    ) async throws -> ClientResponse
}

/// What travels with a request through the stages, and never on the wire.
public struct InterceptionContext: Sendable {
    /// A number for the call, unique in the process.
    public let callID: UInt64
    /// Which hop this is, from 0.
    public internal(set) var hop: Int
    /// When the whole call ends, on ``SystemTimeSource``.
    public let deadline: MonotonicTime?
    /// How deep this call is inside other calls of the same client, from 0.
    public let depth: Int

    package var tag: Tag?
    package var resolution: Resolution?
}
