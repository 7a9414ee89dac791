// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

internal import HTTPDNSCore
internal import HTTPDNSCurl
internal import HTTPDNSPrimitives
internal import HTTPTypes
internal import Logging

/// The redirects of a call, from the first one on.
struct RedirectRun {
    let policy: HTTPDNSClient.RedirectPolicy
    /// The URL of the last response.
    private(set) var base: ParsedURL
    /// All exchanges of the call.
    private(set) var exchanges: [HTTPDNSClient.Exchange]
    /// The URL of the first response.
    private let first: ParsedURL
    private var trail: RedirectTrail
    private var sites: CookieSites?

    /// - Parameters:
    ///   - response: The first response, which is a redirect.
    ///   - suffixes: The public suffixes of the client's jar; nil without a jar.
    init(
        _ response: HTTPDNSClient.Response,
        to request: HTTPDNSClient.Request,
        _ context: HTTPDNSClient.InterceptionContext,
        _ policy: HTTPDNSClient.RedirectPolicy,
        _ suffixes: PublicSuffixes?
    ) throws(HTTPDNSClientError) {
        self.policy = policy
        base = try RedirectRun.url(of: response, to: request, context)
        first = base
        trail = RedirectTrail(first: base, request.method)
        sites = suffixes.map { [base] in CookieSites(first: base, $0) }
        exchanges = response.exchanges
    }

    /// Returns the URL of a response: a network interceptor may have sent another request than it received.
    private static func url(
        of response: HTTPDNSClient.Response,
        to request: HTTPDNSClient.Request,
        _ context: HTTPDNSClient.InterceptionContext
    ) throws(HTTPDNSClientError) -> ParsedURL {
        if let url = response.answeredURL(context) { return url }
        return try HTTPDNSRewriter.Canonicalizer.canonicalize(request.url).parsed
    }

    /// The number of redirects followed.
    var count: Int { trail.count }

    /// Takes the response of a further hop.
    mutating func note(
        _ response: HTTPDNSClient.Response,
        to request: HTTPDNSClient.Request,
        _ context: HTTPDNSClient.InterceptionContext
    ) throws(HTTPDNSClientError) {
        exchanges += response.exchanges
        base = try RedirectRun.url(of: response, to: request, context)
    }

    /// Forgets the requests so far, since each of them could get another response now. The limit still counts them.
    mutating func forgetRequests() { trail.forgetRequests() }

    /// Records the next hop.
    /// - Parameters:
    ///   - redirected: Where the response leads.
    ///   - target: The URL of the next request; nil for one that cannot be read.
    ///   - isChanged: Whether the hook made the request.
    /// - Returns: Whether the hop is for another origin than the first response, and whether the call has crossed sites.
    /// - Throws: ``HTTPDNSClientError`` with code `tooManyRedirects` or `redirectLoop`.
    mutating func follow(
        _ redirected: RedirectedRequest,
        to target: ParsedURL?,
        _ method: HTTPRequest.Method,
        isChanged: Bool
    ) throws(HTTPDNSClientError) -> (isForeign: Bool, hasCrossedSites: Bool) {
        switch trail.follow(to: target, method, limit: policy.limit, isChanged: isChanged) {
        case .followed: break
        case .limitReached: throw HTTPDNSClientError.tooManyRedirects(policy.limit, at: base)
        case .loop: throw HTTPDNSClientError.redirectLoop(at: base, to: redirected.target)
        }
        let isForeign = target.map { HTTPDNSClient.Origin($0) != HTTPDNSClient.Origin(first) } ?? true
        return (isForeign, sites?.follow(to: target) ?? false)
    }

    /// Logs that a redirect is followed.
    /// - Parameter dropped: The names of the fields that the next request does not get.
    func logFollowing(
        _ response: HTTPDNSClient.Response,
        to target: ParsedURL?,
        _ dropped: [HTTPField.Name],
        _ logger: Logger?
    ) {
        guard let logger, logger.logLevel <= .debug else { return }
        logger.debug(
            "redirect followed",
            metadata: [
                "status": "\(response.status.code)", "from": "\(base.authority)", "to": "\(target?.authority ?? "-")",
                "dropped": "\(dropped.map(\.rawName).joined(separator: ", "))",
            ]
        )
    }

    /// Returns the response of the last hop with the exchanges of all hops.
    func finished(_ response: HTTPDNSClient.Response) -> HTTPDNSClient.Response {
        var response = response.at(base.description)
        response.exchanges = exchanges
        return response
    }
}

extension HTTPDNSClient.Exchange {
    /// The network scope of the server that answered. Behind a proxy that resolves names, or a Unix socket, the
    /// connection does not show it: a name then counts as public.
    var scope: HTTPDNSAddressPolicy.Scope {
        let isPeer = proxy == nil || request.resolution.endpoints.contains { $0.address == remote.address }
        guard request.isUnresolved || !isPeer else { return HTTPDNSAddressPolicy.Scope(of: remote.address) }
        return request.content.url.parsed.host.scope
    }
}

extension ParsedURL.Host {
    /// The network scope, as far as it is known without addresses: a name counts as public, except `localhost` and the names
    /// below it, which are always loopback addresses (RFC 6761 section 6.3).
    var scope: HTTPDNSAddressPolicy.Scope {
        switch self {
        case .address(let address): HTTPDNSAddressPolicy.Scope(of: address)
        case .name(let name): name == "localhost" || name.hasSuffix(".localhost") ? .loopback : .public
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
