internal import HTTPDNSPrimitives

/// What is a vendor's own: how a question becomes a request, and what a reply says. A value without state and without
/// tasks; ``VendorExchange`` does the rest for all vendors.
///
/// A new vendor is a folder with one type of this protocol, and a provider with its settings.
protocol VendorProtocol: Sendable {
    /// How many names one request may have.
    var batchLimit: Int { get }

    /// The request that carries `question`.
    /// - Parameters:
    ///   - secrets: Those of the account, as they are now.
    ///   - seconds: The vendor's time.
    /// - Throws: ``HTTPDNSProviderError`` when a secret is not of the form that the vendor's must have.
    func request(
        for question: VendorQuestion,
        secrets: VendorSecrets,
        at seconds: Int64
    ) throws(HTTPDNSProviderError) -> ServiceRequest

    /// A request as it goes to one of the service's addresses. By default it is the same at each, which proves itself by a
    /// certificate for the host in the URL.
    func addressed(_ request: ServiceRequest, to endpoint: HTTPDNSEndpoint) -> ServiceRequest

    /// The refusal that a reply is; nil when it should have answers.
    func refusal(in reply: ServiceReply) -> VendorRefusal?

    /// What a reply says about the names of the question. Names of which it says nothing are left out, and other names have
    /// no place in it.
    /// - Throws: ``HTTPDNSProviderError`` when it is no answer at all.
    func answers(
        in reply: ServiceReply,
        to question: VendorQuestion,
        secrets: VendorSecrets
    ) throws(HTTPDNSProviderError) -> [HTTPDNSName: HTTPDNSProviderAnswer]

    /// The request that asks which addresses the service has; nil when there is none.
    func discoveryRequest(secrets: VendorSecrets, at seconds: Int64) throws(HTTPDNSProviderError) -> ServiceRequest?

    /// What a reply to it says.
    /// - Throws: ``HTTPDNSProviderError`` when it says nothing of the kind.
    func discovery(in reply: ServiceReply, secrets: VendorSecrets) throws(HTTPDNSProviderError) -> ServiceDiscovery
}

extension VendorProtocol {
    func addressed(_ request: ServiceRequest, to endpoint: HTTPDNSEndpoint) -> ServiceRequest { request }
}

/// One question to a vendor.
struct VendorQuestion: Hashable, Sendable {
    /// The names, from one to the vendor's ``VendorProtocol/batchLimit``, each once.
    var hosts: [HTTPDNSName]
    var families: HTTPDNSAddress.Families
    /// On whose behalf is asked.
    var clientSubnet: HTTPDNSAddressBlock?
}

/// What a vendor says about its own service.
struct ServiceDiscovery: Hashable, Sendable {
    /// Where it is; empty changes nothing.
    var endpoints: [HTTPDNSEndpoint] = []
    /// Whether the vendor has switched the account off: nothing may be asked.
    var isDisabled = false
    /// How long that holds, where the vendor says so.
    var lifetime: Duration?
}
