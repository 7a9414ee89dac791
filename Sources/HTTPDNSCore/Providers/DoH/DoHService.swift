// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

internal import HTTPDNSCurl
internal import HTTPDNSMessages
internal import HTTPDNSPrimitives
internal import HTTPTypes

/// A DoH service with checked settings: its URL, and the conversion of a query to a request.
struct DoHService {
    /// The media type of RFC 8484 section 6.
    static let mediaType = "application/dns-message"

    static let words = VendorVocabulary(
        service: "DoH service",
        answer: "DNS message",
        mediaType: mediaType,
        methodAdvice: "set the other one of get and post"
    )

    let location: UpstreamLocation
    /// Whether the URL may contain a secret, which no message may quote: its path is not the usual one, or it has a query.
    let hasSecretURL: Bool
    private let method: HTTPDNSDoHProvider.Method

    init(_ configuration: HTTPDNSDoHProvider.Configuration) throws(HTTPDNSProviderConfigurationError) {
        guard let url = Self.withoutTemplate(configuration.url) else {
            throw HTTPDNSProviderConfigurationError(
                provider: configuration.name,
                message: "the only template that a DoH url may have is {?dns} at its end (RFC 8484 section 4.1)"
            )
        }
        location = try UpstreamLocation(url: url, bootstrap: configuration.bootstrap, provider: configuration.name)
        hasSecretURL = location.url.target != "/dns-query"
        method = configuration.method
    }

    /// Returns the request for `question`, with `clientSubnet`.
    func request(
        for question: DNSQuestion,
        clientSubnet: DNSClientSubnet?,
        usesEDNS: Bool
    ) throws(HTTPDNSProviderError) -> ServiceRequest {
        let message = DNSQuery.encoded(question, clientSubnet: clientSubnet, usesEDNS: usesEDNS)
        var fields = HTTPFields()
        fields[.accept] = Self.mediaType
        switch method {
        case .post:
            fields[.contentType] = Self.mediaType
            return ServiceRequest(method: .post, url: location.url, headerFields: fields, body: message)
        case .get:
            // RFC 8484 section 6 requires this form.
            let target = try location.url(adding: "dns=\(Base64.urlText(message))")
            return ServiceRequest(method: .get, url: target, headerFields: fields)
        }
    }

    /// Returns the URL without `{?dns}` or `{&dns}` at its end; nil with any other brace (RFC 6570).
    private static func withoutTemplate(_ url: String) -> String? {
        var text = url[...]
        for template in ["{?dns}", "{&dns}"] where text.hasSuffix(template) {
            text = text.dropLast(template.count)
            break
        }
        return text.utf8.contains { $0 == UInt8(ascii: "{") || $0 == UInt8(ascii: "}") } ? nil : String(text)
    }
}
