internal import HTTPTypes

extension ServiceReply {
    /// What the response says about the question.
    /// - Throws: ``ProviderError`` when it is no DNS message that answers it.
    func messageAnswer(to question: DNSQuestion) throws(ProviderError) -> FamilyAnswer {
        try checkStatus(DoHService.words)
        try checkContentType()
        let outcome: DNSOutcome
        do throws(DNSMessageError) {
            outcome = try DNSResponse(parsing: body, to: question).outcome()
        } catch {
            throw badResponse(ForeignText.excerpt(error.description, limit: 300))
        }
        return familyAnswer(outcome, to: question)
    }

    /// The type must be there (RFC 8484 section 4.2.1): without it, a captive portal's page is as likely as a message.
    /// Parameters are allowed and mean nothing.
    private func checkContentType() throws(ProviderError) {
        guard let field = headerFields[.contentType] else {
            throw badResponse("no Content-Type; it must be \(DoHService.mediaType)")
        }
        let type = field.prefix { $0 != ";" }.filter { $0 != " " && $0 != "\t" }
        guard type.lowercased() == DoHService.mediaType else {
            throw badResponse(
                "Content-Type \(ForeignText.excerpt(field)) in place of \(DoHService.mediaType): "
                    + "a captive portal or another service may answer; check the url"
            )
        }
    }
}
