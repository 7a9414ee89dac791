internal import HTTPDNSMessages

extension ServiceReply {
    /// What the response says about the question.
    ///
    /// The content type is not asked for: services name JSON in half a dozen ways, and what answers for the service is the
    /// certificate, what answers the question is the question in the body. It is named when the body is no answer.
    /// - Parameter isSecret: Whether the request has a signature or another secret in it. Then no text of the response is
    ///   quoted, which may repeat the request.
    /// - Throws: ``HTTPDNSProviderError`` when it is no JSON DNS answer to it.
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
            throw badResponse(ForeignText.excerpt(reason, limit: 300) + hint)
        }
        do throws(DNSMessageError) {
            return familyAnswer(try response.outcome(), to: question, comment: isSecret ? nil : message.comment)
        } catch {
            let reason = isSecret ? "DNS message refused (\(error.code.rawValue))" : error.description
            throw badResponse(ForeignText.excerpt(reason, limit: 300))
        }
    }
}
