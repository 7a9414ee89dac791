// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

internal import HTTPDNSCore
internal import HTTPDNSCurl
internal import HTTPDNSPrimitives
internal import HTTPTypes

/// The settings by which the calls of a client are traced. Without the package trait `Tracing` no type conforms to it.
protocol CallTracing: Sendable {
    /// Whether there is a tracer.
    var hasTracer: Bool { get }

    /// Begins the trace of a call, in the caller's task.
    func begin(_ request: HTTPDNSClient.Request, at start: MonotonicTime) -> any CallTrace
}

/// The trace of one call: a span around it, and a span for each request on the wire.
///
/// Its functions run code of the tracer. They are never called under a lock.
protocol CallTrace: Sendable {
    /// Runs steps of the call with the call's span as the parent of other spans in them.
    func run(_ steps: () async throws -> HTTPDNSClient.Response) async throws -> HTTPDNSClient.Response

    /// Records a lookup that a hop has waited for.
    /// - Parameter start: The start of the lookup.
    func noteLookup(of host: HTTPDNSHost, since start: MonotonicTime, _ result: Result<[HTTPDNSEndpoint], any Error>)

    /// Begins the span of a request, unless it has begun for an earlier transfer of the same sending, and adds the header fields
    /// that identify it.
    /// - Parameter sending: The number of the sending, see ``ObservedCall/beginSending(_:_:)``.
    func beginRequest(_ sending: Int, _ request: TracedRequest, _ fields: inout HTTPFields)

    /// Ends the span of a request at its response head.
    func endRequest(_ sending: Int, _ exchange: HTTPDNSClient.Exchange)

    /// Ends the span of a request that failed or was canceled. Without a span it does nothing.
    func endRequest(_ sending: Int, _ error: any Error)

    /// Records the status that the caller gets.
    func noteResponse(_ status: HTTPResponse.Status)

    /// Ends the span of the call.
    func end(_ end: CallLog.End)
}

/// The facts of a request that its span has from the start.
struct TracedRequest {
    let method: HTTPRequest.Method
    let url: HTTPDNSRewriter.CanonicalURL
    /// The source of the addresses.
    let source: HTTPDNSResolver.Resolution.Source
    /// Whether the origin is another one than the caller's.
    let isForeign: Bool
    /// The attempts at endpoints, which the loop notes later.
    let notes: TransferNotes
}
