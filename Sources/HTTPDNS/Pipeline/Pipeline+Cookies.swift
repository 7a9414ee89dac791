// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

internal import HTTPDNSCurl
internal import HTTPTypes

// The cookies of a call's hops, see ``Pipeline/sendOuter(_:)``.
extension Pipeline {
    /// Adds the cookies of the jar to a request.
    /// - Returns: The URL that they are for; nil for an unreadable one, which the rewriter refuses with its own message.
    func addCookies(
        of jar: HTTPDNSClient.CookieJar,
        to request: inout HTTPDNSClient.Request,
        _ context: inout HTTPDNSClient.InterceptionContext
    ) -> ParsedURL? {
        guard let url = try? HTTPDNSRewriter.Canonicalizer.canonicalize(request.url).parsed else { return nil }
        // A request has one Cookie field at most (RFC 6265bis section 5.8), and its own one is the caller's intention.
        guard !request.headerFields.contains(.cookie),
            let value = jar.field(
                for: CookieURL(url),
                hasCrossedSites: context.constraints.hasCrossedSites,
                // RFC 9110 section 9.2.1.
                isSafe: [.get, .head, .options, .trace].contains(request.method)
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
        in jar: HTTPDNSClient.CookieJar,
        _ context: HTTPDNSClient.InterceptionContext
    ) {
        let fields = response.headerFields
        guard fields.contains(.setCookie), !response.hasStoredCookies else { return }
        let origin = CookieURL(response.answeredURL(context) ?? url)
        for field in fields where field.name == .setCookie {
            field.withUnsafeBytesOfValue { _ = jar.store($0, from: origin) }
        }
    }

    /// Whether a response may have changed the cookies that a request gets: the same request may then get another
    /// response. Servers use that to find out whether a client keeps cookies.
    func changesCookies(_ response: HTTPDNSClient.Response, of request: HTTPDNSClient.Request) -> Bool {
        cookies != nil && request.own?.settings.options.usesCookies ?? true && !request.headerFields.contains(.cookie)
            && response.headerFields.contains(.setCookie) && !response.hasStoredCookies
    }

    /// Returns a request with cookies of the jar that a network interceptor passes on, without any cookies if it is for another
    /// host, or in clear text in place of https. A field that the interceptor has changed may still contain those of the jar.
    func withoutForeignCookies(
        _ next: HTTPDNSClient.Request,
        in given: HTTPDNSClient.Request
    ) -> HTTPDNSClient.Request {
        if let old = try? HTTPDNSRewriter.Canonicalizer.canonicalize(given.url).parsed,
            let new = try? HTTPDNSRewriter.Canonicalizer.canonicalize(next.url).parsed,
            old.host == new.host, old.scheme == new.scheme || new.scheme == .https
        {
            return next
        }
        var next = next
        next.headerFields.removeAll { $0.name == .cookie }
        return next
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
