internal import HTTPDNSPrimitives
internal import HTTPTypes
internal import Logging

// This step is outside redirects and inside application interceptors: a retry repeats the call with all its hops.
extension Pipeline {
    /// The maximum age of an answer that a failed try does not query again, because the result would be the same. It
    /// also bounds the cost of a thousand failing requests: one query a second.
    private static let stillFresh: Duration = .seconds(1)

    /// Sends a request, and repeats it as its retry policy demands.
    func sendAgain(_ request: HTTPDNSClient.Request, _ context: HTTPDNSClient.InterceptionContext) async throws
        -> HTTPDNSClient.Response
    {
        retrying.noteCall()
        let first: Result<HTTPDNSClient.Response, any Error>
        do {
            let response = try await follow(request, context)
            // Nearly all calls end here without reading a policy.
            guard response.status.code >= 400 else { return response }
            first = .success(response)
        } catch {
            first = .failure(error)
        }
        let policy = request.own?.options.retries.inheriting(from: retries) ?? retries
        guard policy.limit > 0, !request.options.stopsBeforeSending else { return try first.get() }
        return try await retry(request, context, policy, after: first)
    }

    private func retry(
        _ request: HTTPDNSClient.Request,
        _ context: HTTPDNSClient.InterceptionContext,
        _ policy: HTTPDNSClient.RetryPolicy,
        after first: Result<HTTPDNSClient.Response, any Error>
    ) async throws -> HTTPDNSClient.Response {
        var context = context
        var run = RetryRun(policy, request)
        var trail = RetryTrail()
        var result = first
        while let outcome = outcome(of: result, context),
            let wait = run.next(
                after: outcome,
                isBodySpent: request.body.isSpent,
                left: context.call.firstDeadline.map { $0 - SystemTimeSource().now() },
                random: retrying.chance()
            ), !gate.isClosed, retrying.take(retries.budget)
        {
            logRetry(outcome, wait)
            trail.add(result)
            if case .success(let response) = result { try await response.body.drain() }
            // The time is taken before the wait, so that calls that failed meanwhile share one query.
            context.way = HopConstraints()
            if case .failure = outcome { context.way.freshAfter = retrying.time.now() - Pipeline.stillFresh }
            context.rewritten = nil
            guard try await gate.sleep(until: retrying.time.now() + wait, on: retrying.time) else {
                return try trail.completed(.failure(HTTPDNSClientError.shutDown)).get()
            }
            trail.noteRetry()
            context.call.nextHop(after: request)
            do {
                result = .success(try await follow(request, context))
            } catch {
                result = .failure(error)
            }
        }
        return try trail.completed(result).get()
    }

    private func outcome(
        of result: Result<HTTPDNSClient.Response, any Error>,
        _ context: HTTPDNSClient.InterceptionContext
    ) -> RetryRun.Outcome? {
        switch result {
        case .success(let response) where response.status.code < 400:
            return nil
        case .success(let response):
            return .status(
                response.status.code,
                retryAfter: RetryAfter.wait(in: response.headerFields, now: retrying.calendarSeconds())
            )
        case .failure(let error):
            guard let error = error as? HTTPDNSClientError else { return nil }
            // An interceptor's own error does not know what was sent inside it.
            let mayHaveBeenSent = error.requestMayHaveBeenSent || context.frame?.mayHaveSent == true
            return .failure(error.code, error.stage, mayHaveBeenSent: mayHaveBeenSent)
        }
    }

    private func logRetry(_ outcome: RetryRun.Outcome, _ wait: Duration) {
        guard let logger, logger.logLevel <= .debug else { return }
        let reason =
            switch outcome {
            case .status(let status, _): "\(status)"
            case .failure(let code, let stage, _): "\(code)/\(stage)"
            }
        logger.debug("request is sent again", metadata: ["after": "\(wait.shortText)", "reason": "\(reason)"])
    }
}

/// The record of earlier tries that the result of the last one includes.
private struct RetryTrail {
    private var exchanges: [HTTPDNSClient.Exchange] = []
    private var attempts: [HTTPDNSClientError.Attempt] = []
    private var mayHaveBeenSent = false
    private var retries = 0
    private var isEmpty = true

    mutating func noteRetry() { retries += 1 }

    mutating func add(_ result: Result<HTTPDNSClient.Response, any Error>) {
        isEmpty = false
        switch result {
        case .success(let response):
            exchanges += response.exchanges
            mayHaveBeenSent = true
        case .failure(let error):
            guard let error = error as? HTTPDNSClientError else { return }
            attempts += error.attempts
            if error.requestMayHaveBeenSent { mayHaveBeenSent = true }
        }
    }

    func completed(_ result: Result<HTTPDNSClient.Response, any Error>) -> Result<HTTPDNSClient.Response, any Error> {
        guard !isEmpty else { return result }
        switch result {
        case .success(var response):
            response.exchanges = exchanges + response.exchanges
            return .success(response)
        case .failure(let error):
            guard var error = error as? HTTPDNSClientError else { return result }
            error.attempts = attempts + error.attempts
            error.retries = retries
            if mayHaveBeenSent { error.requestMayHaveBeenSent = true }
            return .failure(error)
        }
    }
}
