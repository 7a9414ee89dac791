// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

internal import HTTPDNSCore
internal import HTTPDNSCurl
internal import HTTPDNSPrimitives
internal import HTTPTypes
internal import Logging

/// A call inside its application interceptors: which request is sent next, and what comes before it.
///
/// The requests of a call are nested: each redirect that is followed is a hop, each answer to a challenge repeats the request of
/// its hop, and each retry repeats that. A result is seen from the inside out: it is retried, else its challenge is answered,
/// else its redirect is followed, else it is the result of the call.
struct CallState {
    /// The next wait of the call.
    enum Action {
        /// The field of the credential for the next request.
        case authorize
        /// The response to the next request.
        case send
        /// The end of a body that the caller does not get.
        case drain
        /// The time of a retry.
        case pause
        /// The credential's view of a challenge.
        case learn
        /// The decision of the client's hook about a redirect.
        case ask
    }

    private(set) var next = Action.send
    private(set) var request: HTTPDNSClient.Request
    var context: HTTPDNSClient.InterceptionContext
    /// The last response, while the call goes on.
    @Rare private(set) var response: HTTPDNSClient.Response?
    /// The pause before the next retry.
    private var wait = Duration.zero
    private var afterDrain = Action.send
    private var tries = Tries()
    @Rare private var login: Login?
    @Rare private var redirects: RedirectRun?
    /// The target of the redirect of ``response``.
    @Rare private var redirected: RedirectedRequest?
    /// Whether a challenge or a redirect was the response to an earlier request, whatever happens to the last one.
    private var hasResponse = false

    /// - Throws: ``HTTPDNSClientError`` with code `invalidRequest` for a credential that cannot be used.
    init(
        _ request: consuming HTTPDNSClient.Request,
        _ context: consuming HTTPDNSClient.InterceptionContext,
        _ pipeline: Pipeline
    ) throws(HTTPDNSClientError) {
        self.request = consume request
        self.context = consume context
        try beginHop(pipeline)
    }

    /// A part that few calls have. It stands outside of the state, which each call moves from step to step.
    @propertyWrapper
    struct Rare<Value> {
        private indirect enum Content {
            case value(Value)
        }

        private var content: Content?

        /// Whether there is none, which is known without a copy.
        var isAbsent: Bool { content == nil }
        var wrappedValue: Value? {
            get { if case .value(let value) = content { value } else { nil } }
            set { content = newValue.map(Content.value) }
        }
    }

    /// The tries of one request.
    private struct Tries {
        var trail = RetryTrail()
        @Rare var run: RetryRun?
        /// The time of the first failure.
        var begin: MonotonicTime?
        /// Whether a retry was taken out of the budget and is not sent yet.
        var isTaken = false
    }

    /// The requests of one hop with a credential.
    private struct Login {
        let credential: HTTPDNSClient.Credential
        let target: AuthorizationTarget
        var run: any AuthorizationRun
        var requests = 0
        var exchanges: [HTTPDNSClient.Exchange] = []
    }

    /// The most requests of one hop: without a credential, with an answer, and with an answer to a stale nonce.
    private static let maximumRequests = 3

    // MARK: what comes next

    /// Begins a hop: that of the call, or that of a redirect.
    private mutating func beginHop(_ pipeline: Pipeline) throws(HTTPDNSClientError) {
        (next, tries, _login) = (.send, Tries(), Rare())
        context.authorization = nil
        guard pipeline.mayAuthenticate(request),
            let (credential, target) = try pipeline.authentication.credential(
                for: request,
                context,
                among: pipeline.current.values.credentials
            ), let run = pipeline.authentication.makeRun(credential, target, request, context)
        else { return }
        login = Login(credential: credential, target: target, run: run)
        next = .authorize
    }

    /// Whether a response is that of the call, which nearly all are: it is known without reading a policy.
    func ends(with response: borrowing HTTPDNSClient.Response) -> Bool {
        response.statusCode < 300 && _login.isAbsent && _redirects.isAbsent && tries.trail.isEmpty
    }

    /// Takes the result of a request.
    /// - Returns: The response of the call; nil when it goes on.
    mutating func take(
        _ result: Result<HTTPDNSClient.Response, any Error>,
        _ pipeline: Pipeline
    ) throws -> HTTPDNSClient.Response? {
        if isRepeated(after: result, pipeline) { return nil }
        var response = try result.get()
        tries.trail.addExchanges(to: &response)
        tries = Tries()
        if try isChallenged(&response, pipeline) { return nil }
        return try isRedirected(response, pipeline) ? nil : finished(response)
    }

    /// Returns the response of the call, with the exchanges of all of its requests.
    private func finished(_ response: HTTPDNSClient.Response) -> HTTPDNSClient.Response {
        redirects?.finished(response) ?? response.at(request.url)
    }

    /// Returns the error of the call.
    func failed(_ error: any Error, _ pipeline: Pipeline) -> any Error {
        // A retry that was canceled is no load.
        if tries.isTaken { pipeline.retrying.giveBack() }
        let error = tries.trail.completed(error)
        guard hasResponse, var error = error as? HTTPDNSClientError else { return error }
        error.requestMayHaveBeenSent = true
        return error
    }

    private mutating func drain(_ response: HTTPDNSClient.Response, before action: Action) {
        (self.response, next, afterDrain) = (response, .drain, action)
    }

    /// Reads the rest of the last response's body.
    mutating func drain(_ pipeline: Pipeline) async throws {
        try await response?.body.drain()
        next = afterDrain
        if next != .pause { context.call.restartHeadTime(after: request) }
        if let redirected { try follow(redirected, pipeline) }
    }

    // MARK: retries

    /// The maximum age of an answer that a failed try does not query again, because the result would be the same. It
    /// also bounds the cost of a thousand failing requests: one query a second.
    private static let stillFresh: Duration = .seconds(1)

    /// Decides whether the request is sent again.
    private mutating func isRepeated(
        after result: Result<HTTPDNSClient.Response, any Error>,
        _ pipeline: Pipeline
    ) -> Bool {
        if tries.isTaken {
            tries.isTaken = false
            // A retry that waited for a connection in vain is no load.
            if case .failure(let error) = result, (error as? HTTPDNSClientError)?.phase == .queue {
                pipeline.retrying.giveBack()
            }
        }
        // An interceptor may have made another error of a request that was sent.
        let wasSent = context.sentTry?.mayHaveBeenSent == true
        // Nearly all requests end here, without reading a policy.
        guard let outcome = RetryRun.Outcome(result, wasSent: wasSent, now: pipeline.retrying.calendarSeconds) else {
            return false
        }
        switch result {
        case .success(let response):
            guard response.statusCode == 417, let plain = withoutExpectation else { break }
            // Nothing of the body was wanted (RFC 9110 section 15.5.18). It is no retry: the server has done nothing of it.
            tries.trail.add(result)
            (request, context.rewritten) = (plain, nil)
            drain(response, before: .send)
            return true
        case .failure(let error):
            guard pipeline.loops > 1, !context.constraints.isOnAnotherLoop, error.isForAnotherLoop, !wasSent,
                !request.body.isSpent, !pipeline.gate.isClosed
            else { break }
            // Another loop may have a connection that waits for it.
            tries.trail.add(result)
            (context.constraints.isOnAnotherLoop, context.rewritten) = (true, nil)
            context.call.restartHeadTime(after: request)
            return true
        }
        let policy = context.options(of: request).shared.retries
        guard !policy.isOff, request.own?.callOptions.stopsBeforeSending != true else { return false }
        let now = pipeline.retrying.time.now()
        let begin = tries.begin ?? now
        tries.begin = begin
        var run = tries.run ?? RetryRun(policy, request)
        let wait = run.next(
            after: outcome,
            isBodySpent: request.body.isSpent,
            elapsed: now - begin,
            left: context.call.firstDeadline.map { $0 - SystemTimeSource().now() },
            random: pipeline.retrying.chance()
        )
        tries.run = run
        guard let wait, !pipeline.gate.isClosed,
            run.waitsForNetwork || pipeline.retrying.take(pipeline.current.values.retryBudget)
        else { return false }
        tries.isTaken = !run.waitsForNetwork
        outcome.logRetry(in: wait, pipeline.logger)
        context.frame?.observed?.note(.retried(after: result, in: wait))
        tries.trail.add(result)
        context.constraints.isRetry = true
        context.constraints.avoided = RetryRun.endpoint(of: result)
        // The time is taken before the wait, so that calls that failed meanwhile share one query.
        context.constraints.freshAfter = nil
        if case .failure = outcome { context.constraints.freshAfter = now - CallState.stillFresh }
        (context.rewritten, self.wait) = (nil, wait)
        if case .success(let response) = result { drain(response, before: .pause) } else { next = .pause }
        return true
    }

    /// The request without `Expect`; nil when it has none, or a body that cannot be sent again.
    private var withoutExpectation: HTTPDNSClient.Request? {
        let waits = request.own.map { $0.options.continueTimeout > .zero } ?? false
        guard waits || request.headerFields.contains(.expect), request.body.isReplayable, !request.body.isEmpty else {
            return nil
        }
        var plain = request
        plain.headerFields[.expect] = nil
        if waits { plain.changeOptions { $0.continueTimeout = .zero } }
        return plain
    }

    /// Waits before a retry.
    mutating func pause(_ pipeline: Pipeline) async throws {
        let clock = pipeline.retrying.time
        guard try await pipeline.gate.sleep(until: clock.now() + wait, on: clock) else {
            throw HTTPDNSClientError.shutDown
        }
        tries.trail.noteRetry()
        context.call.restartHeadTime(after: request)
        next = .send
    }

    // MARK: authentication

    /// Waits for the field of the credential.
    mutating func authorize() async throws {
        let deadline = context.call.firstDeadline
        context.authorization = try await login?.run.authorization(until: deadline)
        next = .send
    }

    /// Whether a response has a challenge that the credential may answer.
    /// - Throws: ``HTTPDNSClientError`` with code `authenticationFailed` for a wrong proof of the server.
    private mutating func isChallenged(_ response: inout HTTPDNSClient.Response, _ pipeline: Pipeline) throws -> Bool {
        guard var login else { return false }
        // A network interceptor may have sent the request to another origin, or made the response itself.
        let isOwn = response.answeredURL(context).map { HTTPDNSClient.Origin($0) == login.target.origin } ?? false
        login.exchanges += response.exchanges
        response.exchanges = login.exchanges
        login.requests += 1
        (self.login, hasResponse) = (login, true)
        guard isOwn else { return false }
        guard response.statusCode == 401 else {
            try self.login?.run.accept(
                AuthenticationChallenge.information(
                    in: response.headerFields,
                    AuthenticationChallenge.serverInformation
                )
            )
            return false
        }
        (self.response, next) = (response, .learn)
        return true
    }

    /// Lets the credential take the challenges of the last response.
    /// - Returns: The response of the call; nil when it goes on.
    mutating func learn(_ pipeline: Pipeline) async throws -> HTTPDNSClient.Response? {
        guard var login, let response else { return nil }
        let challenges = AuthenticationChallenge.all(in: response.headerFields, .wwwAuthenticate)
        let mayRepeat =
            login.requests < CallState.maximumRequests && !request.body.isSpent && !pipeline.gate.isClosed
        let isRepeated = try await login.run.learn(from: challenges, mayRepeat: mayRepeat)
        self.login = login
        guard isRepeated else {
            pipeline.authentication.logRefusal(login.run.refusal(of: challenges), by: login.target.server)
            return try isRedirected(response, pipeline) ? nil : finished(response)
        }
        pipeline.authentication.logAnswer(login.credential, login.target)
        (context.constraints.isRetry, context.constraints.isOnAnotherLoop) = (false, false)
        (context.constraints.avoided, context.constraints.freshAfter) = (nil, nil)
        // Before the wait for a token: its closure may need the connection.
        drain(response, before: .authorize)
        return nil
    }

    // MARK: redirects

    /// Whether a response leads to another hop.
    private mutating func isRedirected(_ response: HTTPDNSClient.Response, _ pipeline: Pipeline) throws -> Bool {
        let status = RedirectStatus(response.status)
        if var redirects {
            try redirects.note(response, to: request, context)
            self.redirects = redirects
        } else {
            guard status != nil, response.headerFields.contains(.location) else { return false }
            let policy = context.options(of: request).shared.redirects
            // A redirect of a handler has no http or https URL to start from.
            guard policy.limit > 0, pipeline.schemes?.answers(request.url) != true else { return false }
            hasResponse = true
            redirects = try RedirectRun(response, to: request, context, policy, pipeline.cookies?.suffixes)
        }
        guard let status, let redirects else { return false }
        guard !response.headerFields.contradicts(.location) else {
            throw HTTPDNSClientError.differingLocations(redirects.base, status)
        }
        guard let location = response.headerFields.singleton(.location)?.uriReference, !location.isEmpty else {
            return false
        }
        redirected = try RedirectedRequest(
            request,
            at: redirects.base,
            status: status,
            location: location,
            policy: redirects.policy
        )
        // A stub or the response cache may have answered the request so far, and the next one is sent.
        if redirects.base.credential != nil, !request.headerFields.contains(.authorization), let redirected,
            !redirected.changesOrigin
        {
            let url = try HTTPDNSRewriter.Canonicalizer.canonicalize(redirected.request.url)
            let choice = try pipeline.egress.choice(of: redirected.request, for: url)
            try context.checkCleartext(redirected.request, to: url.parsed, by: choice)
        }
        if pipeline.redirectHook == nil {
            drain(response, before: .send)
        } else {
            (self.response, next) = (response, .ask)
        }
        return true
    }

    /// Asks the client's hook about the redirect of the last response.
    /// - Returns: The response of the call; nil when it goes on.
    mutating func ask(_ pipeline: Pipeline) async throws -> HTTPDNSClient.Response? {
        guard let hook = pipeline.redirectHook, let redirects, let redirected, var response else { return nil }
        // The hook may need the connection, and may want the response.
        response.body = try await response.body.released()
        self.response = response
        context.call.restartHeadTime(after: request)
        context.frame?.limitUntilHead(of: context.call)
        let redirect = HTTPDNSClient.RedirectPolicy.Redirect(
            request: request,
            response: response.head,
            next: redirected.request,
            number: redirects.count + 1,
            changesOrigin: redirected.changesOrigin,
            droppedFields: redirected.droppedFields
        )
        let decision: HTTPDNSClient.RedirectPolicy.Decision
        do {
            decision = try await hook(redirect)
        } catch is CancellationError {
            throw CancellationError()
        } catch {
            throw error as? HTTPDNSClientError ?? HTTPDNSClientError(hookError: error)
        }
        switch decision.kind {
        case .follow: try follow(redirected, pipeline)
        case .refuse:
            context.frame?.limitUntilEnd(of: context.call)
            return finished(response)
        case .change(let changed):
            let request = GivenRequest(request: redirected.request).replaced(by: changed)
            // The rewriter refuses an unreadable URL, with its own message.
            let target = try? HTTPDNSRewriter.Canonicalizer.canonicalize(request.url).parsed
            try follow(redirected, pipeline, changedTo: (request, target))
        }
        return nil
    }

    /// Begins the hop that a redirect leads to.
    /// - Parameter change: The request of the hook, and its URL; nil for the redirect's own.
    private mutating func follow(
        _ redirected: RedirectedRequest,
        _ pipeline: Pipeline,
        changedTo change: (request: HTTPDNSClient.Request, target: ParsedURL?)? = nil
    ) throws {
        guard let response else { return }
        let following = change?.request ?? redirected.request
        let target = change.map(\.target) ?? redirected.target
        let dropped = change == nil ? redirected.droppedFields : []
        if pipeline.cookies?.mayHaveChanged(by: response, for: following) == true { redirects?.forgetRequests() }
        let hop = try redirects?.follow(redirected, to: target, following.method, isChanged: change != nil)
        redirects?.logFollowing(response, to: target, dropped, pipeline.logger)
        context.frame?.observed?.note(.redirected(response.status, to: following))
        context.rewritten = nil
        context.constraints = HopConstraints()
        context.constraints.redirectedFrom = response.serverScope ?? redirects?.exchanges.last.map(\.scope)
        context.constraints.isForeign = hop?.isForeign ?? true
        context.constraints.hasCrossedSites = hop?.hasCrossedSites ?? false
        context.constraints.droppedFields = dropped
        (request, self.redirected) = (following, nil)
        try beginHop(pipeline)
    }
}

// The steps inside application interceptors and outside hops: retries, authentication and redirects.
extension Pipeline {
    /// Sends a call after its application interceptors: with it the first hop begins.
    // Request and context are moved, not copied: a copy counts references to all of their parts.
    func callBegan(
        _ request: consuming HTTPDNSClient.Request,
        _ context: consuming HTTPDNSClient.InterceptionContext
    ) async throws -> HTTPDNSClient.Response {
        if context.frame != nil { context.initialURL = request.url }
        if mayMerge(request, context) { return try await merged(consume request, consume context) }
        return try await sendCall(consume request, consume context)
    }

    /// Sends a call: the requests that it takes, one after the other.
    func sendCall(
        _ request: consuming HTTPDNSClient.Request,
        _ context: consuming HTTPDNSClient.InterceptionContext
    ) async throws -> HTTPDNSClient.Response {
        retrying.noteCall()
        var call = try CallState(consume request, consume context, self)
        do {
            return try await sendRequests(of: &call)
        } catch {
            throw call.failed(error, self)
        }
    }

    private func sendRequests(of call: inout CallState) async throws -> HTTPDNSClient.Response {
        while true {
            switch call.next {
            case .authorize: try await call.authorize()
            case .send:
                call.context.beginTry()
                let result: Result<HTTPDNSClient.Response, any Error>
                do {
                    let response = try await sendOuter(&call)
                    if call.ends(with: response) { return (consume response).at(call.request.url) }
                    result = .success(response)
                } catch {
                    result = .failure(error)
                }
                if let response = try call.take(result, self) { return response }
            case .drain: try await call.drain(self)
            case .pause: try await call.pause(self)
            case .learn: if let response = try await call.learn(self) { return response }
            case .ask: if let response = try await call.ask(self) { return response }
            }
        }
    }
}
