// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

internal import HTTPDNSCurl
internal import HTTPDNSMessages
internal import HTTPDNSPrimitives
internal import HTTPTypes

/// A JSON DNS service with checked settings: its URL, and the conversion of a query to a request.
struct JSONDNSService {
    /// The media type with which Cloudflare selects JSON; the other services ignore it.
    static let mediaType = "application/dns-json"

    static let words = VendorVocabulary(
        service: "JSON DNS service",
        answer: "JSON DNS answer",
        mediaType: mediaType,
        methodAdvice: "check that the url is that of a JSON DNS service"
    )

    /// The maximum length of a body: as long as a DNS message may be in its denser form.
    static let maximumBodyOctets = 64 * 1024

    /// The parameters that a query sets, or that change the form of the response. Of a repeated parameter, Google uses the
    /// first.
    private static let reservedParameters: Set<Substring> = [
        "name", "type", "edns_client_subnet", "ct", "short", "uid", "ak", "key", "ts",
    ]

    let location: UpstreamLocation
    /// Whether requests contain data that no message may quote: a signature, or the path or query of a custom URL.
    let hasSecretRequests: Bool
    private let acceptsClientSubnet: Bool
    private let signature: (any JSONQuerySigning)?

    init(_ configuration: HTTPDNSJSONProvider.Configuration) throws(HTTPDNSProviderConfigurationError) {
        location = try UpstreamLocation(
            url: configuration.url,
            bootstrap: configuration.bootstrap,
            provider: configuration.name
        )
        if let parameter = Self.parameterNames(in: location.url).first(where: Self.reservedParameters.contains) {
            throw HTTPDNSProviderConfigurationError(
                provider: configuration.name,
                message: "its url has the parameter \(parameter), which is for the query to set; remove it"
            )
        }
        hasSecretRequests = configuration.service.signature != nil || configuration.url != configuration.service.url
        acceptsClientSubnet = configuration.service.acceptsClientSubnet
        signature = configuration.service.signature
        try signature?.check(provider: configuration.name)
    }

    /// Returns the request for `question`.
    /// - Parameters:
    ///   - host: The name of the query.
    ///   - clock: The clock for a signature.
    ///   - deadline: The end of the wait for the file of a signature's secret, on `time`.
    func request(
        for host: HTTPDNSName,
        type: DNSRecordType,
        clientSubnet: HTTPDNSAddressBlock?,
        clock: WallClock,
        until deadline: MonotonicTime,
        on time: any TimeSource
    ) async throws -> ServiceRequest {
        // Names and subnets have no characters that need escaping in a query.
        var parameters = "name=\(host)&type=\(type.number)"
        if acceptsClientSubnet, let subnet = clientSubnet.map({ DNSClientSubnet($0).network }) {
            parameters += "&edns_client_subnet=\(subnet)"
        }
        if let signature {
            parameters += try await signature.parameters(
                for: host,
                at: clock.now() / 1000,
                until: deadline,
                on: time
            )
        }
        var fields = HTTPFields()
        fields[.accept] = Self.mediaType
        return ServiceRequest(method: .get, url: try location.url(adding: parameters), headerFields: fields)
    }

    private static func parameterNames(in url: ParsedURL) -> [Substring] {
        let parts = url.target.split(separator: "?", maxSplits: 1, omittingEmptySubsequences: false)
        guard parts.count == 2 else { return [] }
        return parts[1].split(separator: "&").map { $0.prefix { $0 != "=" } }
    }
}

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
            return try response.outcome(HTTPFreshness(headerFields)) {
                failure($0, question: question, comment: isSecret ? nil : message.comment)
            }
        } catch {
            let reason = isSecret ? "DNS message refused (\(error.code.rawValue))" : error.description
            throw badResponse(UntrustedText.excerpt(reason, limit: 300))
        }
    }
}
