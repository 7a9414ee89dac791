internal import HTTPDNSPrimitives
internal import HTTPTypes

extension UpstreamReply {
    /// Throws for every status but 200. RFC 8484 section 4.2.1 allows an answer with any 2xx, but the others mean something
    /// that a query does not request.
    func checkStatus(_ words: VendorVocabulary) throws(HTTPDNSProviderError) {
        guard status != 200 else { return }
        throw HTTPDNSProviderError(
            code: status == 429 ? .rateLimited : .httpStatus,
            message: "HTTP \(status) from \(endpoint): \(meaning(words))",
            retryAfter: retryAfter.map { .seconds(Int64($0)) }
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
    func badResponse(_ message: String) -> HTTPDNSProviderError {
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
        retryAfter.map { ", it wants to be left alone for \($0) s" } ?? ""
    }

    /// The wait that 429 and 5xx may request (RFC 9110 section 10.2.3), in seconds. The form with a date is not read: it
    /// would need a clock that agrees with the service's.
    var retryAfter: UInt32? {
        guard status == 429 || (500..<600).contains(status) else { return nil }
        return headerFields[.retryAfter].flatMap { UInt32($0) }
    }
}
