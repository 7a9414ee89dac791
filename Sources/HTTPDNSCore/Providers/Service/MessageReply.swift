// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

internal import HTTPDNSMessages
internal import HTTPDNSPrimitives
internal import HTTPTypes

extension UpstreamReply {
    /// Creates the response of a name server, as over HTTPS.
    init(message: [UInt8], from server: HTTPDNSEndpoint, over transport: HTTPDNSDNSProvider.Transport) {
        self.init(status: 200, headerFields: [.contentType: DoHService.mediaType], body: message, endpoint: server)
        self.transport = transport
    }

    /// The response code in the header of the message; `nil` for another body.
    var messageCode: DNSResponseCode? { status == 200 ? DNSResponseCode(inHeaderOf: body) : nil }

    /// Returns whether the message names other servers in place of an answer. Only few need to be read whole for that.
    func isReferral(about question: DNSQuestion) -> Bool {
        guard body.count > 12, body[6] == 0, body[7] == 0, body[9] != 0 else { return false }
        return (try? DNSResponse(parsing: body, to: question))?.isReferral ?? false
    }

    /// Parses the response to a query for addresses.
    /// - Parameter isSecret: Whether the request's URL may contain a secret. Then no text of the response is quoted, which
    ///   may repeat the request.
    /// - Returns: The answer, its scope prefix length, and the server's reasons for it.
    /// - Throws: ``HTTPDNSProviderError`` when it is no DNS message that answers it.
    func messageAnswer(
        to question: DNSQuestion,
        clientSubnet: DNSClientSubnet?,
        isSecret: Bool
    ) throws(HTTPDNSProviderError) -> (HTTPDNSProviderAnswer.Family, scope: Int?, reasons: [HTTPDNSExtendedError]) {
        try read(question, clientSubnet: clientSubnet, isSecret: isSecret) { response throws(DNSMessageError) in
            let reasons = response.extendedErrors.map { isSecret ? $0.withoutText : $0 }
            let outcome = try response.outcome(HTTPFreshness(headerFields)) {
                failure($0, question: question, comment: reasons.text)
            }
            return (outcome, response.clientSubnetScope, reasons)
        }
    }

    /// Parses the response to a query for the servers of a service.
    /// - Parameters:
    ///   - isSecret: As for ``messageAnswer(to:clientSubnet:isSecret:)``.
    ///   - generator: The random source for servers of one priority.
    /// - Throws: ``HTTPDNSProviderError`` when it is no DNS message that answers it.
    func messageServers(
        to question: DNSQuestion,
        isSecret: Bool,
        using generator: inout some RandomNumberGenerator
    ) throws(HTTPDNSProviderError) -> HTTPDNSProviderAnswer.HTTPSRecords {
        try read(question, clientSubnet: nil, isSecret: isSecret) { response throws(DNSMessageError) in
            try response.serverOutcome(HTTPFreshness(headerFields), using: &generator) {
                failure($0, question: question, comment: isSecret ? nil : response.extendedErrors.text)
            }
        }
    }

    /// Returns the error for a message with the code of a server that failed or refused, with its reasons.
    func messageFailure(_ code: DNSResponseCode, to question: DNSQuestion) -> HTTPDNSProviderError {
        let response = try? DNSResponse(parsing: body, to: question)
        return failure(code, question: question, comment: response?.extendedErrors.text)
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
        try read(question, clientSubnet: clientSubnet, isSecret: isSecret) { response throws(DNSMessageError) in
            try response.serviceOutcome(HTTPFreshness(headerFields), using: &generator) {
                failure($0, question: question, comment: isSecret ? nil : response.extendedErrors.text)
            }
        }
    }

    /// Parses the response to a query for records that are shown, with any response code.
    /// - Parameter isSecret: As for ``messageAnswer(to:clientSubnet:isSecret:)``.
    /// - Throws: ``HTTPDNSProviderError`` when it is no DNS message that answers it.
    func presented(
        for question: DNSQuestion,
        isSecret: Bool
    ) throws(HTTPDNSProviderError) -> PresentedResponse {
        try read(isSecret: isSecret) { () throws(DNSMessageError) in
            try PresentedResponse(parsing: body, to: question)
        }
    }

    private func read<Outcome>(
        _ question: DNSQuestion,
        clientSubnet: DNSClientSubnet?,
        isSecret: Bool,
        as outcome: (DNSResponse) throws(DNSMessageError) -> Outcome
    ) throws(HTTPDNSProviderError) -> Outcome {
        try read(isSecret: isSecret) { () throws(DNSMessageError) in
            try outcome(DNSResponse(parsing: body, to: question, clientSubnet: clientSubnet))
        }
    }

    private func read<Outcome>(
        isSecret: Bool,
        as outcome: () throws(DNSMessageError) -> Outcome
    ) throws(HTTPDNSProviderError) -> Outcome {
        try checkStatus(DoHService.words)
        try checkContentType()
        do throws(DNSMessageError) {
            return try outcome()
        } catch {
            let reason = isSecret ? "DNS message refused (\(error.code.rawValue))" : error.description
            var failure = badResponse(UntrustedText.excerpt(reason, limit: 300))
            // The owner of the name may have written its records so: that says nothing about the service.
            if error.code.isAboutName { failure.code = .serverFailure }
            throw failure
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

extension [HTTPDNSExtendedError] {
    /// The reasons in one text; nil without any.
    var text: String? { isEmpty ? nil : map(\.description).joined(separator: ", ") }
}
