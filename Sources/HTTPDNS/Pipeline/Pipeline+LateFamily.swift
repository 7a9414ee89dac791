// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

internal import HTTPDNSCore
internal import HTTPDNSCurl
internal import HTTPDNSPrimitives

// A hop begins with the addresses of one family when the lookup of the other one takes too long (RFC 8305 section 3).
// Its race gets the late addresses while it has no connection. When every attempt has failed before, the hop waits for
// them.
extension Pipeline {
    /// Starts to wait for the late addresses of a hop, for its race; nil when its addresses are complete.
    func lateEndpoints(
        of rewritten: HTTPDNSRewriter.RewrittenRequest,
        for request: HTTPDNSClient.Request,
        _ context: HTTPDNSClient.InterceptionContext
    ) -> Task<[HTTPDNSEndpoint], Never>? {
        guard rewritten.content.resolution.awaitsFamily else { return nil }
        // Not the context itself: it would keep the connection permit.
        let networks = reachableNetworks(of: request, context)
        let scope = context.constraints.redirectedFrom
        return CallWork.detached { [self] in
            let late = await lateHop(of: rewritten, for: request, besides: [], in: networks, redirectedFrom: scope)
            return late?.addresses ?? []
        }
    }

    /// Sends a hop to its late addresses after no other one has accepted a connection. They are awaited no longer than
    /// the connect limit.
    /// - Returns: Nil when no other address has come by then.
    /// - Throws: The error of this sending, with all attempts.
    func transferToLateFamily(
        _ request: HTTPDNSClient.Request,
        from rewritten: HTTPDNSRewriter.RewrittenRequest,
        after error: HTTPDNSClientError,
        _ context: HTTPDNSClient.InterceptionContext
    ) async throws -> HTTPDNSClient.Response? {
        guard rewritten.content.resolution.awaitsFamily else { return nil }
        let networks = reachableNetworks(of: request, context)
        let scope = context.constraints.redirectedFrom
        let tried = error.attempts.map(\.endpoint)
        let clock = SystemTimeSource()
        // Without a connect limit the lookup's own limit is the shorter one.
        let connect =
            clock.now() + (context.options(of: request).settings.options.shared.timeouts.connect ?? .seconds(300))
        let end = context.call.firstDeadline.map { min($0, connect) } ?? connect
        let wait = await LimitedWork.run(until: end, on: clock) { [self] in
            await lateHop(of: rewritten, for: request, besides: tried, in: networks, redirectedFrom: scope)
        }
        try Task.checkCancellation()
        guard case .succeeded(let late?) = wait else { return nil }
        context.frame?.observed?.noteResolved(context.sending, late)
        do {
            return try await transfer(request, to: late, context)
        } catch var last as HTTPDNSClientError {
            last.trail = error.trail.appending(last.trail)
            throw last
        }
    }

    /// Returns the hop with its late addresses alone, as soon as they are known; nil when it has none.
    /// - Parameter tried: Addresses that are not wanted.
    private func lateHop(
        of rewritten: HTTPDNSRewriter.RewrittenRequest,
        for request: HTTPDNSClient.Request,
        besides tried: [HTTPDNSEndpoint],
        in networks: HTTPDNSClient.ReachableNetworks,
        redirectedFrom scope: HTTPDNSAddressPolicy.Scope?
    ) async -> HTTPDNSRewriter.RewrittenRequest? {
        guard let complete = await rewriter.completedResolution(of: rewritten, for: request) else { return nil }
        let known = rewritten.addresses + tried
        var late = complete
        late.endpoints = complete.endpoints.filter { endpoint in
            !known.contains(endpoint) && networks.contains(endpoint.address)
                && rewriter.mayBeReached(endpoint.address, as: complete, redirectedFrom: scope)
        }
        return late.endpoints.isEmpty ? nil : rewriter.replacing(late, in: rewritten, for: request)
    }
}
