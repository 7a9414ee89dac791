// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

internal import HTTPDNSCurl
internal import HTTPDNSPrimitives

/// The innermost network interceptor of a client that answers schemes of its own in process
/// (``HTTPDNSClient/Configuration/schemeHandlers``).
struct SchemeHandlers: HTTPDNSClient.Interceptor {
    typealias Handler = @Sendable (HTTPDNSClient.Request) async throws -> HTTPDNSClient.Response

    /// The handlers by scheme in lower case.
    private let handlers: [String: Handler]

    init(_ handlers: [String: Handler]) {
        self.handlers = Dictionary(handlers.map { ($0.lowercased(), $1) }) { first, _ in first }
    }

    func intercept(
        _ request: HTTPDNSClient.Request,
        context: HTTPDNSClient.InterceptionContext,
        next: Next
    ) async throws -> HTTPDNSClient.Response {
        guard let scheme = SchemeHandlers.scheme(of: request.url) else { return try await next(request, context) }
        guard let handler = handlers[scheme] else { throw unknown(scheme) }
        // Only a redirect hook can lead here: a Location with such a scheme is refused before.
        guard !context.constraints.isForeign else {
            throw HTTPDNSClientError(
                code: .redirectRefused,
                phase: .redirect,
                message: "a redirect leads to the scheme \(scheme), which only requests of the program itself reach",
                hint: "send a request for that URL in place of the redirect"
            )
        }
        return try await handler(request)
    }

    /// Whether a request with this URL is answered in process.
    func answers(_ url: String) -> Bool { SchemeHandlers.scheme(of: url).map { handlers[$0] != nil } ?? false }

    /// Returns the scheme of a URL in lower case; nil for http and https, and for a text without `:` after a scheme. A host
    /// with a port has none either: `one.test:8080`.
    private static func scheme(of url: String) -> String? {
        guard let colon = url.firstIndex(of: ":") else { return nil }
        let scheme = url[..<colon].lowercased()
        guard isScheme(scheme), scheme != "http", scheme != "https", !scheme.contains(".") else { return nil }
        return scheme
    }

    /// Whether a text is a scheme (RFC 3986 section 3.1).
    private static func isScheme(_ text: String) -> Bool {
        guard let first = text.utf8.first, first.isLetter else { return false }
        return text.utf8.allSatisfy { $0.isLetterOrDigit(or: "+-") }
    }

    private func unknown(_ scheme: String) -> HTTPDNSClientError {
        HTTPDNSClientError(
            code: .invalidURL,
            phase: .request,
            message: "no handler answers the scheme \(scheme.escaped(limit: 80)): schemeHandlers has "
                + handlers.keys.sorted().joined(separator: ", "),
            hint: "http and https are sent; add a handler for another scheme"
        )
    }

    /// - Throws: ``HTTPDNSClientError`` with code `configuration`.
    static func validate(_ schemes: some Collection<String>) throws(HTTPDNSClientError) {
        var seen: Set<String> = []
        for scheme in schemes.sorted() {
            let reason: String? =
                if !isScheme(scheme) {
                    "is not a scheme of letters, digits, + and -"
                } else if ["http", "https"].contains(scheme.lowercased()) {
                    "is what the client sends; an interceptor can answer it"
                } else if !seen.insert(scheme.lowercased()).inserted {
                    "is there twice, in two spellings"
                } else {
                    nil
                }
            if let reason {
                throw .configuration(
                    "schemeHandlers: \"\(scheme.escaped(limit: 80))\" \(reason)",
                    hint: "write the scheme alone, such as app for app://settings"
                )
            }
        }
    }
}
