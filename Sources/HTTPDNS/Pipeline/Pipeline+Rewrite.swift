// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

// This step is inside network interceptors: it fixes the host and the addresses of a hop.
extension Pipeline {
    /// Sends a hop, and prepares it again when the settings change before it is sent. Its interceptors do not run
    /// again. After a wait for a connection the rewriter runs again.
    func rewriteAndTransfer(
        _ request: HTTPDNSClient.Request,
        _ context: HTTPDNSClient.InterceptionContext
    ) async throws -> HTTPDNSClient.Response {
        do {
            var rewritten: HTTPDNSRewriter.RewrittenRequest
            if egress.isDirect(request), context.constraints.redirectedFrom == nil {
                let (carried, freshAfter) = (context.rewritten, context.constraints.freshAfter)
                // Most answers are known, and need no function that may wait.
                if let known = try rewriter.rewriteAtOnce(request, carrying: carried, freshAfter) {
                    rewritten = known
                } else {
                    let deadline = context.call.firstDeadline
                    rewritten = try await rewriter.rewriteLater(request, deadline: deadline, freshAfter)
                }
            } else {
                rewritten = try await self.rewritten(request, context)
            }
            guard !admissions.isEmpty, let (permit, hasWaited) = try await admit(request, to: rewritten, context) else {
                return try await connect(request, to: rewritten, context)
            }
            // Meanwhile the mapping, the age of the answer or the kill switch may have changed.
            if hasWaited { rewritten = try await self.rewritten(request, context) }
            var context = context
            context.permit = permit
            return try await connect(request, to: rewritten, context)
        } catch is StaleSettings {
            var (request, context) = (request, context)
            try await settle(&request, &context)
            return try await rewriteAndTransfer(request, context)
        }
    }

    /// Returns the hop with its host and addresses.
    /// - Throws: ``HTTPDNSClientError``, `CancellationError`.
    func rewritten(
        _ request: HTTPDNSClient.Request,
        _ context: HTTPDNSClient.InterceptionContext
    ) async throws -> HTTPDNSRewriter.RewrittenRequest {
        if !egress.isDirect(request), let unresolved = try unresolved(request) { return unresolved }
        let rewritten = try await rewriter.rewrite(
            request,
            carrying: context.rewritten,
            deadline: context.call.firstDeadline,
            freshAfter: context.constraints.freshAfter
        )
        guard let scope = context.constraints.redirectedFrom else { return rewritten }
        return try rewriter.keptOutside(rewritten, for: request, redirectedFrom: scope)
    }
}
