// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

internal import HTTPDNSCore
internal import HTTPDNSCurl
internal import HTTPDNSPrimitives

/// One hop inside the network interceptors: the addresses that it is sent to, and what follows when no connection to them can
/// be made. By then nothing was sent, and no stream was read.
///
/// It is first sent to the given addresses. If none accepts a connection, it is sent to the addresses of a family whose lookup
/// took longer, and then to those of the system resolver if its route allows it. For some time after that, hops of the host are
/// sent to the addresses of the system first; see ``FallbackBreaker``.
struct InnerHop {
    /// The next wait of the hop.
    enum Action {
        /// The response from the addresses of ``rewritten``.
        case transfer
        /// The addresses of a family whose lookup is in flight.
        case awaitFamily
        /// The addresses of the system resolver.
        case resolveBySystem
        /// Other settings, which have replaced those of the hop before it was sent.
        case prepareAgain
    }

    private enum Stage {
        case given
        /// The family whose lookup took longer.
        case late
        /// The system path, after the given addresses.
        case system
        /// The system path, before the given addresses.
        case systemFirst
        /// The given addresses, after the system path.
        case givenLast
    }

    private(set) var next: Action
    /// The request with the addresses that it is sent to.
    private(set) var rewritten: HTTPDNSRewriter.RewrittenRequest
    /// The error of the addresses before the present ones.
    private(set) var failure: HTTPDNSClientError?
    private var stage: Stage
    private let given: HTTPDNSRewriter.RewrittenRequest
    private let mayFallBack: Bool
    /// Whether the hop finds out for others whether the given addresses accept connections again.
    private let isTrial: Bool

    /// - Parameters:
    ///   - path: The addresses that come first.
    ///   - mayFallBack: Whether those of the system resolver may follow the given ones.
    init(_ rewritten: HTTPDNSRewriter.RewrittenRequest, path: FallbackBreaker.Path, mayFallBack: Bool) {
        self.rewritten = rewritten
        given = rewritten
        self.mayFallBack = mayFallBack
        isTrial = path == .trial
        (stage, next) = path == .system ? (.systemFirst, .resolveBySystem) : (.given, .transfer)
    }

    /// Whether the present addresses are those of the system resolver.
    var usesSystemPath: Bool { stage == .system || stage == .systemFirst }

    /// Takes the addresses that it has waited for; nil when there is no other one.
    /// - Throws: The error of the addresses before, as another result of the present step.
    mutating func send(to other: HTTPDNSRewriter.RewrittenRequest?) throws {
        if let other { (rewritten, next) = (other, .transfer) } else if let failure { throw failure }
    }

    /// Takes that other settings have replaced those of the hop.
    mutating func prepareAgain(_ choice: ConnectionChoice) {
        leave(choice)
        next = .prepareAgain
    }

    /// Takes an error of the present step.
    /// - Parameters:
    ///   - isSpent: Whether the body of the request was read, and cannot be read again.
    ///   - hasOwnLimit: Whether the hop may reach less than others of its host: what it finds out about the system path does not
    ///     apply to them.
    /// - Throws: The error of the hop, when there is nothing else to do.
    mutating func goOn(after error: any Error, isSpent: Bool, hasOwnLimit: Bool, in choice: ConnectionChoice) throws {
        guard let error = error as? HTTPDNSClientError else {
            leave(choice)
            throw error
        }
        let mayTryOthers = error.isAboutConnection && !isSpent
        switch stage {
        case .given where mayTryOthers && given.content.resolution.awaitsFamily:
            (failure, stage, next) = (error, .late, .awaitFamily)
        case .given, .late:
            // Without a late address it is the error of the given ones.
            let all = next == .awaitFamily ? error : error.after(failure)
            guard mayTryOthers, mayFallBack else {
                leave(choice)
                throw all
            }
            (failure, stage, next, rewritten) = (all, .system, .resolveBySystem, given)
        case .system:
            leave(choice)
            choice.count(\.fallbacksFailed)
            throw failure?.followed(by: error) ?? error
        case .systemFirst:
            guard mayTryOthers || error.phase == .resolve || error.phase == .policy else { throw error }
            if error.phase != .policy || !hasOwnLimit { choice.forget(given) }
            (failure, stage, next, rewritten) = (error, .givenLast, .transfer, given)
        case .givenLast: throw failure.map { error.followed(by: $0) } ?? error
        }
    }

    /// Notes that the hop has a response.
    func noteResponse(in choice: ConnectionChoice) {
        switch stage {
        case .given, .late: if isTrial { choice.forget(given) }
        case .system:
            choice.count(\.fallbacks)
            choice.noteSystemFallback(given)
        case .systemFirst: choice.count(\.fallbacksShortCircuited)
        case .givenLast: break
        }
    }

    /// Notes that the hop ends without having found out anything about the given addresses.
    func leave(_ choice: ConnectionChoice) {
        if isTrial { choice.noteTrialSaidNothing(given) }
    }
}

extension Pipeline {
    /// Sends a hop that its network interceptors have passed on.
    func sendInner(
        _ request: HTTPDNSClient.Request,
        _ context: HTTPDNSClient.InterceptionContext
    ) async throws -> HTTPDNSClient.Response {
        guard let observed = context.frame?.observed else { return try await sendPrepared(request, context) }
        var context = context
        context.sending = observed.beginSending(context.hop, request)
        do {
            return try await sendPrepared(request, context)
        } catch {
            observed.note(.failed(context.sending, error))
            throw error
        }
    }

    /// Sends a hop. When the settings change before it is sent, it is prepared again; its interceptors do not run again.
    func sendPrepared(
        _ request: HTTPDNSClient.Request,
        _ context: HTTPDNSClient.InterceptionContext
    ) async throws -> HTTPDNSClient.Response {
        var rewritten: HTTPDNSRewriter.RewrittenRequest
        var permit: ConnectionPermit?
        do {
            rewritten = try await self.rewritten(request, context)
            if !admissions.queues.isEmpty {
                let hasWaited: Bool
                (permit, hasWaited) = try await admissions.admit(request, to: rewritten, context)
                // Meanwhile the mapping, the age of the answer or the kill switch may have changed.
                if hasWaited { rewritten = try await self.rewritten(request, context) }
            }
        } catch let error where isStale(context) && !(error is CancellationError) {
            // What has failed by the former settings says nothing about the newer ones. Without the permit, which it will ask for.
            permit = nil
            return try await sendPreparedAgain(request, context)
        }
        let isHanded = request.handedSocket != nil
        let isProbe = request.own?.callOptions.stopsBeforeSending == true && !isHanded
        var path = isProbe ? .given : choice.path(for: rewritten)
        if isHanded, path == .trial {
            // What it finds out about TCP is no result for requests over TLS.
            choice.noteTrialSaidNothing(rewritten)
            path = .given
        }
        var hop = InnerHop(rewritten, path: path, mayFallBack: !isProbe && rewritten.mayFallBack)
        while hop.next != .prepareAgain {
            do {
                switch hop.next {
                case .transfer:
                    let (rewritten, usesSystemPath) = (hop.rewritten, hop.usesSystemPath)
                    if let response = try await transfer(
                        request,
                        to: rewritten,
                        context,
                        permit,
                        usesSystemPath: usesSystemPath
                    ) {
                        hop.noteResponse(in: choice)
                        return response
                    }
                    hop.prepareAgain(choice)
                case .awaitFamily: try hop.send(to: try await lateFamily(of: hop, for: request, context))
                case .resolveBySystem: try hop.send(to: try await bySystem(hop, for: request, context))
                case .prepareAgain: break
                }
            } catch let error as HTTPDNSClientError where error.endpointOfConnection != nil {
                hop.noteResponse(in: choice)
                throw error
            } catch {
                // A limit of a redirect, or of a call with networks of its own, does not apply to others.
                let hasOwnLimit =
                    context.constraints.redirectedFrom != nil
                    || reachableNetworks(of: request, context) != clientNetworks
                try hop.goOn(after: error, isSpent: request.body.isSpent, hasOwnLimit: hasOwnLimit, in: choice)
            }
        }
        // The client's fields may be computed by code that needs a connection.
        permit = nil
        return try await sendPreparedAgain(request, context)
    }

    /// Sends a hop whose settings were replaced before it was sent.
    // Not inlined, as other rare steps: what they use would be a part of the memory of each hop.
    @inline(never)
    private func sendPreparedAgain(
        _ request: HTTPDNSClient.Request,
        _ context: HTTPDNSClient.InterceptionContext
    ) async throws -> HTTPDNSClient.Response {
        limitUntilNextHead(after: request, context)
        var newer = (request, context)
        try await prepare(&newer.0, &newer.1)
        return try await sendPrepared(newer.0, newer.1)
    }

    /// Returns the hop with its host and addresses.
    /// - Throws: ``HTTPDNSClientError``, `CancellationError`.
    func rewritten(
        _ request: HTTPDNSClient.Request,
        _ context: HTTPDNSClient.InterceptionContext
    ) async throws -> HTTPDNSRewriter.RewrittenRequest {
        let observed = context.frame?.observed
        if !egress.isDirect(request), let unresolved = try unresolved(request) {
            observed?.note(.resolved(context.sending, unresolved))
            return unresolved
        }
        let freshAfter = context.constraints.freshAfter
        var rewritten: HTTPDNSRewriter.RewrittenRequest
        if let cached = try rewriter.cached(request, carrying: context.rewritten, freshAfter, context.received) {
            rewritten = cached
        } else {
            rewritten = try await lookedUp(request, context)
        }
        if let scope = context.constraints.redirectedFrom {
            rewritten = try rewriter.keptOutside(rewritten, for: request, redirectedFrom: scope)
        }
        observed?.note(.resolved(context.sending, rewritten))
        return rewritten
    }

    /// Returns the hop with the addresses of a lookup that it waits for.
    @inline(never)
    private func lookedUp(
        _ request: HTTPDNSClient.Request,
        _ context: HTTPDNSClient.InterceptionContext
    ) async throws -> HTTPDNSRewriter.RewrittenRequest {
        let observed = context.frame?.observed
        let start = observed?.trace.map { _ in SystemTimeSource().now() }
        let (deadline, freshAfter) = (context.call.firstDeadline, context.constraints.freshAfter)
        do {
            let rewritten = try await rewriter.lookedUp(request, deadline: deadline, freshAfter)
            if let start {
                let host = rewritten.content.url.host
                observed?.note(.lookedUp(host, since: start, .success(rewritten.addresses)))
            }
            return rewritten
        } catch {
            if let start, let host = try? HTTPDNSRewriter.Canonicalizer.canonicalize(request.url).host {
                observed?.note(.lookedUp(host, since: start, .failure(error)))
            }
            throw error
        }
    }

    /// Returns the hop with the addresses of the system resolver, without those that were tried.
    @inline(never)
    private func bySystem(
        _ hop: InnerHop,
        for request: HTTPDNSClient.Request,
        _ context: HTTPDNSClient.InterceptionContext
    ) async throws -> HTTPDNSRewriter.RewrittenRequest {
        let tried = hop.failure?.attempts ?? []
        let bySystem = try await rewriter.systemPath(
            of: hop.rewritten,
            for: request,
            on: context.constraints,
            deadline: context.call.firstDeadline
        ) { endpoint in
            !tried.contains { $0.endpoint == endpoint }
        }
        context.frame?.observed?.note(.resolved(context.sending, bySystem))
        return bySystem
    }
}
