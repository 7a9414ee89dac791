internal import HTTPDNSPrimitives

/// The rarely used fields of a cached answer.
final class AnswerDetails: Sendable {
    let canonicalName: HTTPDNSName?
    let failedAttempts: [HTTPDNSResolver.ProviderAttempt]
    /// The families that failed while another had addresses.
    let failedFamilies: HTTPDNSAddress.Families
    let services: ServiceRoute?
    /// The reason that there is no address, for a negative answer.
    let negative: HTTPDNSResolver.Error?
    /// The failure of a refresh since the answer was received.
    let failure: AnswerFailure?
    let clientSubnet: HTTPDNSAddressBlock?
    /// Whether queries with any client subnet may use the answer.
    let holdsForAllClients: Bool

    init(
        canonicalName: HTTPDNSName?,
        failedAttempts: [HTTPDNSResolver.ProviderAttempt],
        failedFamilies: HTTPDNSAddress.Families,
        services: ServiceRoute?,
        negative: HTTPDNSResolver.Error?,
        failure: AnswerFailure?,
        clientSubnet: HTTPDNSAddressBlock?,
        holdsForAllClients: Bool
    ) {
        self.canonicalName = canonicalName
        self.failedAttempts = failedAttempts
        self.failedFamilies = failedFamilies
        self.services = services
        self.negative = negative
        self.failure = failure
        self.clientSubnet = clientSubnet
        self.holdsForAllClients = holdsForAllClients
    }

    var isEmpty: Bool {
        canonicalName == nil && failedAttempts.isEmpty && failedFamilies.isEmpty && services == nil && negative == nil
            && failure == nil
            && clientSubnet == nil && !holdsForAllClients
    }

    /// The approximate memory: the object, and texts at their length with an allocation each.
    var byteCount: Int {
        let texts =
            failedAttempts.flatMap { [$0.provider, $0.failure] } + (canonicalName.map { [$0.description] } ?? [])
        let lengths = texts.reduce(0) { $0 + $1.utf8.count + Self.allocationBytes }
        let errors = [negative, failure?.error].reduce(0) { $0 + ($1.map(Self.byteCount) ?? 0) }
        let endpoints = (services?.endpoints.count ?? 0) * MemoryLayout<HTTPDNSEndpoint>.stride
        let protocols = (services?.applicationProtocols ?? []) + (services?.unavailable.map { [$0] } ?? [])
        let serviceTexts = protocols.reduce(0) { $0 + $1.utf8.count + Self.allocationBytes }
        return MemoryLayout<Self>.size + Self.fieldBytes + lengths + errors + endpoints + serviceTexts
    }

    private static func byteCount(of error: HTTPDNSResolver.Error) -> Int {
        error.host.utf8.count + error.message.utf8.count + (error.hint?.utf8.count ?? 0)
            + error.attempts.reduce(0) {
                $0 + $1.provider.utf8.count + $1.failure.utf8.count + 2 * Self.allocationBytes
            } + 3 * allocationBytes
    }

    /// The header of a string's or array's storage, with the allocator's own.
    private static let allocationBytes = 48
    /// The object's own fields.
    private static let fieldBytes = 480
}
