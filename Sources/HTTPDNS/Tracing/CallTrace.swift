// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

internal import HTTPDNSCore
internal import HTTPDNSCurl
internal import HTTPDNSPrimitives

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
protocol CallTrace: AnyObject, Sendable {
    /// Runs steps of the call with the call's span as the parent of other spans in them.
    func run(_ steps: () async throws -> HTTPDNSClient.Response) async throws -> HTTPDNSClient.Response

    /// Begins the span of a request, unless it has begun for an earlier transfer of the same sending, and adds the header fields
    /// that identify it.
    /// - Parameters:
    ///   - sending: The number of the sending, see ``ObservedCall/beginSending(_:_:)``.
    ///   - notes: The notes of the transfer.
    ///   - isForeign: Whether the origin is another one than the caller's.
    func beginRequest(
        _ sending: Int,
        _ transfer: inout TransferRequest,
        _ notes: TransferNotes,
        to rewritten: HTTPDNSRewriter.RewrittenRequest,
        isForeign: Bool
    )

    /// Notes a fact of the call. The span of a request ends with its head or its failure.
    func note(_ fact: CallFact)

    /// Ends the span of the call.
    func end(_ end: CallFact.End)
}
