// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

internal import HTTPDNSCore
internal import HTTPDNSCurl
internal import HTTPDNSPrimitives
internal import HTTPTypes
internal import Logging

/// A hop whose endpoints and egress path are fixed.
struct FixedHop {
    let rewritten: HTTPDNSRewriter.RewrittenRequest
    let endpoints: [HTTPDNSEndpoint]
    /// Whether content codings are requested and decoded.
    let isDecoded: Bool
    let egressChoice: EgressChoice
    /// The decision that the answer is recorded with; nil when requests never stay.
    let stay: ConnectionChoice.Stay?
    /// The address that the request stays on.
    let held: HTTPDNSEndpoint?
    /// The versions that HTTPS records offer at some of the endpoints; nil when no record limits them.
    let offers: [HTTPDNSEndpoint: OfferedVersions]?
    /// The connection permit of the hop; nil where connections are not limited.
    let permit: ConnectionPermit?
    /// The addresses of a family whose lookup is in flight; nil when the hop has all.
    var lateEndpoints: Task<[HTTPDNSEndpoint], Never>?
}

extension HTTPDNSRewriter.RewrittenRequest {
    /// Returns the endpoints without those whose HTTPS records offer no version that the request allows (RFC 9460
    /// section 7.1.2), and the versions that the records offer; nil when no record limits them.
    /// - Throws: ``HTTPDNSClientError`` with code `resolveFailed` when none is left.
    func usable(
        _ endpoints: [HTTPDNSEndpoint],
        offering versions: HTTPDNSClient.AllowedVersions
    ) throws(HTTPDNSClientError) -> (endpoints: [HTTPDNSEndpoint], offers: [HTTPDNSEndpoint: OfferedVersions]?) {
        // Clear text negotiates no version.
        guard content.sent.scheme == .https, let offers = content.resolution.offers else { return (endpoints, nil) }
        let usable = endpoints.filter { offers[$0].map { $0.versions(for: versions) != nil } ?? true }
        guard !usable.isEmpty else {
            let host = content.url.host.description
            throw HTTPDNSClientError(
                code: .resolveFailed,
                phase: .resolve,
                message: "no HTTPS record of \(host) offers a version that the request allows, which is \(versions)",
                host: host,
                hint: "allow the versions that alpn in the records names, or turn HTTPS records off on the route"
            )
        }
        return (usable, offers)
    }
}

// This is the last step: it fixes the endpoints of a hop, passes it to the sender, and makes the response.
extension Pipeline {
    /// Sends a hop to its present addresses: a direct one itself, the others through their egress path.
    /// - Returns: Nil for a hop whose settings were replaced before it was sent.
    /// - Throws: ``HTTPDNSClientError``, `CancellationError`.
    func transfer(
        _ request: HTTPDNSClient.Request,
        to given: HTTPDNSRewriter.RewrittenRequest,
        _ context: HTTPDNSClient.InterceptionContext,
        _ permit: ConnectionPermit?,
        usesSystemPath: Bool
    ) async throws -> HTTPDNSClient.Response? {
        var fixed = try fixedHop(request, given, context, permit)
        if given.content.resolution.awaitsFamily, case .direct = fixed.egressChoice {
            fixed.lateEndpoints = lateEndpoints(of: given, for: request, context)
        }
        defer { fixed.lateEndpoints?.cancel() }
        let hop = HopRecord(rewritten: fixed.rewritten, time: context.call)
        // The transfer has a limit of its own for the head after a body.
        if !request.body.isEmpty { context.frame?.limitUntilEnd(of: context.call) }
        do {
            if case .direct = fixed.egressChoice {
                let body = request.body.isEmpty ? RequestBodySource.none : try await opened(request, context, hop)
                // The request is made in place: in a variable it would be copied, with all its references counted.
                guard
                    let answer = try await sender.send(
                        transferRequest(request, fixed, through: egress.directPath, context, body),
                        unless: { isStale(context) }
                    )
                else { return nil }
                return response(to: request, answer, fixed, hop, context, usedSystemFallback: usesSystemPath)
            }
            guard let answer = try await sendThroughEgress(request, fixed, context, hop) else { return nil }
            return response(to: request, answer, fixed, hop, context, usedSystemFallback: usesSystemPath)
        } catch {
            limitUntilNextHead(after: request, context)
            guard let failure = error as? TransferFailure else { throw error }
            if failure.requestMayHaveBeenSent { context.noteSent() }
            throw HTTPDNSClientError(failure, on: hop)
        }
    }

    /// Begins the time of what follows a hop without a response.
    func limitUntilNextHead(after request: HTTPDNSClient.Request, _ context: HTTPDNSClient.InterceptionContext) {
        guard let frame = context.frame else { return }
        var call = context.call
        call.restartHeadTime(after: request)
        frame.limitUntilHead(of: call)
    }

    /// Fixes the endpoints and the egress path of a hop.
    /// - Throws: ``HTTPDNSClientError``.
    private func fixedHop(
        _ request: HTTPDNSClient.Request,
        _ given: HTTPDNSRewriter.RewrittenRequest,
        _ context: HTTPDNSClient.InterceptionContext,
        _ permit: ConnectionPermit?
    ) throws(HTTPDNSClientError) -> FixedHop {
        if request.body.isSpent { throw HTTPDNSClientError.bodySentTwice }
        var rewritten = given
        var endpoints = given.content.resolution.endpoints
        let stay = choice.stay(of: given, among: endpoints)
        var held: HTTPDNSEndpoint?
        if let endpoint = stay?.endpoint, endpoint != context.constraints.avoided,
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
        let egressChoice = try egress.choice(of: request, for: given.content.url)
        let networks = reachableNetworks(of: request, context)
        if networks != .any {
            rewritten = try rewriter.limited(rewritten, to: networks, for: request, by: egressChoice)
            endpoints = rewritten.content.resolution.endpoints
        }
        var offers: [HTTPDNSEndpoint: OfferedVersions]?
        if given.content.resolution.limitsVersions {
            (endpoints, offers) = try rewritten.usable(
                endpoints,
                offering: context.options(of: request).shared.versions
            )
        }
        // Made in one step: a value of this size that changed in a variable would be copied, with all its references
        // counted.
        return FixedHop(
            rewritten: rewritten,
            endpoints: endpoints,
            isDecoded: request.isDecoded,
            egressChoice: egressChoice,
            stay: stay,
            held: held,
            offers: offers,
            permit: permit
        )
    }

    /// Records the answer to a hop, and makes the response of it.
    private func response(
        to request: HTTPDNSClient.Request,
        _ answer: HopAnswer,
        _ fixed: FixedHop,
        _ hop: HopRecord,
        _ context: HTTPDNSClient.InterceptionContext,
        usedSystemFallback: Bool
    ) -> HTTPDNSClient.Response {
        let rewritten = fixed.rewritten
        context.noteSent()
        context.frame?.limitUntilEnd(of: context.call)
        // A connection that carries one request at a time counts as one.
        fixed.permit?.noteHead(
            isShared: answer.facts.version == .http2
                && (rewritten.content.sent.scheme == .https || !CurlLibrary.limitsClearTextHTTP2)
        )
        if let stay = fixed.stay {
            let status = answer.facts.head.status.code
            choice.noteAnswer(from: answer.facts.endpoint, status: status, held: fixed.held, to: rewritten, stay)
        }
        let keptPreviousAddress = fixed.held != nil && fixed.held == answer.facts.endpoint
        if keptPreviousAddress { choice.count(\.keptPreviousAddress) }
        log(answer, rewritten)
        var exchange = HTTPDNSClient.Exchange(
            request: rewritten,
            remote: answer.facts.endpoint,
            proxy: fixed.egressChoice.proxy?.description,
            usedSystemFallback: usedSystemFallback,
            keptPreviousAddress: keptPreviousAddress,
            failedAttempts: answer.facts.failedAttempts.map(HTTPDNSClientError.Attempt.init),
            droppedFields: context.constraints.droppedFields,
            reusedConnection: answer.facts.reusedConnection,
            isHedged: answer.facts.hedges > 0,
            peerCertificates: answer.facts.peerCertificates,
            tls: answer.facts.tls,
            version: answer.facts.version,
            status: answer.facts.head.status,
            resolve: rewritten.source == .request || rewritten.isUnresolved ? nil : rewritten.resolution.elapsed,
            timings: answer.facts.timings
        )
        // The cache decides afterwards whether it uses the response.
        if context.keepsCodings, request.isRead { exchange.cacheSource = .miss }
        context.frame?.note(&exchange)
        context.frame?.observed?.note(.head(context.sending, exchange))
        var response = HTTPDNSClient.Response(
            answer.facts.head,
            answer.facts.version,
            answer.body(to: request.method, decodes: fixed.isDecoded && !context.keepsCodings, hop),
            [consume exchange]
        )
        if let rate = rates.receiving(of: request) { response.body = response.body.limited(by: rate, hop) }
        if context.keepsCodings || request.own?.callOptions.notesSentFields == true {
            response.sentFields = request.headerFields
        }
        return response
    }

    /// Returns the body of a request, ready to be sent.
    /// - Throws: ``HTTPDNSClientError``, `CancellationError`.
    func opened(
        _ request: HTTPDNSClient.Request,
        _ context: HTTPDNSClient.InterceptionContext,
        _ hop: HopRecord
    ) async throws -> RequestBodySource {
        do {
            let source = try await request.body.opened(
                until: context.call.firstDeadline,
                keeping: context.compressed
            )
            guard let rate = rates.sending(of: request) else { return source }
            return try await source.limited(by: rate, until: context.call.deadline)
        } catch let error as HTTPDNSClientError {
            throw error.ofBody(for: hop)
        }
    }

    /// Returns the request for the sender.
    /// - Parameter endpoints: The endpoints to connect to; nil for those of the hop.
    func transferRequest(
        _ request: HTTPDNSClient.Request,
        _ fixed: FixedHop,
        to endpoints: [HTTPDNSEndpoint]? = nil,
        through egressPath: EgressPath?,
        _ context: HTTPDNSClient.InterceptionContext,
        _ body: RequestBodySource
    ) throws(HTTPDNSClientError) -> TransferRequest {
        let content = fixed.rewritten.content
        let callOptions = context.options(of: request)
        var transfer = TransferRequest(
            method: request.method,
            url: content.sent,
            headerFields: request.headerFields,
            body: body,
            endpoints: endpoints ?? fixed.endpoints,
            limits: TransferLimits(
                callOptions.shared.timeouts,
                maximumResponseBody: callOptions.shared.maximumResponseBody
            ),
            versions: callOptions.shared.versions,
            hostHeader: content.hostHeader ?? (content.resolution.identity == nil ? nil : content.url.authority)
        )
        transfer.offers = fixed.offers
        transfer.lateEndpoints = fixed.lateEndpoints
        transfer.egressPath = egressPath
        transfer.order = order.order(of: content.resolution)
        transfer.avoided = context.constraints.avoided
        // A hedge is a copy, and a copy would repeat the count of a nonce.
        transfer.hedgeAfter = context.authorization?.isCounted == true ? nil : hedgeAfter
        transfer.limits.deadline = context.call.deadline
        transfer.limits.headDeadline = context.call.headDeadline
        if !request.body.isEmpty { transfer.limits.headAfterBody = context.call.headLimit }
        transfer.permit = fixed.permit
        transfer.withholdsCertificate = context.constraints.isForeign
        transfer.uploadProgress = request.body.progress(sending: body)
        transfer.decodes = fixed.isDecoded
        if BodyContentType.isOutdated(in: request) {
            transfer.headerFields[.contentType] = request.body.contentType
        }
        if let coding = request.body.coding { transfer.headerFields[.contentEncoding] = coding.name }
        if let own = request.own {
            if let receive = own.onInterimResponse { transfer.interim = InterimResponseQueue(receive) }
            transfer.stopsBeforeSending = own.callOptions.stopsBeforeSending
            transfer.keepsConnection = own.callOptions.keepsConnection
            transfer.handedSocket = request.handedSocket
            transfer.keepsChunks = own.callOptions.keepsChunks
            transfer.omitsAccept = own.callOptions.withoutHeaders.contains(.accept)
            let continueTimeout = own.callOptions.continueTimeout
            if continueTimeout > .zero, !request.body.isEmpty {
                if !transfer.headerFields.contains(.expect) { transfer.headerFields[.expect] = "100-continue" }
                transfer.continueTimeout = continueTimeout
            }
        }
        let credential = request.headerFields.contains(.authorization) ? nil : content.url.parsed.credential
        // An interceptor may send the field of a credential, which was checked before, by another path.
        let hasField = context.authorization.map { request.headerFields.contains(where: $0.isField) } ?? false
        if credential != nil || hasField, !transfer.stopsBeforeSending {
            try context.checkCleartext(request, to: content.url.parsed, by: fixed.egressChoice)
        }
        if let credential { transfer.headerFields.append(try BasicCredential.field(for: credential)) }
        if let frame = context.frame, let observed = frame.observed {
            observe(&transfer, of: fixed, by: observed, in: frame, context)
        }
        return transfer
    }

    /// Lets a transfer note its facts for the observers of its call.
    private func observe(
        _ transfer: inout TransferRequest,
        of fixed: FixedHop,
        by observed: ObservedCall,
        in frame: CallFrame,
        _ context: HTTPDNSClient.InterceptionContext
    ) {
        let sending = context.sending
        let notes = TransferNotes(keepsLocalEndpoints: observed.keepsDetails)
        observed.note(.transferBegan(sending, notes))
        transfer.notes = notes
        if let trace = observed.trace, !transfer.stopsBeforeSending {
            let isForeign = context.constraints.isForeign || frame.isForeign(fixed.rewritten.content.url)
            trace.beginRequest(sending, &transfer, notes, to: fixed.rewritten, isForeign: isForeign)
        }
        guard observed.notesBodies, case .stream(let length, _) = transfer.body else { return }
        transfer.uploadProgress = { [report = transfer.uploadProgress] bytes, isComplete in
            report?(bytes, isComplete)
            let total = isComplete ? bytes : length
            let progress = HTTPDNSClient.Progress(bytes: bytes, total: total, isComplete: isComplete)
            observed.note(.requestBody(sending, progress))
        }
    }

    private func log(_ answer: HopAnswer, _ rewritten: HTTPDNSRewriter.RewrittenRequest) {
        guard let logger, logger.logLevel <= .debug else { return }
        logger.debug(
            "request answered",
            metadata: [
                "host": "\(rewritten.content.url.host)", "status": "\(answer.facts.head.status.code)",
                "remote": "\(answer.facts.endpoint)", "source": "\(rewritten.source)",
                "reused": "\(answer.facts.reusedConnection)", "version": "\(answer.facts.version)",
            ]
        )
    }
}
