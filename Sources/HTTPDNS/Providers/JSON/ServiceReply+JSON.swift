internal import HTTPTypes

extension ServiceReply {
    /// What the response says about the question.
    ///
    /// The content type is not asked for: services name JSON in half a dozen ways, and what answers for the service is the
    /// certificate, what answers the question is the question in the body. It is named when the body is no answer.
    /// - Throws: ``ProviderError`` when it is no JSON DNS answer to it.
    func jsonAnswer(to question: DNSQuestion) throws(ProviderError) -> FamilyAnswer {
        try checkStatus(JSONDNSService.words)
        let message: JSONDNSMessage
        let response: DNSResponse
        do throws(JSONDNSError) {
            message = try JSONDNSMessage(parsing: body)
            response = try message.response(to: question)
        } catch {
            let hint = error.code == .notJSON ? " (\(contentTypeHint))" : ""
            throw badResponse(ForeignText.excerpt(error.description, limit: 300) + hint)
        }
        do throws(DNSMessageError) {
            return familyAnswer(try response.outcome(), to: question, comment: message.comment)
        } catch {
            throw badResponse(ForeignText.excerpt(error.description, limit: 300))
        }
    }

    var contentTypeHint: String {
        let type = headerFields[.contentType].map { "Content-Type \(ForeignText.excerpt($0))" } ?? "no Content-Type"
        return "\(type): a captive portal or another service may answer; check the url"
    }
}
