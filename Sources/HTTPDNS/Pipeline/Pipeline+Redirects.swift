// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

internal import HTTPDNSCore
internal import HTTPDNSCurl
internal import HTTPTypes
internal import Logging

// This step is inside application interceptors and outside authentication: a redirect that is followed is a hop of its own,
// without a tag.
extension Pipeline {
    /// Sends a request and follows its redirects.
    func follow(_ request: HTTPDNSClient.Request, _ context: HTTPDNSClient.InterceptionContext) async throws
        -> HTTPDNSClient.Response
    {
        retrying.noteCall()
        return try await follow(sendAuthenticated(request, context), to: request, context)
    }

    /// Follows the redirects of a response.
    func follow(
        _ response: HTTPDNSClient.Response,
        to request: HTTPDNSClient.Request,
        _ context: HTTPDNSClient.InterceptionContext
    ) async throws -> HTTPDNSClient.Response {
        guard RedirectStatus(response.status) != nil, response.headerFields.contains(.location) else {
            return response.at(request.url)
        }
        let policy = context.options(of: request).settings.options.shared.redirects
        guard policy.limit > 0 else { return response.at(request.url) }
        // A redirect of a handler has no http or https URL to start from.
        if let schemes, schemes.answers(request.url) { return response.at(request.url) }
        do {
            return try await follow(response, to: request, context, policy)
        } catch var error as HTTPDNSClientError {
            // The first hop had a response, whatever happened to the last one.
            error.requestMayHaveBeenSent = true
            throw error
        }
    }

    private func follow(
        _ first: HTTPDNSClient.Response,
        to request: HTTPDNSClient.Request,
        _ context: HTTPDNSClient.InterceptionContext,
        _ policy: HTTPDNSClient.RedirectPolicy
    ) async throws -> HTTPDNSClient.Response {
        var (request, context, response) = (request, context, first)
        var exchanges = first.exchanges
        let origin = try url(of: request, answeredBy: first, context)
        var base = origin
        var trail = RedirectTrail(first: origin, request.method)
        var sites = cookies.map { CookieSites(first: origin, $0.suffixes) }
        while let status = RedirectStatus(response.status),
            let location = try soleLocation(of: response, status, at: base), !location.isEmpty
        {
            let redirected = try RedirectedRequest(
                request,
                at: base,
                status: status,
                location: location,
                policy: policy
            )
            var next = redirected.request
            var dropped = redirected.droppedFields
            var target: ParsedURL? = redirected.target
            let hook = redirectHook
            var isChanged = false
            if hook == nil {
                try await response.body.drain()
            } else {
                // The hook may need the connection, and may want the response.
                response.body = try await response.body.released()
            }
            context.call.nextHop(after: request)
            if let hook {
                context.frame?.beginHead(of: context.call)
                let redirect = HTTPDNSClient.RedirectPolicy.Redirect(
                    request: request,
                    response: response.head,
                    next: next,
                    number: trail.count + 1,
                    changesOrigin: redirected.changesOrigin,
                    droppedFields: dropped
                )
                switch try await decision(of: hook, about: redirect).kind {
                case .follow: break
                case .refuse:
                    context.frame?.endHead(of: context.call)
                    return with(exchanges, response, at: base, trail)
                case .change(let request):
                    (next, dropped, isChanged) = (adopted(request, inPlaceOf: next), [], true)
                    // The rewriter refuses an unreadable URL, with its own message.
                    target = try? HTTPDNSRewriter.Canonicalizer.canonicalize(request.url).parsed
                }
            }
            if changesCookies(response, of: next) { trail.forgetRequests() }
            switch trail.follow(to: target, next.method, limit: policy.limit, isChanged: isChanged) {
            case .followed: break
            case .limitReached: throw HTTPDNSClientError.tooManyRedirects(policy.limit, at: base)
            case .loop: throw HTTPDNSClientError.redirectLoop(at: base, to: redirected.target)
            }
            logFollowing(response, from: base, to: target, dropped)
            context.frame?.observed?.noteRedirect(response.status, to: next)
            context.rewritten = nil
            context.constraints = HopConstraints()
            context.constraints.redirectedFrom = response.serverScope ?? exchanges.last.map(\.scope)
            context.constraints.isForeign =
                target.map { HTTPDNSClient.Origin($0) != HTTPDNSClient.Origin(origin) } ?? true
            context.constraints.droppedFields = dropped
            context.constraints.hasCrossedSites = sites?.follow(to: target) ?? false
            request = next
            response = try await sendAuthenticated(request, context)
            exchanges += response.exchanges
            base = try url(of: request, answeredBy: response, context)
        }
        return with(exchanges, response, at: base, trail)
    }

    /// Returns the response of the last hop with the exchanges of all hops.
    private func with(
        _ exchanges: [HTTPDNSClient.Exchange],
        _ response: HTTPDNSClient.Response,
        at url: ParsedURL,
        _ trail: RedirectTrail
    ) -> HTTPDNSClient.Response {
        var response = response.at(url.description)
        response.exchanges = exchanges
        return response
    }

    /// Returns the value of the `Location` field as a URI reference.
    private func soleLocation(
        of response: HTTPDNSClient.Response,
        _ status: RedirectStatus,
        at base: ParsedURL
    ) throws(HTTPDNSClientError) -> String? {
        guard !response.headerFields.contradicts(.location) else { throw .differingLocations(base, status) }
        return response.headerFields.singleton(.location)?.uriReference
    }

    /// Returns the URL of the response: a network interceptor may have sent another request than it received.
    private func url(
        of request: HTTPDNSClient.Request,
        answeredBy response: HTTPDNSClient.Response,
        _ context: HTTPDNSClient.InterceptionContext
    ) throws(HTTPDNSClientError) -> ParsedURL {
        if let url = response.answeredURL(context) { return url }
        return try HTTPDNSRewriter.Canonicalizer.canonicalize(request.url).parsed
    }

    private func decision(
        of hook:
            @Sendable (HTTPDNSClient.RedirectPolicy.Redirect) async throws -> HTTPDNSClient.RedirectPolicy.Decision,
        about redirect: HTTPDNSClient.RedirectPolicy.Redirect
    ) async throws -> HTTPDNSClient.RedirectPolicy.Decision {
        do {
            return try await hook(redirect)
        } catch is CancellationError {
            throw CancellationError()
        } catch let error as HTTPDNSClientError {
            throw error
        } catch {
            throw HTTPDNSClientError(hookError: error)
        }
    }

    private func logFollowing(
        _ response: HTTPDNSClient.Response,
        from base: ParsedURL,
        to target: ParsedURL?,
        _ dropped: [HTTPField.Name]
    ) {
        guard let logger, logger.logLevel <= .debug else { return }
        logger.debug(
            "redirect followed",
            metadata: [
                "status": "\(response.status.code)", "from": "\(base.authority)",
                "to": "\(target?.authority ?? "-")", "dropped": "\(dropped.map(\.rawName).joined(separator: ", "))",
            ]
        )
    }
}

extension HTTPDNSClient.Exchange {
    /// The network scope of the server that answered. Behind a proxy that resolves names, or a Unix socket, the
    /// connection does not show it: a name then counts as public.
    var scope: HTTPDNSAddressPolicy.Scope {
        let isPeer = proxy == nil || request.resolution.endpoints.contains { $0.address == remote.address }
        guard request.isUnresolved || !isPeer else { return HTTPDNSAddressPolicy.Scope(of: remote.address) }
        switch request.content.url.parsed.host {
        case .address(let address): return HTTPDNSAddressPolicy.Scope(of: address)
        case .name(let name): return name == "localhost" || name.hasSuffix(".localhost") ? .loopback : .public
        }
    }
}

/// The hops of a call so far, which decide whether one more may follow.
struct RedirectTrail {
    /// The number of redirects followed.
    private(set) var count = 0
    private var seen: Set<String> = []

    enum Step: Equatable {
        case followed
        case limitReached
        /// The same request was sent before, and would get the same response.
        case loop
    }

    init(first: ParsedURL, _ method: HTTPRequest.Method) { seen = [RedirectTrail.text(first, method)] }

    /// Records the next request.
    /// - Parameter isChanged: Whether the hook made the request; it may differ from an earlier one to the same URL.
    mutating func follow(
        to target: ParsedURL?,
        _ method: HTTPRequest.Method,
        limit: Int,
        isChanged: Bool = false
    ) -> Step {
        guard count < limit else { return .limitReached }
        if let target {
            let isNew = seen.insert(RedirectTrail.text(target, method)).inserted
            guard isNew || isChanged else { return .loop }
        }
        count += 1
        return .followed
    }

    /// Forgets the requests so far, since each of them could get another response now. The limit still counts them.
    mutating func forgetRequests() { seen = [] }

    private static func text(_ url: ParsedURL, _ method: HTTPRequest.Method) -> String { "\(method.rawValue) \(url)" }
}

/// The redirect statuses, with the method that each leads to (RFC 9110 sections 15.4.2 to 15.4.9).
enum RedirectStatus: Int {
    case movedPermanently = 301
    case found = 302
    case seeOther = 303
    case temporaryRedirect = 307
    case permanentRedirect = 308

    /// Creates nil for every other status: 300 is a choice for people, 304 the result of a condition, 305 and 306 are
    /// deprecated.
    init?(_ status: HTTPResponse.Status) {
        guard (301...308).contains(status.code) else { return nil }
        self.init(rawValue: status.code)
    }

    /// Returns the method of the next request.
    func method(after method: HTTPRequest.Method) -> HTTPRequest.Method {
        switch self {
        case .movedPermanently, .found: method == .post ? .get : method
        case .seeOther: method == .head ? .head : .get
        case .temporaryRedirect, .permanentRedirect: method
        }
    }
}
