// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

internal import HTTPDNSCore
internal import HTTPDNSCurl
internal import HTTPDNSPrimitives
internal import HTTPTypes
internal import Logging

// This is the last step: it fixes the endpoints of a hop, passes it to the sender, and makes the response.
extension Pipeline {
    /// Sends a hop: a direct one itself, the others through their egress path.
    /// - Throws: ``HTTPDNSClientError``, ``StaleSettings``, `CancellationError`.
    func transfer(
        _ request: HTTPDNSClient.Request,
        to given: HTTPDNSRewriter.RewrittenRequest,
        _ context: HTTPDNSClient.InterceptionContext,
        usedSystemFallback: Bool = false
    ) async throws -> HTTPDNSClient.Response {
        if request.body.isSpent { throw HTTPDNSClientError.bodySentTwice }
        var rewritten = given
        var endpoints = given.content.resolution.endpoints
        var held: HTTPDNSEndpoint?
        let stay = choice.stay(of: given, among: endpoints)
        if let endpoint = stay?.endpoint,
            let staying = rewriter.staying(
                on: endpoint,
                given,
                for: request,
                redirectedFrom: context.constraints.redirectedFrom
            )
        {
            rewritten = staying
            endpoints.insert(endpoint, at: 0)
            held = endpoint
        }
        let egressChoice: EgressChoice =
            try egress.isDirect(request) ? .direct : egress.choice(of: request, for: given.content.url)
        let networks = reachableNetworks(of: request, context)
        if networks != .any {
            rewritten = try limited(rewritten, to: networks, for: request, by: egressChoice)
            endpoints = rewritten.content.resolution.endpoints
        }
        let hop = HopRecord(rewritten: rewritten, time: context.call)
        let answer: HopAnswer
        do {
            if case .direct = egressChoice {
                let body = request.body.isEmpty ? RequestBodySource.none : try await opened(request, context, hop)
                // The request is made in place: a request in a variable would be copied, with all its references
                // counted.
                answer = try await sender.send(
                    transferRequest(request, to: rewritten, endpoints, through: egress.directPath, context, body),
                    unless: { isStale(context) }
                )
            } else {
                answer = try await sendThroughEgress(request, to: rewritten, endpoints, by: egressChoice, context, hop)
            }
        } catch let failure as TransferFailure {
            if failure.requestMayHaveBeenSent { context.frame?.noteSent() }
            throw HTTPDNSClientError(failure, on: hop)
        }
        context.frame?.noteSent()
        // A connection that carries one request at a time counts as one.
        if rewritten.content.sent.scheme == .https || !CurlLibrary.limitsClearTextHTTP2 {
            context.permit?.note(answer.version)
        }
        if let stay { choice.noteAnswer(from: answer.endpoint, held: held, to: rewritten, stay) }
        let keptPreviousAddress = held != nil && held == answer.endpoint
        if keptPreviousAddress { choice.counting.count(\.keptPreviousAddress) }
        log(answer, rewritten)
        var exchange = HTTPDNSClient.Exchange(
            request: rewritten,
            remote: answer.endpoint,
            proxy: egressChoice.proxy?.description,
            usedSystemFallback: usedSystemFallback,
            keptPreviousAddress: keptPreviousAddress,
            failedAttempts: answer.failedAttempts.map(HTTPDNSClientError.Attempt.init),
            droppedFields: context.constraints.droppedFields,
            reusedConnection: answer.reusedConnection,
            isHedged: answer.hedges > 0,
            peerCertificates: answer.peerCertificates,
            version: answer.version,
            status: answer.head.status,
            resolve: rewritten.source == .request || rewritten.isUnresolved ? nil : rewritten.resolution.elapsed,
            timings: answer.timings
        )
        context.frame?.note(&exchange)
        return HTTPDNSClient.Response(
            answer.head,
            answer.version,
            HTTPDNSClient.Response.Body(
                answer.body,
                of: hop,
                length: BodyLength(declaredBy: answer.head, to: request)
            ),
            [exchange]
        )
    }

    /// Returns the body of a request, ready to be sent.
    /// - Throws: ``HTTPDNSClientError``, `CancellationError`.
    func opened(
        _ request: HTTPDNSClient.Request,
        _ context: HTTPDNSClient.InterceptionContext,
        _ hop: HopRecord
    ) async throws -> RequestBodySource {
        do {
            return try await request.body.opened(until: context.call.firstDeadline, keeping: context.compressed)
        } catch let overdue as BodyOverdue {
            throw HTTPDNSClientError(overdue, on: hop)
        }
    }

    /// Returns the request for the sender.
    func transferRequest(
        _ request: HTTPDNSClient.Request,
        to rewritten: HTTPDNSRewriter.RewrittenRequest,
        _ endpoints: [HTTPDNSEndpoint],
        through egressPath: EgressPath?,
        _ context: HTTPDNSClient.InterceptionContext,
        _ body: RequestBodySource
    ) throws(HTTPDNSClientError) -> TransferRequest {
        let content = rewritten.content
        let settings = current
        var transfer = TransferRequest(
            method: request.method,
            url: content.sent,
            headerFields: request.headerFields,
            body: body,
            endpoints: endpoints,
            limits: settings.values.limits,
            versions: request.own?.options.versions.inheriting(from: settings.values.versions)
                ?? settings.values.versions,
            hostHeader: content.hostHeader ?? (content.resolution.identity == nil ? nil : content.url.authority)
        )
        transfer.egressPath = egressPath
        transfer.order = order.order(of: content.resolution)
        transfer.hedgeAfter = hedgeAfter
        transfer.limits.deadline = context.call.deadline
        transfer.limits.headDeadline = context.call.headDeadline
        if !request.body.isEmpty { transfer.limits.headAfterBody = context.call.headLimit }
        transfer.permit = context.permit
        transfer.withholdsCertificate = context.constraints.isForeign
        transfer.uploadProgress = request.body.progress(sending: body)
        transfer.decodes = request.isDecoded
        if let type = request.body.contentType, !request.headerFields.contains(.contentType) {
            transfer.headerFields[.contentType] = type
        }
        if let coding = request.body.coding { transfer.headerFields[.contentEncoding] = coding.name }
        if let options = request.own?.options {
            transfer.stopsBeforeSending = options.stopsBeforeSending
            transfer.keepsConnection = options.keepsConnection
            if !options.maximumResponseBody.isInherited {
                transfer.limits.maximumResponseBytes = options.maximumResponseBody.bytes
            }
        }
        if let credential = content.url.parsed.credential, !request.headerFields.contains(.authorization) {
            transfer.headerFields.append(try BasicCredential.field(for: credential))
        }
        return transfer
    }

    private func log(_ answer: HopAnswer, _ rewritten: HTTPDNSRewriter.RewrittenRequest) {
        guard let logger, logger.logLevel <= .debug else { return }
        logger.debug(
            "request answered",
            metadata: [
                "host": "\(rewritten.content.url.host)", "status": "\(answer.head.status.code)",
                "remote": "\(answer.endpoint)", "source": "\(rewritten.source)",
                "reused": "\(answer.reusedConnection)", "version": "\(answer.version)",
            ]
        )
    }
}
