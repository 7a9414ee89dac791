// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

#if Tracing
internal import HTTPDNSCore
internal import HTTPDNSCurl
internal import HTTPDNSPrimitives
internal import HTTPTypes
internal import Tracing

/// The spans of one call, by the conventions of OpenTelemetry for HTTP clients.
///
/// The span of the call is internal. It ends with the response body, as the call does. Inside it are a client span for each
/// request on the wire, which ends at the response head, and an internal span for each lookup that the call waited for. Inside a
/// client span is an internal span for each connection that was made for it.
final class SpanTrace: CallTrace {
    private struct RequestSpan: Sendable {
        let span: any Span
        /// The notes of its transfers.
        var notes: [TransferNotes]
        let url: HTTPDNSRewriter.CanonicalURL
    }

    private struct State: Sendable {
        /// The spans that have begun and not ended, by sending.
        var requests: [Int: RequestSpan] = [:]
        /// The number of spans that have begun.
        var begun = 0
    }

    private let tracer: any Tracer
    private let clock = SpanClock()
    private let span: any Span
    private let sendsBaggageToOtherOrigins: Bool
    private let state = Lock(State())

    init(
        of request: HTTPDNSClient.Request,
        at start: MonotonicTime,
        by tracer: any Tracer,
        sendsBaggageToOtherOrigins: Bool
    ) {
        self.tracer = tracer
        self.sendsBaggageToOtherOrigins = sendsBaggageToOtherOrigins
        span = tracer.startSpan(SpanName.call, ofKind: .internal, at: clock.instant(start))
        guard span.isRecording else { return }
        span.updateAttributes { attributes in
            attributes.set(request.method)
            if let url = try? HTTPDNSRewriter.Canonicalizer.canonicalize(request.url) {
                attributes.set(url)
            } else {
                attributes[SpanKey.url] = URLText.forErrors(request.url)
            }
        }
    }

    func run(_ steps: () async throws -> HTTPDNSClient.Response) async throws -> HTTPDNSClient.Response {
        try await ServiceContext.$current.withValue(span.context) { try await steps() }
    }

    func note(_ fact: CallFact) {
        switch fact {
        case .lookedUp(let host, let start, let result): addLookup(of: host, since: start, result)
        case .head(let sending, let exchange): endRequest(sending, exchange)
        case .failed(let sending, let error): endRequest(sending, error)
        case .answered(let head): span.attributes[SpanKey.status] = head.statusCode
        default: break
        }
    }

    private func addLookup(
        of host: HTTPDNSHost,
        since start: MonotonicTime,
        _ result: Result<[HTTPDNSEndpoint], any Error>
    ) {
        let lookup = tracer.startSpan(
            SpanName.lookup,
            context: span.context,
            ofKind: .internal,
            at: clock.instant(start)
        )
        lookup.attributes[SpanKey.question] = "\(host)"
        switch result {
        case .success(let endpoints): lookup.attributes[SpanKey.answers] = endpoints.map { "\($0.address)" }
        case .failure(let error): lookup.note(error, isLookup: true)
        }
        lookup.end(at: clock.now)
    }

    // MARK: requests

    func beginRequest(
        _ sending: Int,
        _ transfer: inout TransferRequest,
        _ notes: TransferNotes,
        to rewritten: HTTPDNSRewriter.RewrittenRequest,
        isForeign: Bool
    ) {
        let (begun, number) = state.withLock { state -> (RequestSpan?, Int) in
            // The addresses of an earlier transfer accepted no connection, or its settings were replaced.
            state.requests[sending]?.notes.append(notes)
            if let begun = state.requests[sending] { return (begun, 0) }
            defer { state.begun += 1 }
            return (nil, state.begun)
        }
        let span = begun?.span ?? begin(transfer.method, rewritten, number)
        if begun == nil {
            let begun = RequestSpan(span: span, notes: [notes], url: rewritten.content.url)
            state.withLock { $0.requests[sending] = begun }
        }
        let injector = FieldInjector(isIdentityOnly: isForeign && !sendsBaggageToOtherOrigins)
        tracer.inject(span.context, into: &transfer.headerFields, using: injector)
    }

    private func begin(
        _ method: HTTPRequest.Method,
        _ rewritten: HTTPDNSRewriter.RewrittenRequest,
        _ number: Int
    ) -> any Span {
        let span = tracer.startSpan(SpanName.request(method), context: span.context, ofKind: .client, at: clock.now)
        guard span.isRecording else { return span }
        span.updateAttributes { attributes in
            attributes.set(method)
            attributes.set(rewritten.content.url)
            attributes[SpanKey.source] = rewritten.source.description
            if number > 0 { attributes[SpanKey.resends] = number }
        }
        return span
    }

    private func endRequest(_ sending: Int, _ exchange: HTTPDNSClient.Exchange) {
        guard let request = takeRequest(sending) else { return }
        let status = exchange.status.code
        request.span.updateAttributes { attributes in
            attributes[SpanKey.status] = status
            attributes[SpanKey.version] = String(exchange.version.description.dropFirst("HTTP/".utf8.count))
            attributes[SpanKey.source] = exchange.request.source.description
            if exchange.remote != .ofUnixSockets {
                attributes[SpanKey.peerAddress] = "\(exchange.remote.address)"
                attributes[SpanKey.peerPort] = Int(exchange.remote.port)
            }
            if status >= 400 { attributes[SpanKey.errorType] = "\(status)" }
        }
        if status >= 400 { request.span.setStatus(SpanStatus(code: .error)) }
        end(request)
    }

    private func endRequest(_ sending: Int, _ error: any Error) {
        guard let request = takeRequest(sending) else { return }
        request.span.note(error)
        end(request)
    }

    private func takeRequest(_ sending: Int) -> RequestSpan? {
        state.withLock { $0.requests.removeValue(forKey: sending) }
    }

    private func end(_ request: RequestSpan) {
        for attempt in request.notes.flatMap(\.attempts) { addConnection(attempt, in: request) }
        request.span.end(at: clock.now)
    }

    /// Adds the span of a connection that an attempt has made.
    private func addConnection(_ attempt: TransferNotes.Attempt, in request: RequestSpan) {
        guard attempt.opensConnection, let connect = attempt.timings.connect,
            attempt.sentAt != nil || [.send, .firstByte, .body].contains(attempt.phase)
        else { return }
        let connection = tracer.startSpan(
            SpanName.connection,
            context: request.span.context,
            ofKind: .internal,
            at: clock.instant(attempt.startedAt)
        )
        connection.updateAttributes { attributes in
            attributes[SpanKey.server] = SpanValue.server(of: request.url)
            attributes[SpanKey.port] = Int(request.url.port)
            attributes[SpanKey.scheme] = request.url.scheme
            attributes[SpanKey.peerAddress] = "\(attempt.endpoint.address)"
            attributes[SpanKey.peerPort] = Int(attempt.endpoint.port)
        }
        let end = attempt.startedAt + connect + (attempt.timings.tls ?? .zero)
        connection.end(at: clock.instant(min(end, attempt.sentAt ?? end)))
    }

    // MARK: the end

    func end(_ end: CallFact.End) {
        switch end {
        case .whole, .released(isCanceled: false, isAsReceived: _): break
        case .released(isCanceled: true, isAsReceived: _): span.note(CancellationError())
        case .failed(let error): span.note(error)
        }
        span.end(at: clock.now)
    }
}

/// The times of one call for its spans: the calendar time at its start and the monotonic time since then. So a span never begins
/// before the span around it.
private struct SpanClock: Sendable {
    private let calendarStart = DefaultTracerClock.now.nanosecondsSinceEpoch
    private let start = SystemTimeSource().now()

    var now: DefaultTracerClock.Timestamp { instant(SystemTimeSource().now()) }

    func instant(_ time: MonotonicTime) -> DefaultTracerClock.Timestamp {
        let elapsed = time.nanoseconds - start.nanoseconds
        return DefaultTracerClock.Timestamp(
            nanosecondsSinceEpoch: elapsed < 0
                ? calendarStart - min(calendarStart, elapsed.magnitude) : calendarStart + elapsed.magnitude
        )
    }
}
#endif
