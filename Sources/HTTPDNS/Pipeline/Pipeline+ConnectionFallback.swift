// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

internal import HTTPDNSCore
internal import HTTPDNSCurl
internal import HTTPDNSPrimitives

// This step is between the admission and the transfer: the system path for addresses that refuse connections.
extension Pipeline {
    /// Sends a hop to its addresses, and to those of the system resolver if none accepts a connection and its route
    /// allows it. By then nothing was sent, and no stream was read.
    func connect(
        _ request: HTTPDNSClient.Request,
        to rewritten: HTTPDNSRewriter.RewrittenRequest,
        _ context: HTTPDNSClient.InterceptionContext
    ) async throws -> HTTPDNSClient.Response {
        if rewritten.isUnresolved { return try await transfer(request, to: rewritten, context) }
        switch choice.path(for: rewritten) {
        case .given:
            do {
                return try await transfer(request, to: rewritten, context)
            } catch let error as HTTPDNSClientError {
                return try await goOn(request, from: rewritten, after: error, context)
            }
        case .trial:
            return try await tryGiven(request, rewritten, context)
        case .system:
            return try await goAhead(request, rewritten, context)
        }
    }

    /// Sends a hop again if no given address has accepted a connection: to the addresses of a family whose lookup took
    /// longer, then to those of the system resolver if its route allows it.
    /// - Throws: The error, if it is another one.
    func goOn(
        _ request: HTTPDNSClient.Request,
        from rewritten: HTTPDNSRewriter.RewrittenRequest,
        after error: HTTPDNSClientError,
        _ context: HTTPDNSClient.InterceptionContext
    ) async throws -> HTTPDNSClient.Response {
        guard error.isAboutConnection else { throw error }
        var error = error
        do {
            let response = try await transferToLateFamily(request, from: rewritten, after: error, context)
            if let response { return response }
        } catch let last as HTTPDNSClientError where last.isAboutConnection {
            error = last
        }
        guard rewritten.mayFallBack, !request.options.stopsBeforeSending else { throw error }
        return try await fallBack(request, from: rewritten, after: error, context)
    }

    private func fallBack(
        _ request: HTTPDNSClient.Request,
        from rewritten: HTTPDNSRewriter.RewrittenRequest,
        after error: HTTPDNSClientError,
        _ context: HTTPDNSClient.InterceptionContext
    ) async throws -> HTTPDNSClient.Response {
        do {
            let response = try await transferBySystem(request, rewritten, besides: error.attempts, context)
            choice.counting.count(\.fallbacks)
            choice.noteSystemFallback(rewritten)
            return response
        } catch let second as HTTPDNSClientError {
            choice.counting.count(\.fallbacksFailed)
            throw error.followed(by: second)
        }
    }

    /// Sends one request as a trial of the given addresses.
    private func tryGiven(
        _ request: HTTPDNSClient.Request,
        _ rewritten: HTTPDNSRewriter.RewrittenRequest,
        _ context: HTTPDNSClient.InterceptionContext
    ) async throws -> HTTPDNSClient.Response {
        do {
            let response = try await transfer(request, to: rewritten, context)
            choice.noteGivenWorked(rewritten)
            return response
        } catch let error as HTTPDNSClientError where error.isAboutConnection {
            do {
                return try await fallBack(request, from: rewritten, after: error, context)
            } catch {
                choice.noteTrialSaidNothing(rewritten)
                throw error
            }
        } catch {
            choice.noteTrialSaidNothing(rewritten)
            throw error
        }
    }

    /// Sends a request after an earlier one had to fall back. If the system's addresses fail now, the given ones are
    /// tried after all.
    private func goAhead(
        _ request: HTTPDNSClient.Request,
        _ rewritten: HTTPDNSRewriter.RewrittenRequest,
        _ context: HTTPDNSClient.InterceptionContext
    ) async throws -> HTTPDNSClient.Response {
        do {
            let response = try await transferBySystem(request, rewritten, besides: [], context)
            choice.counting.count(\.fallbacksShortCircuited)
            return response
        } catch let error as HTTPDNSClientError
            where error.isAboutConnection || error.phase == .resolve || error.phase == .policy
        {
            // A limit of a redirect, or of a call with networks of its own, does not apply to others.
            let isOwnLimit =
                context.constraints.redirectedFrom != nil || reachableNetworks(of: request, context) != clientNetworks
            if error.phase != .policy || !isOwnLimit { choice.noteSystemFailed(rewritten) }
            do {
                return try await transfer(request, to: rewritten, context)
            } catch let second as HTTPDNSClientError {
                throw second.followed(by: error)
            }
        }
    }

    private func transferBySystem(
        _ request: HTTPDNSClient.Request,
        _ rewritten: HTTPDNSRewriter.RewrittenRequest,
        besides tried: [HTTPDNSClientError.Attempt],
        _ context: HTTPDNSClient.InterceptionContext
    ) async throws -> HTTPDNSClient.Response {
        let bySystem = try await rewriter.systemPath(
            of: rewritten,
            for: request,
            on: context.constraints,
            deadline: context.call.firstDeadline
        ) { endpoint in
            !tried.contains { $0.endpoint == endpoint }
        }
        context.frame?.observed?.noteResolved(context.sending, bySystem)
        return try await transfer(request, to: bySystem, context, usedSystemFallback: true)
    }
}

extension HTTPDNSClientError {
    /// Whether the request failed without a connection, before anything of it was sent.
    fileprivate var isAboutConnection: Bool {
        // Other addresses would go through the same proxy.
        code != .proxyUnreachable && (underlying as? TransferFailure)?.isAboutConnection ?? false
    }

    /// Returns the error with the result of the system path added.
    fileprivate func followed(by second: HTTPDNSClientError) -> HTTPDNSClientError {
        var error = self
        error.usedSystemFallback = true
        error.trail.append(second.trail)
        error.requestMayHaveBeenSent = error.requestMayHaveBeenSent || second.requestMayHaveBeenSent
        error.message += "; by the system resolver: \(second.message)"
        return error
    }
}

/// The hosts whose requests use the addresses of the system resolver directly, because a provider's addresses refused
/// connections and the system's did not. A value that receives events and times.
///
/// After such a fallback all requests to the host take the system path for 30 s. Then one request tries the provider's
/// addresses, and the others stay. If it has to fall back as well, the time doubles, up to 5 minutes. A failing
/// provider therefore costs one request its connect timeout, and not each.
struct FallbackBreaker: Sendable {
    /// The addresses that a request tries first.
    enum Path: Equatable, Sendable {
        /// The given addresses; no failure of them is known.
        case given
        /// The given addresses, as a trial for all other requests. Its result must be recorded.
        case trial
        /// The addresses of the system resolver.
        case system
    }

    private struct Entry: Sendable {
        var until: MonotonicTime
        var rest: Duration
        var isTried = false
    }

    static let shortestRest = Duration.seconds(30)
    static let longestRest = Duration.seconds(300)
    /// The maximum number of remembered hosts. An entry takes about 100 bytes; with more failing hosts, each forgotten
    /// one costs another fallback.
    static let maximumEntries = 4096

    private var entries: [HopOrigin: Entry] = [:]

    var count: Int { entries.count }

    mutating func path(for origin: HopOrigin, at now: MonotonicTime) -> Path {
        guard let entry = entries[origin] else { return .given }
        guard now >= entry.until, !entry.isTried else { return .system }
        entries[origin]?.isTried = true
        return .trial
    }

    /// Records that the given addresses refused connections, and the system's responded. Several requests that find
    /// this out together count once.
    mutating func recordSystemFallback(_ origin: HopOrigin, at now: MonotonicTime) {
        if let entry = entries[origin] {
            guard now >= entry.until else { return }
            let rest = min(entry.rest * 2, FallbackBreaker.longestRest)
            entries[origin] = Entry(until: now + rest, rest: rest)
            return
        }
        if entries.count >= FallbackBreaker.maximumEntries,
            let any = entries.min(by: { $0.value.until < $1.value.until })
        {
            entries[any.key] = nil
        }
        let rest = FallbackBreaker.shortestRest
        entries[origin] = Entry(until: now + rest, rest: rest)
    }

    /// Records that the given addresses responded, or that the system's failed as well.
    mutating func forget(_ origin: HopOrigin) {
        entries[origin] = nil
    }

    /// Records that a trial ended without a result about the addresses, such as by cancellation: the next request is a
    /// trial.
    mutating func trialSaidNothing(_ origin: HopOrigin) {
        entries[origin]?.isTried = false
    }
}
