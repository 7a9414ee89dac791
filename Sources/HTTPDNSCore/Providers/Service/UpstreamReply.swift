// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

package import HTTPDNSCurl
internal import HTTPDNSMessages
package import HTTPDNSPrimitives
package import HTTPTypes

/// A carrier of a provider's requests to the addresses of its service.
package protocol UpstreamExchanging: Sendable {
    /// Sends the request over a connection to `endpoint`, whatever the URL's host, and collects the response.
    ///
    /// It returns or throws by `deadline`. The body is read only if the status is 200 or the protocol describes its errors in
    /// bodies. At most the provider's longest answer is read.
    /// - Throws: `TransferFailure`; `CancellationError` when the task is canceled.
    func exchange(_ request: ServiceRequest, with endpoint: HTTPDNSEndpoint, deadline: MonotonicTime) async throws
        -> UpstreamReply

    /// Closes connections and stops threads. Idempotent.
    func shutdown() async
}

/// A query as an HTTP request.
package struct ServiceRequest: Sendable {
    package var method: HTTPRequest.Method
    package var url: ParsedURL
    package var headerFields: HTTPFields
    /// The body; `nil` for GET.
    package var body: [UInt8]?

    package init(method: HTTPRequest.Method, url: ParsedURL, headerFields: HTTPFields, body: [UInt8]? = nil) {
        self.method = method
        self.url = url
        self.headerFields = headerFields
        self.body = body
    }
}

/// The parts of an HTTP response that an answer is read from.
package struct UpstreamReply: Sendable {
    package var status: Int
    package var headerFields: HTTPFields
    /// The body; empty where it was not read: see ``UpstreamExchanging``.
    package var body: [UInt8]
    /// The endpoint that sent the response.
    package var endpoint: HTTPDNSEndpoint
    /// The protocol below DNS; `nil` for HTTP.
    package var transport: HTTPDNSDNSProvider.Transport?

    package init(status: Int, headerFields: HTTPFields, body: [UInt8], endpoint: HTTPDNSEndpoint) {
        self.status = status
        self.headerFields = headerFields
        self.body = body
        self.endpoint = endpoint
    }
}

extension UpstreamReply {
    /// Throws for every status but 200. RFC 8484 section 4.2.1 allows an answer with any 2xx, but the others mean something
    /// that a query does not request.
    package func checkStatus(_ words: VendorVocabulary) throws(HTTPDNSProviderError) {
        guard status != 200 else { return }
        throw HTTPDNSProviderError(
            code: status == 429 ? .rateLimited : .httpStatus,
            message: "HTTP \(status) from \(endpoint): \(meaning(words))",
            retryAfter: retryAfter
        )
    }

    /// Returns the meaning of the response for protocols without error bodies. A status that is a failure of this server, or
    /// comes from a wrong server, says nothing about the other addresses.
    func verdict(_ words: VendorVocabulary) -> ReplyVerdict {
        guard status == 408 || status == 421 || (500..<600).contains(status) else { return .answer }
        do throws(HTTPDNSProviderError) {
            try checkStatus(words)
            return .answer
        } catch {
            return .addressFailed(error)
        }
    }

    /// Returns an error about the body.
    package func badResponse(_ message: String) -> HTTPDNSProviderError {
        HTTPDNSProviderError(code: .badResponse, message: "\(message), from \(endpoint)")
    }

    private func meaning(_ words: VendorVocabulary) -> String {
        switch status {
        case 204, 205:
            "no content, where a \(words.answer) belongs; check that the url has the path of the \(words.service)"
        case 304: "not modified, although nothing conditional was asked"
        case 300..<400: "redirects are not followed; put the final url in the settings"
        case 400: "the service did not understand the query; check that the url has the path of its \(words.service)"
        case 401, 403, 407: "the service does not let this client ask"
        case 404, 410: "there is no \(words.service) at this path; check the url"
        case 405: "the service does not take this method; \(words.methodAdvice)"
        case 413, 414: "the query is too long for the service; \(words.methodAdvice)"
        case 415: "the service does not take \(words.mediaType); check that the url is that of a \(words.service)"
        case 421: "the server does not serve this name; check url and bootstrap"
        case 429: "too many queries" + waitingTime
        case 500..<600: "the service failed" + waitingTime
        default: "200 and a \(words.answer) were expected"
        }
    }

    /// The service's `Retry-After` as `, it wants to be left alone for 30 s`; empty without one.
    private var waitingTime: String {
        retryAfter.map { ", it wants to be left alone for \($0.components.seconds) s" } ?? ""
    }

    /// The wait that 429 and 5xx may request (RFC 9110 section 10.2.3); `nil` for none, and for one that is over.
    package var retryAfter: Duration? {
        guard status == 429 || (500..<600).contains(status) else { return nil }
        return RetryAfter.wait(in: headerFields, now: WallClock.system.now() / 1000).flatMap { $0 > .zero ? $0 : nil }
    }
}

extension UpstreamReply {
    /// Returns the error for the code of a server that failed, or refused to answer.
    /// - Parameter comment: The service's own text about a failure.
    func failure(_ code: DNSResponseCode, question: DNSQuestion, comment: String? = nil) -> HTTPDNSProviderError {
        let name = UntrustedText.excerpt("\(question)", limit: 200)
        let said = comment.map { " (\(UntrustedText.excerpt($0, limit: 200)))" } ?? ""
        guard code != .noError else {
            return HTTPDNSProviderError(
                code: .serverFailure,
                message: "\(endpoint) has no answer for \(name), and names other servers (a referral): it does not "
                    + "resolve names for clients"
            )
        }
        return code == .refused
            ? HTTPDNSProviderError(
                code: .refused,
                message: "\(code) from \(endpoint) for \(name): "
                    + "the service does not answer this question to this client\(said)"
            )
            : HTTPDNSProviderError(
                code: .serverFailure,
                message: "\(code) from \(endpoint) for \(name): the service could not find an answer\(said)"
            )
    }
}

extension UpstreamReply {
    /// The media types that messages quote: those of the protocols, and of the pages and errors of other servers.
    private static let namedMediaTypes: Set<String> = [
        "application/dns-json", "application/dns-message", "application/javascript", "application/json",
        "application/octet-stream", "application/problem+json", "application/x-javascript", "application/xhtml+xml",
        "application/xml", "text/html", "text/javascript", "text/json", "text/plain", "text/xml",
    ]

    /// The media type without its parameters, in lower case; `nil` without a Content-Type.
    var mediaType: String? {
        headerFields.singleton(.contentType).map { field -> String in
            let field = field.value
            if Self.namedMediaTypes.contains(field) { return field }
            return field.prefix { $0 != ";" }.filter { $0 != " " && $0 != "\t" }.lowercased()
        }
    }

    /// The Content-Type for a message. Only a type of a closed list is quoted: some servers repeat the request line in that
    /// field, and the token or the signature would then appear in errors and logs.
    var contentTypeForMessages: String {
        guard let mediaType else { return "no Content-Type" }
        return Self.namedMediaTypes.contains(mediaType) ? "Content-Type \(mediaType)" : "an unknown Content-Type"
    }

    /// A hint for a body of another kind.
    package var contentTypeHint: String {
        "\(contentTypeForMessages): a captive portal or another service may answer; check the url"
    }
}

/// The terms for a service and its expected answer in messages.
package struct VendorVocabulary: Sendable {
    /// The kind of service, such as `DoH service`.
    package let service: String
    /// The kind of its answer, such as `DNS message`.
    package let answer: String
    /// The media type of its answers.
    package let mediaType: String
    /// The advice for a service that rejects the method, or the length, of the query.
    package let methodAdvice: String

    package init(service: String, answer: String, mediaType: String, methodAdvice: String) {
        self.service = service
        self.answer = answer
        self.mediaType = mediaType
        self.methodAdvice = methodAdvice
    }
}
