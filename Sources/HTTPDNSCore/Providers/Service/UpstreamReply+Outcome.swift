internal import HTTPDNSMessages
internal import HTTPDNSPrimitives

extension UpstreamReply {
    /// Returns the outcome for a family in a DNS response, with the HTTP response's Age subtracted from its life.
    /// - Parameter comment: The service's own text about a failure.
    func familyAnswer(
        _ outcome: DNSOutcome,
        to question: DNSQuestion,
        comment: String? = nil
    ) -> HTTPDNSProviderAnswer.Family {
        let freshness = HTTPFreshness(headerFields)
        switch outcome {
        case .addresses(let addresses, let timeToLive, let canonicalName):
            return .addresses(
                addresses,
                timeToLive: freshness.remaining(of: timeToLive),
                canonicalName: canonicalName
            )
        case .noData(let timeToLive):
            return .noData(timeToLive: timeToLive.map(freshness.remaining(of:)))
        case .nameError(let timeToLive):
            return .nameError(timeToLive: timeToLive.map(freshness.remaining(of:)))
        case .failed(let code):
            return .failed(failure(code, question: question, comment: comment))
        }
    }

    func failure(_ code: DNSResponseCode, question: DNSQuestion, comment: String?) -> HTTPDNSProviderError {
        let name = UntrustedText.excerpt("\(question)", limit: 200)
        let said = comment.map { " (\(UntrustedText.excerpt($0, limit: 200)))" } ?? ""
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
