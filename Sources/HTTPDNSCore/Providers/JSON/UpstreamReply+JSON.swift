internal import HTTPDNSMessages

extension UpstreamReply {
    /// Parses the response to the question.
    ///
    /// The content type is not checked: services use half a dozen names for JSON. The certificate authenticates the service,
    /// and the question in the body identifies the response. An error names the content type when the body is no answer.
    /// - Parameter isSecret: Whether the request has a signature or another secret in it. Then no text of the response is
    ///   quoted, which may repeat the request.
    /// - Throws: ``HTTPDNSProviderError`` when it is no JSON DNS response to the question.
    func jsonAnswer(to question: DNSQuestion, isSecret: Bool) throws(HTTPDNSProviderError)
        -> HTTPDNSProviderAnswer.Family
    {
        try checkStatus(JSONDNSService.words)
        let message: JSONDNSMessage
        let response: DNSResponse
        do throws(JSONDNSError) {
            message = try JSONDNSMessage(parsing: body)
            response = try message.response(to: question)
        } catch {
            let hint = error.code == .notJSON ? " (\(contentTypeHint))" : ""
            let reason = isSecret ? "JSON DNS answer refused (\(error.code.rawValue))" : error.description
            throw badResponse(UntrustedText.excerpt(reason, limit: 300) + hint)
        }
        do throws(DNSMessageError) {
            return familyAnswer(try response.outcome(), to: question, comment: isSecret ? nil : message.comment)
        } catch {
            let reason = isSecret ? "DNS message refused (\(error.code.rawValue))" : error.description
            throw badResponse(UntrustedText.excerpt(reason, limit: 300))
        }
    }
}
