// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

internal import HTTPDNSCurl

// This step is inside network interceptors: it fixes the host and the addresses of a hop.
extension Pipeline {
    /// Sends a hop, and notes that for the observers of the call.
    /// Returns the hop with its host and addresses.
    /// - Throws: ``HTTPDNSClientError``, `CancellationError`.
    func rewritten(
        _ request: HTTPDNSClient.Request,
        _ context: HTTPDNSClient.InterceptionContext
    ) async throws -> HTTPDNSRewriter.RewrittenRequest {
        let observed = context.frame?.observed
        if !egress.isDirect(request), let unresolved = try unresolved(request) {
            observed?.noteResolved(context.sending, unresolved)
            return unresolved
        }
        let freshAfter = context.constraints.freshAfter
        var rewritten: HTTPDNSRewriter.RewrittenRequest
        if let cached = try rewriter.cached(request, carrying: context.rewritten, freshAfter, context.received) {
            rewritten = cached
        } else {
            let start = observed?.trace.map { _ in SystemTimeSource().now() }
            do {
                rewritten = try await rewriter.lookedUp(request, deadline: context.call.firstDeadline, freshAfter)
                if let start {
                    observed?.trace?.noteLookup(
                        of: rewritten.content.url.host,
                        since: start,
                        .success(rewritten.addresses)
                    )
                }
            } catch {
                if let start, let host = try? HTTPDNSRewriter.Canonicalizer.canonicalize(request.url).host {
                    observed?.trace?.noteLookup(of: host, since: start, .failure(error))
                }
                throw error
            }
        }
        if let scope = context.constraints.redirectedFrom {
            rewritten = try rewriter.keptOutside(rewritten, for: request, redirectedFrom: scope)
        }
        observed?.noteResolved(context.sending, rewritten)
        return rewritten
    }
}
