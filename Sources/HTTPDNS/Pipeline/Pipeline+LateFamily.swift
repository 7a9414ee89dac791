// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

internal import HTTPDNSCore
internal import HTTPDNSCurl
internal import HTTPDNSPrimitives

// A hop begins with the addresses of one family when the lookup of the other one takes too long (RFC 8305 section 3).
// Its race gets the late addresses while it has no connection. When every attempt has failed before, the hop waits for
// them.
extension Pipeline {
    /// Starts to wait for the late addresses of a hop, for its race.
    func lateEndpoints(
        of rewritten: HTTPDNSRewriter.RewrittenRequest,
        for request: HTTPDNSClient.Request,
        _ context: HTTPDNSClient.InterceptionContext
    ) -> Task<[HTTPDNSEndpoint], Never> {
        let networks = reachableNetworks(of: request, context)
        let scope = context.constraints.redirectedFrom
        return CallWork.detached { [self] in
            let late = await lateHop(of: rewritten, for: request, besides: [], in: networks, redirectedFrom: scope)
            return late?.addresses ?? []
        }
    }

    /// Waits for the late addresses of a hop after no other one has accepted a connection, no longer than the connect limit.
    /// - Returns: The hop with them; nil when no other address has come by then.
    /// - Throws: `CancellationError`.
    func lateFamily(
        of hop: InnerHop,
        for request: HTTPDNSClient.Request,
        _ context: HTTPDNSClient.InterceptionContext
    ) async throws -> HTTPDNSRewriter.RewrittenRequest? {
        let (rewritten, networks) = (hop.rewritten, reachableNetworks(of: request, context))
        let scope = context.constraints.redirectedFrom
        let tried = hop.failure?.attempts.map(\.endpoint) ?? []
        let clock = SystemTimeSource()
        // Without a connect limit the lookup's own limit is the shorter one.
        let connect =
            clock.now() + (context.options(of: request).shared.timeouts.connect ?? .seconds(300))
        let end = context.call.firstDeadline.map { min($0, connect) } ?? connect
        let wait = await LimitedWork.run(until: end, on: clock) { [self] in
            await lateHop(of: rewritten, for: request, besides: tried, in: networks, redirectedFrom: scope)
        }
        try Task.checkCancellation()
        guard case .succeeded(let late?) = wait else { return nil }
        context.frame?.observed?.note(.resolved(context.sending, late))
        return late
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
