// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

public import HTTPDNS
internal import HTTPDNSPrimitives
internal import Logging

/// A set as an interceptor, for clients that the test does not make itself.
///
/// ```swift
/// let registration = HTTPDNSClient.InterceptorRegistry.shared.addNetworkInterceptor(stubs)
/// ```
///
/// All clients whose `processInterceptors` is that registry then use it, from their next call on. It runs outside the network interceptors of each client,
/// which a stubbed request does not reach; `HTTPDNSClient.Configuration.use(_:)` is inside of them. A set that is installed
/// twice for a client handles each request once.
extension HTTPDNSStubs: HTTPDNSClient.Interceptor {
    /// The sets that a request has passed, so that a second one of the same set does not handle it.
    private enum PassedSets: HTTPDNSClient.RequestProperty {
        typealias Value = Set<ObjectIdentifier>
        static let followsRedirects = false
    }

    /// The lowest priority: it is the innermost interceptor of its registry.
    public var priority: Int { .min }

    /// Answers a request by the first stub that matches it, or by ``Unmatched``.
    /// - Throws: `HTTPDNSClientError`; errors of conditions and answers; `CancellationError`.
    public func intercept(
        _ request: HTTPDNSClient.Request,
        context: HTTPDNSClient.InterceptionContext,
        next: Next
    ) async throws -> HTTPDNSClient.Response {
        let passed = request[PassedSets.self] ?? []
        // A URL without a canonical form is for a handler of its scheme, or is refused: it never reaches a server.
        guard isEnabled, !passed.contains(ObjectIdentifier(self)),
            (try? HTTPDNSRewriter.Canonicalizer.canonicalize(request.url)) != nil
        else { return try await next(request, context) }
        var request = try request.asReceived(context)
        request[PassedSets.self] = passed.union([ObjectIdentifier(self)])
        // It is called in this task alone, and not after this function.
        nonisolated(unsafe) let next = next
        return try await withoutActuallyEscaping(next) { [request] next in
            try await respond(to: request, context, next)
        }
    }

    private func respond(
        to request: HTTPDNSClient.Request,
        _ context: HTTPDNSClient.InterceptionContext,
        _ next: @escaping Next
    ) async throws -> HTTPDNSClient.Response {
        var request = request
        let layers = layers
        let body = try await start(of: &request)
        func received(_ stub: Stub?, _ outcome: ReceivedRequest.Outcome) -> ReceivedRequest {
            ReceivedRequest(
                method: request.method,
                url: request.url,
                headerFields: request.headerFields,
                body: body.bytes,
                isBodyTruncated: body.isTruncated,
                hop: context.hop,
                stub: stub,
                outcome: outcome,
                urlForErrors: request.urlForErrors
            )
        }
        for layer in layers {
            for entry in layer.entries where try await entry.predicate.matches(&request) {
                guard case .answer(let answer) = layer.use(entry.number) else { continue }
                let stub = Stub(layer: layer, number: entry.number, description: entry.label)
                layers[0].note(received(stub, .answered))
                let response = try await use(answer, for: request, context, next)
                // The test that made the stub does not expect the response any more.
                guard layer.entry(entry.number) != nil else {
                    throw Mismatch.removed(entry.label, answering: request)
                }
                return response
            }
        }
        if try await isAllowed(&request) {
            layers[0].note(received(nil, .sent))
            return try await pass(request, context, next)
        }
        switch unmatched.content {
        case .pass:
            layers[0].note(received(nil, .sent))
            return try await pass(request, context, next)
        case .warn:
            layers[0].note(received(nil, .sent))
            warn(about: request, context)
            return try await pass(request, context, next)
        case .custom(let answer):
            layers[0].note(received(nil, .custom))
            return try await use(try await answer(request), for: request, context, next)
        case .fail:
            layers[0].note(received(nil, .failed))
            var stubs: [Mismatch] = []
            for entry in layers.flatMap(\.entries) { stubs.append(try await Mismatch(entry, &request)) }
            throw Mismatch.error(request, stubs, allowed: allowedHosts)
        }
    }

    /// Returns the first bytes of the body, for the history.
    private func start(
        of request: inout HTTPDNSClient.Request
    ) async throws -> (bytes: [UInt8], isTruncated: Bool) {
        guard bodyLimit.bytes > 0 else { return ([], request.body.declaredLength != 0) }
        let bytes = try await request.body.peek(upTo: .bytes(min(bodyLimit.bytes, Int.max - 1) + 1))
        return (Array(bytes.prefix(bodyLimit.bytes)), bytes.count > bodyLimit.bytes)
    }

    private func use(
        _ answer: Answer,
        for request: HTTPDNSClient.Request,
        _ context: HTTPDNSClient.InterceptionContext,
        _ next: @escaping Next
    ) async throws -> HTTPDNSClient.Response {
        let send: Next = { request, context in try await self.pass(request, context, next) }
        do {
            let response = try await answer.respond(Answer.Use(request: request, context: context, send: send))
            // A server that responds has received the body: a retry or a redirect cannot send a stream again.
            request.body.useUp()
            context.noteStubbed(request)
            return response.asReceived(for: request, context)
        } catch let error as HTTPDNSClientError where error.requestMayHaveBeenSent {
            request.body.useUp()
            throw error
        }
    }

    private func pass(
        _ request: HTTPDNSClient.Request,
        _ context: HTTPDNSClient.InterceptionContext,
        _ next: Next
    ) async throws -> HTTPDNSClient.Response {
        passed.note(request)
        return try await next(request, context)
    }

    private func isAllowed(_ request: inout HTTPDNSClient.Request) async throws -> Bool {
        for host in allowed where try await host.matches(&request) { return true }
        return false
    }

    private func warn(about request: HTTPDNSClient.Request, _ context: HTTPDNSClient.InterceptionContext) {
        let logger = context.logger ?? Logger(label: "httpdns.stubs")
        logger.warning(
            "no stub answers a request, which is sent",
            metadata: ["method": "\(request.method.rawValue)", "url": "\(request.urlForErrors)"]
        )
    }
}
