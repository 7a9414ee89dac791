// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

internal import HTTPDNSMessages
internal import HTTPTypes

extension UpstreamReply {
    /// The response code in the header of the message; `nil` for another body.
    var messageCode: DNSResponseCode? { status == 200 ? DNSResponseCode(inHeaderOf: body) : nil }

    /// Parses the response to a query for addresses.
    /// - Parameter isSecret: Whether the request's URL may contain a secret. Then no text of the response is quoted, which
    ///   may repeat the request.
    /// - Returns: The answer, and its scope prefix length.
    /// - Throws: ``HTTPDNSProviderError`` when it is no DNS message that answers it.
    func messageAnswer(
        to question: DNSQuestion,
        clientSubnet: DNSClientSubnet?,
        isSecret: Bool
    ) throws(HTTPDNSProviderError) -> (HTTPDNSProviderAnswer.Family, scope: Int?) {
        let (outcome, scope) = try read(question, clientSubnet: clientSubnet, isSecret: isSecret) {
            response throws(DNSMessageError) in
            (try response.outcome(), response.clientSubnetScope)
        }
        return (familyAnswer(outcome, to: question), scope)
    }

    /// Parses the response to a query for HTTPS records.
    /// - Parameters:
    ///   - isSecret: As for ``messageAnswer(to:clientSubnet:isSecret:)``.
    ///   - generator: The random source for one of several targets of alias mode (RFC 9460 section 2.4.2).
    /// - Throws: ``HTTPDNSProviderError`` when it is no DNS message that answers it.
    func messageHTTPSRecords(
        for question: DNSQuestion,
        clientSubnet: DNSClientSubnet?,
        isSecret: Bool = false,
        using generator: inout some RandomNumberGenerator
    ) throws(HTTPDNSProviderError) -> HTTPDNSProviderAnswer.HTTPSRecords {
        let outcome = try read(question, clientSubnet: clientSubnet, isSecret: isSecret) {
            response throws(DNSMessageError) in
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
            return .failed(failure(code, question: question, comment: nil))
        }
    }

    /// Parses the response to a query for records, whose aliases are not followed.
    /// - Parameter isSecret: As for ``messageAnswer(to:clientSubnet:isSecret:)``.
    /// - Throws: ``HTTPDNSProviderError`` when it is no DNS message that answers it, or the service failed or refused.
    func messageRecords(
        for question: DNSQuestion,
        clientSubnet: DNSClientSubnet?,
        isSecret: Bool
    ) throws(HTTPDNSProviderError) -> DNSResponse {
        let response = try read(question, clientSubnet: clientSubnet, isSecret: isSecret) {
            response throws(DNSMessageError) in response
        }
        guard response.responseCode == .noError || response.responseCode == .nameError else {
            throw failure(response.responseCode, question: question, comment: nil)
        }
        return response
    }

    private func read<Outcome>(
        _ question: DNSQuestion,
        clientSubnet: DNSClientSubnet?,
        isSecret: Bool,
        as outcome: (DNSResponse) throws(DNSMessageError) -> Outcome
    ) throws(HTTPDNSProviderError) -> Outcome {
        try checkStatus(DoHService.words)
        try checkContentType()
        do throws(DNSMessageError) {
            return try outcome(DNSResponse(parsing: body, to: question, clientSubnet: clientSubnet))
        } catch {
            let reason = isSecret ? "DNS message refused (\(error.code.rawValue))" : error.description
            throw badResponse(UntrustedText.excerpt(reason, limit: 300))
        }
    }

    /// Checks that the content type is present and correct.
    ///
    /// It is required (RFC 8484 section 4.2.1): without it, a captive portal's page is as likely as a message. Parameters are
    /// allowed and ignored.
    private func checkContentType() throws(HTTPDNSProviderError) {
        guard let mediaType else { throw badResponse("no Content-Type; it must be \(DoHService.mediaType)") }
        guard mediaType == DoHService.mediaType else {
            throw badResponse(
                "\(contentTypeForMessages) in place of \(DoHService.mediaType): "
                    + "a captive portal or another service may answer; check the url"
            )
        }
    }
}
