// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

internal import HTTPDNSCurl
internal import HTTPTypes

// The cookies of a call's hops, see ``Pipeline/sendOuter(_:)``.
extension HTTPDNSClient.CookieJar {
    /// Adds cookies to a request.
    /// - Returns: The URL that they are for; nil for an unreadable one, which the rewriter refuses with its own message.
    func addCookies(
        to request: inout HTTPDNSClient.Request,
        _ context: inout HTTPDNSClient.InterceptionContext
    ) -> ParsedURL? {
        guard let url = try? HTTPDNSRewriter.Canonicalizer.canonicalize(request.url).parsed else { return nil }
        // A request has one Cookie field at most (RFC 6265bis section 5.8), and its own one is the caller's intention.
        guard !request.headerFields.contains(.cookie),
            let value = field(
                for: CookieURL(url),
                hasCrossedSites: context.constraints.hasCrossedSites,
                isSafe: request.method.isSafe
            )
        else { return url }
        // Bytes outside ASCII go back as they came.
        var field = HTTPField(name: .cookie, lenientValue: value)
        // The mark of a secret, for interceptors that log fields.
        field.indexingStrategy = .disallow
        request.headerFields.append(field)
        context.hasJarCookies = true
        return url
    }

    /// Stores the cookies of a response under the URL that was sent, which a network interceptor may have changed. Those of a
    /// stored response are old, and the jar may have newer ones.
    func keepCookies(
        of response: HTTPDNSClient.Response,
        answering url: ParsedURL,
        _ context: HTTPDNSClient.InterceptionContext
    ) {
        let fields = response.headerFields
        guard fields.contains(.setCookie), !response.hasStoredCookies else { return }
        let origin = CookieURL(response.answeredURL(context) ?? url)
        for field in fields where field.name == .setCookie {
            field.withUnsafeBytesOfValue { _ = store($0, from: origin) }
        }
    }

    /// Whether a response may have changed the cookies that a request gets: the same request may then get another response. Servers
    /// use that to find out whether a client keeps cookies.
    func mayHaveChanged(by response: HTTPDNSClient.Response, for request: HTTPDNSClient.Request) -> Bool {
        request.own?.callOptions.usesCookies ?? true && !request.headerFields.contains(.cookie)
            && response.headerFields.contains(.setCookie) && !response.hasStoredCookies
    }
}

/// The sites of a call's hops (RFC 6265bis section 5.2).
///
/// A site is a registrable domain, without the scheme: the usual redirect from http to https stays in its site. Once a call
/// has crossed sites, all its further hops have the origin of an untrusted server.
struct CookieSites {
    private let suffixes: PublicSuffixes
    private let first: String
    private var hasCrossed = false

    init(first: ParsedURL, _ suffixes: PublicSuffixes) {
        self.suffixes = suffixes
        self.first = CookieSites.site(of: first, suffixes)
    }

    /// Records the next hop.
    /// - Parameter target: Its URL; nil for one that cannot be read.
    /// - Returns: Whether the call has crossed sites by then.
    mutating func follow(to target: ParsedURL?) -> Bool {
        if let target, CookieSites.site(of: target, suffixes) == first { return hasCrossed }
        hasCrossed = true
        return true
    }

    private static func site(of url: ParsedURL, _ suffixes: PublicSuffixes) -> String {
        let url = CookieURL(url)
        return String(suffixes.site(of: url.host, isAddress: url.isAddress))
    }
}
