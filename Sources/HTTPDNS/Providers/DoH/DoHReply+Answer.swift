internal import HTTPDNSPrimitives
internal import HTTPTypes

extension DoHReply {
    /// What the response says about a question for addresses.
    /// - Throws: ``ProviderError`` when it is no DNS message that answers it.
    func answer(to question: DNSQuestion, clientSubnet: DNSClientSubnet?) throws(ProviderError) -> FamilyAnswer {
        let outcome = try read(question, clientSubnet: clientSubnet) { response throws(DNSMessageError) in
            try response.outcome()
        }
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
            return .failed(failure(code, question: question))
        }
    }

    /// What the response says about a question for services.
    /// - Parameter generator: Picks one of several targets of alias mode (RFC 9460 section 2.4.2).
    /// - Throws: ``ProviderError`` when it is no DNS message that answers it.
    func services(
        for question: DNSQuestion,
        clientSubnet: DNSClientSubnet?,
        using generator: inout some RandomNumberGenerator
    ) throws(ProviderError) -> ServiceAnswer {
        let outcome = try read(question, clientSubnet: clientSubnet) { response throws(DNSMessageError) in
            try response.serviceOutcome()
        }
        let freshness = HTTPFreshness(headerFields)
        switch outcome {
        case .bindings(let bindings, let timeToLive):
            return .bindings(bindings, timeToLive: freshness.remaining(of: timeToLive))
        case .aliases(let targets, let timeToLive):
            let life = freshness.remaining(of: timeToLive)
            guard let target = targets.randomElement(using: &generator) else { return .none(timeToLive: life) }
            return .alias(target, timeToLive: life)
        case .unavailable(let timeToLive):
            return .unavailable(timeToLive: freshness.remaining(of: timeToLive))
        case .none(let timeToLive):
            return .none(timeToLive: timeToLive.map(freshness.remaining(of:)))
        case .failed(let code):
            return .failed(failure(code, question: question))
        }
    }

    private func read<Outcome>(
        _ question: DNSQuestion,
        clientSubnet: DNSClientSubnet?,
        as outcome: (DNSResponse) throws(DNSMessageError) -> Outcome
    ) throws(ProviderError) -> Outcome {
        try checkStatus()
        try checkContentType()
        do throws(DNSMessageError) {
            return try outcome(DNSResponse(parsing: body, to: question, clientSubnet: clientSubnet))
        } catch {
            throw badResponse(ForeignText.excerpt(error.description, limit: 300))
        }
    }

    private func failure(_ code: DNSResponseCode, question: DNSQuestion) -> ProviderError {
        let name = ForeignText.excerpt("\(question)", limit: 200)
        return code == .refused
            ? ProviderError(
                code: .refused,
                message:
                    "\(code) from \(endpoint) for \(name): the service does not answer this question to this client"
            )
            : ProviderError(
                code: .serverFailure,
                message: "\(code) from \(endpoint) for \(name): the service could not find an answer"
            )
    }

    private func badResponse(_ message: String) -> ProviderError {
        ProviderError(code: .badResponse, message: "\(message), from \(endpoint)")
    }

    /// A DNS message comes with 200 alone: RFC 8484 section 4.2.1 lets any 2xx carry one, but the others mean something
    /// that a query does not ask for.
    private func checkStatus() throws(ProviderError) {
        guard status != 200 else { return }
        throw ProviderError(code: .httpStatus, message: "HTTP \(status) from \(endpoint): \(meaningOfStatus)")
    }

    private var meaningOfStatus: String {
        switch status {
        case 204, 205: "no content, where a DNS message belongs; check that the url has the path of the DoH service"
        case 304: "not modified, although nothing conditional was asked"
        case 300..<400: "redirects are not followed; put the final url in the settings"
        case 400: "the service did not understand the query; check that the url has the path of its DoH service"
        case 401, 403, 407: "the service does not let this client ask"
        case 404, 410: "there is no DoH service at this path; check the url"
        case 405: "the service does not take this method; set the other one of get and post"
        case 413, 414: "the query is too long for the service; set the other one of get and post"
        case 415: "the service does not take \(DoHService.mediaType); check that the url is that of a DoH service"
        case 421: "the server does not serve this name; check url and bootstrap"
        case 429: "too many queries" + retryAfter
        case 500..<600: "the service failed" + retryAfter
        default: "200 and a DNS message were expected"
        }
    }

    /// `, it wants to be left alone for 30 s` where the service says so in seconds.
    private var retryAfter: String {
        guard let value = headerFields[.retryAfter], let seconds = UInt32(value) else { return "" }
        return ", it wants to be left alone for \(seconds) s"
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
