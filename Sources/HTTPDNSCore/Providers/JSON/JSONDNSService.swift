internal import HTTPDNSCurl
internal import HTTPDNSMessages
internal import HTTPDNSPrimitives
internal import HTTPTypes

/// A JSON DNS service whose settings are in order: where it is, and how a question becomes a request to it.
struct JSONDNSService {
    /// The media type that Cloudflare chooses its JSON by, and that the others do not look at.
    static let mediaType = "application/dns-json"

    static let words = ServiceWords(
        service: "JSON DNS service",
        answer: "JSON DNS answer",
        mediaType: mediaType,
        methodAdvice: "check that the url is that of a JSON DNS service"
    )

    /// The longest body: as long as a DNS message may be in its denser form.
    static let maximumBodyOctets = 64 * 1024

    /// The parameters that a query sets, or that change the form of the answer. Of one that is there twice, Google takes the
    /// first.
    private static let reservedParameters: Set<Substring> = [
        "name", "type", "edns_client_subnet", "ct", "short", "uid", "ak", "key", "ts",
    ]

    let location: ServiceLocation
    /// Whether requests have something in them that no message may quote: a signature, or what an own URL may have as a path
    /// or query.
    let hasSecretRequests: Bool
    private let takesClientSubnet: Bool
    private let signature: AlidnsSignature?

    init(_ configuration: HTTPDNSJSONProvider.Configuration) throws(HTTPDNSProviderConfigurationError) {
        location = try ServiceLocation(
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
        hasSecretRequests = configuration.service.account != nil || configuration.url != configuration.service.url
        takesClientSubnet = configuration.service.takesClientSubnet
        signature = try configuration.service.account.map { account throws(HTTPDNSProviderConfigurationError) in
            try AlidnsSignature(account, provider: configuration.name)
        }
    }

    /// The request that carries `question`.
    /// - Parameters:
    ///   - host: The name of the question.
    ///   - clock: When the request is signed, where it is.
    func request(
        for host: HTTPDNSName,
        type: DNSRecordType,
        clientSubnet: HTTPDNSAddressBlock?,
        clock: WallClock
    ) async throws -> ServiceRequest {
        // Names and subnets have no character that a query would have to escape.
        var parameters = "name=\(host)&type=\(type.number)"
        if takesClientSubnet, let subnet = clientSubnet.map({ DNSClientSubnet($0).network }) {
            parameters += "&edns_client_subnet=\(subnet)"
        }
        if let signature { parameters += try await signature.parameters(for: host, at: clock.now() / 1000) }
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
