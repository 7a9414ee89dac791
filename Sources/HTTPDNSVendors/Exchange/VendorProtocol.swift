// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

internal import HTTPDNSCore
internal import HTTPDNSCurl
internal import HTTPDNSPrimitives

/// A vendor's own part of the protocol: the encoding of a query as a request, and the reading of a reply. A value without
/// state and without tasks; ``VendorExchange`` does the rest for all vendors.
///
/// A new vendor is a folder with one type of this protocol, and a provider with its settings.
protocol VendorProtocol: Sendable {
    /// The maximum number of names in one request.
    var batchLimit: Int { get }

    /// Returns the request that carries `question`.
    /// - Parameters:
    ///   - secrets: The account's current secrets.
    ///   - seconds: The vendor's time.
    /// - Throws: `HTTPDNSProviderError` when a secret does not have the vendor's form.
    func request(
        for question: VendorQuery,
        secrets: VendorSecrets,
        at seconds: Int64
    ) throws(HTTPDNSProviderError) -> ServiceRequest

    /// Returns the request for one of the service's addresses. By default it is the same for each, and the certificate must
    /// be valid for the host in the URL.
    func addressed(_ request: ServiceRequest, to endpoint: HTTPDNSEndpoint) -> ServiceRequest

    /// Returns the refusal in a reply; `nil` when the reply should have answers.
    func refusal(in reply: UpstreamReply) -> VendorRefusal?

    /// Returns the answers in a reply for the names of the query. Names without an answer are omitted, and other names are
    /// ignored.
    /// - Throws: ``VendorAnswerError`` when the reply is not an answer at all; `HTTPDNSProviderError`.
    func answers(
        in reply: UpstreamReply,
        to question: VendorQuery,
        secrets: VendorSecrets
    ) throws -> [HTTPDNSName: HTTPDNSProviderAnswer]

    /// Returns the request for the service's addresses; `nil` when the protocol has none.
    func discoveryRequest(secrets: VendorSecrets, at seconds: Int64) throws(HTTPDNSProviderError) -> ServiceRequest?

    /// Returns the service's addresses in a reply.
    /// - Throws: ``VendorAnswerError`` when the reply has none; `HTTPDNSProviderError`.
    func discovery(in reply: UpstreamReply, secrets: VendorSecrets) throws -> ServiceDiscovery
}

extension VendorProtocol {
    func addressed(_ request: ServiceRequest, to endpoint: HTTPDNSEndpoint) -> ServiceRequest { request }
}

/// A query to a vendor.
struct VendorQuery: Hashable, Sendable {
    /// The names, from one to the vendor's ``VendorProtocol/batchLimit``, each once.
    var hosts: [HTTPDNSName]
    var families: HTTPDNSAddress.Families
    /// The client subnet to send.
    var clientSubnet: HTTPDNSAddressBlock?
}

extension UpstreamLocation {
    /// Returns a URL at the service with a path of the protocol.
    /// - Parameters:
    ///   - path: Begins with `/`; in the characters that a path may have.
    ///   - parameters: `name=value` pairs in the characters that a query may have.
    func url(path: String, _ parameters: [(name: String, value: String)]) throws(HTTPDNSProviderError) -> ParsedURL {
        let query = parameters.map { "\($0.name)=\($0.value)" }.joined(separator: "&")
        do throws(URLFailure) {
            return try ParsedURL("\(url.scheme)://\(url.authority)\(path)?\(query)")
        } catch {
            // The error's text is dropped: it may quote the URL, and with it a signature.
            throw HTTPDNSProviderError(code: .unreachable, message: "the query does not fit into the url")
        }
    }

    /// Creates the location of a vendor's service. The vendor's protocol defines the paths.
    static func vendor(
        url: String,
        bootstrap: [HTTPDNSAddress],
        provider: String
    ) throws(HTTPDNSProviderConfigurationError) -> UpstreamLocation {
        let location = try UpstreamLocation(url: url, bootstrap: bootstrap, provider: provider)
        guard location.url.target == "/" else {
            throw HTTPDNSProviderConfigurationError(
                provider: provider,
                message:
                    "its url has a path or a query, which the vendor's protocol has of its own; end it with the port"
            )
        }
        return location
    }
}
