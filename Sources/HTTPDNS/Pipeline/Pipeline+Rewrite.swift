// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

internal import HTTPDNSCurl

// This step is inside network interceptors: it fixes the host and the addresses of a hop.
extension Pipeline {
    /// Sends a hop, and notes that for the observers of the call.
    func rewriteAndTransfer(
        _ request: HTTPDNSClient.Request,
        _ context: HTTPDNSClient.InterceptionContext
    ) async throws -> HTTPDNSClient.Response {
        guard let observed = context.frame?.observed else { return try await rewriteAndSend(request, context) }
        var context = context
        context.sending = observed.beginSending(context.hop, request)
        do {
            return try await rewriteAndSend(request, context)
        } catch {
            observed.noteFailure(context.sending, error)
            throw error
        }
    }

    /// Sends a hop, and prepares it again when the settings change before it is sent. Its interceptors do not run
    /// again. After a wait for a connection the rewriter runs again.
    ///
    /// Nearly always its addresses are known, and no step waits: then all of them run here, one after the other, and the
    /// only wait is that for the response head. A hop of which anything has to wait takes the way through the functions
    /// of the steps, from the first step that waits on.
    private func rewriteAndSend(
        _ request: HTTPDNSClient.Request,
        _ context: HTTPDNSClient.InterceptionContext
    ) async throws -> HTTPDNSClient.Response {
        do {
            guard request.body.isEmpty, egress.isDirect(request), context.constraints.redirectedFrom == nil,
                context.frame?.observed == nil
            else { return try await transfer(request, to: rewritten(request, context), admitted: context) }
            let freshAfter = context.constraints.freshAfter
            let rewritten: HTTPDNSRewriter.RewrittenRequest
            if let known = try rewriter.rewriteAtOnce(
                request,
                carrying: context.rewritten,
                freshAfter,
                context.received
            ) {
                rewritten = known
            } else {
                let deadline = context.call.firstDeadline
                rewritten = try await rewriter.rewriteLater(request, deadline: deadline, freshAfter)
            }
            guard admissions.isEmpty, choice.isGiven, !rewritten.content.resolution.awaitsFamily else {
                return try await transfer(request, to: rewritten, admitted: context)
            }
            let fixed = try fixedHop(request, rewritten, context)
            let hop = HopRecord(rewritten: fixed.rewritten, time: context.call)
            do {
                let answer: HopAnswer
                do {
                    answer = HopAnswer(try await begin(request, fixed, context).response())
                } catch let begun as HopMustWait {
                    // Its endpoints are fixed: to fix them again could give another decision.
                    answer = try await sender.send(begun.request, unless: { isStale(context) })
                }
                return response(to: request, answer, fixed, hop, context)
            } catch let failure as TransferFailure {
                return try await goOn(request, from: rewritten, after: error(failure, on: hop, context), context)
            }
        } catch is StaleSettings {
            return try await settleAgain(request, context)
        }
    }

    /// Prepares a hop again whose settings have changed, and sends it.
    func settleAgain(
        _ request: HTTPDNSClient.Request,
        _ context: HTTPDNSClient.InterceptionContext
    ) async throws -> HTTPDNSClient.Response {
        var (request, context) = (request, context)
        try await settle(&request, &context)
        return try await rewriteAndSend(request, context)
    }

    /// Sends a rewritten hop, after a wait for a connection where connections are limited.
    private func transfer(
        _ request: HTTPDNSClient.Request,
        to rewritten: HTTPDNSRewriter.RewrittenRequest,
        admitted context: HTTPDNSClient.InterceptionContext
    ) async throws -> HTTPDNSClient.Response {
        guard !admissions.isEmpty, let (permit, hasWaited) = try await admit(request, to: rewritten, context) else {
            return try await connect(request, to: rewritten, context)
        }
        var (rewritten, context) = (rewritten, context)
        context.permit = permit
        // Meanwhile the mapping, the age of the answer or the kill switch may have changed.
        if hasWaited { rewritten = try await self.rewritten(request, context) }
        return try await connect(request, to: rewritten, context)
    }

    /// Sends the first hop of a call without interceptors.
    func sendFirstHop(
        _ request: HTTPDNSClient.Request,
        _ context: inout HTTPDNSClient.InterceptionContext
    ) async throws -> HTTPDNSClient.Response {
        if let responseCache, cookies == nil, settleAtOnce(&context),
            let stored = try storedAtOnce(responseCache, request, context)
        {
            return stored
        }
        guard storesNothing, settleAtOnce(&context) else { return try await sendHop(request, context) }
        return try await rewriteAndSend(request, context)
    }

    /// Returns the hop with its host and addresses.
    /// - Throws: ``HTTPDNSClientError``, `CancellationError`.
    func rewritten(
        _ request: HTTPDNSClient.Request,
        _ context: HTTPDNSClient.InterceptionContext
    ) async throws -> HTTPDNSRewriter.RewrittenRequest {
        if !egress.isDirect(request), let unresolved = try unresolved(request) {
            context.frame?.observed?.noteResolved(context.sending, unresolved)
            return unresolved
        }
        var rewritten =
            if let trace = context.frame?.observed?.trace {
                try await rewrite(request, context, tracedBy: trace)
            } else {
                try await rewriter.rewrite(
                    request,
                    carrying: context.rewritten,
                    deadline: context.call.firstDeadline,
                    freshAfter: context.constraints.freshAfter
                )
            }
        if let scope = context.constraints.redirectedFrom {
            rewritten = try rewriter.keptOutside(rewritten, for: request, redirectedFrom: scope)
        }
        context.frame?.observed?.noteResolved(context.sending, rewritten)
        return rewritten
    }
}
