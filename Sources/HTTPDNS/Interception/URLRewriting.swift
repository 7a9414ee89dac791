// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

internal import HTTPDNSCurl
internal import HTTPDNSPrimitives

extension HTTPDNSClient {
    /// An interceptor that sends requests for one host or path to another, by rules that are fixed when it is made.
    ///
    /// ```swift
    /// configuration.applicationInterceptors = [
    ///     try HTTPDNSClient.URLRewriting(["old.example": "new.example", "old.example/a": "one.example/b"])
    /// ]
    /// ```
    ///
    /// Host, SNI, certificate check, mappings and connections are then those of the new host. An address alone is
    /// changed with a mapping, and keeps the name.
    ///
    /// Each side of a rule is a host with an optional path, and with an optional scheme and port:
    /// - The host must be equal, and the path a prefix of the request's path that ends at a slash or at its end:
    ///   `old.example/a` applies to `/a`, `/a/x` and `/a?x`, and not to `/ab`. Paths are compared byte by byte, without
    ///   decoding of percent escapes and without removal of dot segments. A slash at the end of a rule has no effect.
    /// - Without a scheme and a port, a rule applies to every scheme and port, and keeps them. A scheme without a port
    ///   means the default port of the scheme.
    /// - The rule with the longest path applies, among equals one with a port, then one with a scheme. A request is
    ///   rewritten once, and the result is not compared with the rules again.
    ///
    /// The rest of the path, the query, the fragment, the method, the body and all header fields are kept, `Cookie` and
    /// `Authorization` among them: a rule states that both hosts may see them. What belongs to the old host's name is
    /// not used for another host: user information in the URL,
    /// ``HTTPDNSClient/Request/Options/credential``, ``HTTPDNSClient/Request/Options/hostHeader``,
    /// ``HTTPDNSClient/Options/unixSocket`` and addresses of the request's own.
    ///
    /// As an application interceptor it rewrites the request of the caller. Among the network interceptors it also
    /// rewrites the targets of redirects.
    public struct URLRewriting: HTTPDNSClient.Interceptor {
        /// The rules of each host, the most specific first.
        private let rules: [ParsedURL.Host: [Rule]]

        /// Creates an interceptor.
        /// - Parameter rules: The old place and the new one of each rule, such as `old.example/a` and `one.example/b`.
        /// - Throws: ``HTTPDNSClientError`` with code `configuration` for a side that is not a host with an optional
        ///   scheme, port and path, and for two rules with the same old place.
        public init(_ rules: [String: String]) throws {
            var table: [ParsedURL.Host: [Rule]] = [:]
            var texts: [Side: String] = [:]
            // Sorted, so that the same rules always give the same error.
            for (old, new) in rules.sorted(by: { $0.key < $1.key }) {
                let rule = Rule(old: try Side(old), new: try Side(new))
                if let other = texts.updateValue(old, forKey: rule.old) {
                    throw Side.refusal(of: old, because: "\"\(other.escaped(limit: 120))\" is the same place")
                }
                table[rule.old.host, default: []].append(rule)
            }
            self.rules = table.mapValues { $0.sorted { $0.old.specificity > $1.old.specificity } }
        }

        /// Sends the request to the place that the rules name.
        /// - Throws: The errors of `next`.
        public func intercept(
            _ request: HTTPDNSClient.Request,
            context: HTTPDNSClient.InterceptionContext,
            next: Next
        ) async throws -> HTTPDNSClient.Response {
            guard let (url, changesHost) = target(of: request.url) else { return try await next(request, context) }
            var request = request
            request.url = url
            if changesHost, request.own != nil { request.changeOptions { $0.forgetOrigin() } }
            return try await next(request, context)
        }

        /// Returns the URL that a request is sent to: the same text when no rule applies, and for a text that is not a
        /// URL.
        public func rewritten(_ url: String) -> String { target(of: url)?.url ?? url }

        private func target(of text: String) -> (url: String, changesHost: Bool)? {
            // The client's rewriter refuses an unreadable URL, with its own message.
            guard let url = try? HTTPDNSRewriter.Canonicalizer.canonicalize(text).parsed,
                let rule = rules[url.host]?.first(where: { $0.old.covers(url) })
            else { return nil }
            return (rule.target(of: url, writtenAs: text), rule.new.host != url.host)
        }
    }
}

/// One rule: a place and the place that takes its requests.
private struct Rule: Sendable {
    let old: Side
    let new: Side

    /// Returns the URL on the new side.
    func target(of url: ParsedURL, writtenAs text: String) -> String {
        let scheme = new.scheme ?? url.scheme
        let port = new.fixedPort ?? (old.fixedPort == nil ? url.port : scheme.defaultPort)
        let isSameOrigin = scheme == url.scheme && new.host == url.host && port == url.port
        let target = new.path + String(decoding: url.target.utf8.dropFirst(old.path.utf8.count), as: UTF8.self)
        var result = "\(scheme.rawValue)://"
        if isSameOrigin { result += Rule.userInformation(in: text) }
        result += new.hostText
        if port != scheme.defaultPort { result += ":\(port)" }
        if target.utf8.first != UInt8(ascii: "/") { result += "/" }
        result += target
        if let fragment = url.fragment { result += "#\(fragment)" }
        return result
    }

    /// Returns the user information of a valid URL with its at-sign; empty when there is none.
    private static func userInformation(in text: String) -> String {
        guard let slashes = text.firstRange(of: "//") else { return "" }
        let authority = text[slashes.upperBound...].prefix { $0 != "/" && $0 != "?" && $0 != "#" }
        return authority.lastIndex(of: "@").map { String(authority[...$0]) } ?? ""
    }
}

/// One side of a rule.
private struct Side: Hashable, Sendable {
    let scheme: ParsedURL.Scheme?
    let host: ParsedURL.Host
    /// The host as it is in a URL: an IPv6 address has brackets.
    let hostText: String
    private let port: UInt16?
    /// The path without slashes at its end; empty for all paths.
    let path: String

    /// - Throws: ``HTTPDNSClientError`` with code `configuration`.
    init(_ text: String) throws(HTTPDNSClientError) {
        let hasScheme = text.contains("://")
        let url: ParsedURL
        do {
            url = try HTTPDNSRewriter.Canonicalizer.canonicalize(hasScheme ? text : "https://" + text).parsed
        } catch {
            throw Side.refusal(of: text, because: error.message)
        }
        guard url.credential == nil else { throw Side.refusal(of: text, because: "it has user information") }
        guard !text.utf8.contains(UInt8(ascii: "?")), !text.utf8.contains(UInt8(ascii: "#")) else {
            throw Side.refusal(of: text, because: "it has a query or a fragment, and those of the request are kept")
        }
        scheme = hasScheme ? url.scheme : nil
        host = url.host
        hostText = url.hostText
        port = Side.hasPort(text) ? url.port : nil
        var path = url.target
        while path.utf8.last == UInt8(ascii: "/") { path.removeLast() }
        self.path = path
    }

    /// The port that the side names, by itself or with its scheme; nil for any.
    var fixedPort: UInt16? { port ?? scheme?.defaultPort }

    /// The order of sides that apply to the same request; the largest one decides.
    var specificity: (Int, Int, Int) { (path.utf8.count, fixedPort == nil ? 0 : 1, scheme == nil ? 0 : 1) }

    /// Whether a URL with the host of this side is within it.
    func covers(_ url: ParsedURL) -> Bool {
        if let scheme, scheme != url.scheme { return false }
        if let fixedPort, fixedPort != url.port { return false }
        let target = url.target.utf8
        guard target.starts(with: path.utf8) else { return false }
        let next = target.dropFirst(path.utf8.count).first
        return next == nil || next == UInt8(ascii: "/") || next == UInt8(ascii: "?")
    }

    static func == (left: Side, right: Side) -> Bool {
        left.scheme == right.scheme && left.host == right.host && left.fixedPort == right.fixedPort
            && left.path == right.path
    }

    func hash(into hasher: inout Hasher) {
        hasher.combine(host)
        hasher.combine(path)
    }

    private static func hasPort(_ text: String) -> Bool {
        let start = text.firstRange(of: "://")?.upperBound ?? text.startIndex
        let authority = text[start...].prefix { $0 != "/" }
        return authority[(authority.lastIndex(of: "]") ?? authority.startIndex)...].contains(":")
    }

    static func refusal(of text: String, because reason: String) -> HTTPDNSClientError {
        .configuration(
            "URL rewriting: \"\(URLText.forErrors(text))\" cannot be used: \(reason)",
            hint: "a side of a rule is a host with an optional scheme, port and path, such as old.example/a"
        )
    }
}
