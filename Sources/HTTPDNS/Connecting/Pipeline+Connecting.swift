internal import HTTPDNSCore
internal import HTTPDNSCurl
internal import HTTPDNSPrimitives

// This step is between the rewriter and the transfer: the system path for addresses that refuse connections.
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
                guard error.isAboutConnection, rewritten.mayFallBack, !request.options.stopsBeforeSending else {
                    throw error
                }
                return try await fallBack(request, from: rewritten, after: error, context)
            }
        case .trial:
            return try await tryGiven(request, rewritten, context)
        case .system:
            return try await goAhead(request, rewritten, context)
        }
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
            choice.noteFellBack(rewritten)
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
            choice.counting.count(\.fallbacksAhead)
            return response
        } catch let error as HTTPDNSClientError
            where error.isAboutConnection || error.stage == .resolve || error.stage == .policy
        {
            // A limit of a redirect, or of a call with networks of its own, does not apply to others.
            let isOwnLimit =
                context.way.redirectedFrom != nil || reachableNetworks(of: request, context) != clientNetworks
            if error.stage != .policy || !isOwnLimit { choice.noteSystemFailed(rewritten) }
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
            on: context.way,
            deadline: context.call.firstDeadline
        ) { endpoint in
            !tried.contains { $0.endpoint == endpoint }
        }
        return try await transfer(request, to: bySystem, context, fellBack: true)
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
        error.fellBack = true
        error.attempts += second.attempts
        error.requestMayHaveBeenSent = error.requestMayHaveBeenSent || second.requestMayHaveBeenSent
        error.message += "; by the system resolver: \(second.message)"
        return error
    }
}
