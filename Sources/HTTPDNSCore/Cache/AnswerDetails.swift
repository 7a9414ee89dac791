// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

package import HTTPDNSPrimitives

/// The facts of an answer that most answers lack.
struct AnswerDetails: Sendable {
    var canonicalName: HTTPDNSName?
    var failedAttempts: [HTTPDNSResolver.ProviderAttempt] = []
    /// The queried families that failed while another had addresses: their previous addresses are not contradicted.
    var failedFamilies: HTTPDNSAddress.Families = []
    /// The next query for the failed families; nil while none failed.
    var familyBackoff: FamilyBackoff?
    /// The result of the HTTPS records; nil without any.
    var httpsRecords: ServiceRoute?
    /// The failed lookups since the answer.
    var failure: AnswerFailure?
    /// Whether queries with any client subnet may use the answer, although the query had one.
    var holdsForAllClients = false
    /// The reasons of the provider's server for the answer.
    var extendedErrors: [HTTPDNSExtendedError] = []

    fileprivate var isEmpty: Bool {
        canonicalName == nil && failedAttempts.isEmpty && failedFamilies.isEmpty && httpsRecords == nil
            && failure == nil && !holdsForAllClients && extendedErrors.isEmpty
    }
}

/// The details of a cached answer, with the parts of its content and key that most answers lack: one object for all.
final class CachedDetails: Sendable {
    let fields: AnswerDetails
    /// The reason that there is no address, for a negative answer.
    let negative: HTTPDNSResolver.Error?
    let clientSubnet: HTTPDNSAddressBlock?

    /// Creates the details of an answer; nil when no field has a value.
    init?(_ key: CacheKey, _ answer: KnownAnswer) {
        fields = answer.details
        if case .nothing(let reason) = answer.content { negative = reason } else { negative = nil }
        clientSubnet = key.clientSubnet
        if fields.isEmpty, negative == nil, clientSubnet == nil { return nil }
    }

    /// The approximate memory: the object, and texts at their length with an allocation each.
    var byteCount: Int {
        let texts =
            Self.texts(of: fields.failedAttempts) + (fields.canonicalName.map { [$0.description] } ?? [])
            + fields.extendedErrors.map(\.text)
        let lengths = texts.reduce(0) { $0 + $1.utf8.count + Self.allocationBytes }
        let errors = [negative, fields.failure?.error].reduce(0) { $0 + ($1.map(Self.byteCount) ?? 0) }
        let endpoints = (fields.httpsRecords?.endpoints.count ?? 0) * MemoryLayout<HTTPDNSEndpoint>.stride
        let protocols =
            (fields.httpsRecords?.applicationProtocols ?? []) + (fields.httpsRecords?.unavailable.map { [$0] } ?? [])
        let serviceTexts = protocols.reduce(0) { $0 + $1.utf8.count + Self.allocationBytes }
        let offers = (fields.httpsRecords?.offers.count ?? 0) * Self.offerBytes
        return MemoryLayout<Self>.size + Self.fieldBytes + lengths + errors + endpoints + serviceTexts + offers
    }

    private static func byteCount(of error: HTTPDNSResolver.Error) -> Int {
        error.host.utf8.count + error.message.utf8.count + (error.hint?.utf8.count ?? 0)
            + texts(of: error.attempts).reduce(0) { $0 + $1.utf8.count + allocationBytes } + 3 * allocationBytes
    }

    private static func texts(of attempts: [HTTPDNSResolver.ProviderAttempt]) -> [String] {
        attempts.flatMap { attempt in
            [attempt.provider, attempt.failure] + (attempt.refusal.map { [$0.text, $0.remedy] } ?? [])
        }
    }

    /// The header of a string's or array's storage, with the allocator's own.
    private static let allocationBytes = 48
    /// An entry of a dictionary of versions by endpoint, with its share of free buckets.
    private static let offerBytes = 64
    /// The object's own fields.
    private static let fieldBytes = 480
}

/// The number of failed lookups in a row, and the time before which the name is not looked up again.
package struct AnswerFailure: Sendable {
    var count: Int
    package var error: HTTPDNSResolver.Error
    var failedAt: MonotonicTime
    package var retryAt: MonotonicTime
    /// Whether the system resolver was not queried, because a stale answer could be served.
    var skippedFallback = false
    /// The time of the first lookup since the answer that found no address; nil when there was none.
    var deniedAt: MonotonicTime?
    /// The end of the lifetime of a negative answer that is doubted; nil for another failure.
    var deniedUntil: MonotonicTime?
}

/// The result of a name's HTTPS records for requests to its own port (RFC 9460).
///
/// It does not change the server's required identity: Host, SNI and certificate stay those of the queried name (RFC 9460
/// section 9.4).
struct ServiceRoute: Hashable, Sendable {
    /// The port that the records of a bare name apply to (RFC 9460 section 9.1); other ports have their own names.
    static let port: UInt16 = 443

    /// The endpoints to connect to, in the order to try: the records by their priority, then the name at the end of the aliases,
    /// then the queried name (RFC 9460 section 3).
    ///
    /// There are no duplicates, and at most ``HTTPDNSProviderAnswer/maximumAddressesPerFamily`` of each family.
    var endpoints: [HTTPDNSEndpoint]
    /// The protocols that the most preferred record offers, as ALPN identifiers; empty without a record in service mode.
    var applicationProtocols: [String] = []
    /// The versions to offer at endpoints where the records do not offer all (RFC 9460 section 7.1).
    var offers: [HTTPDNSEndpoint: OfferedVersions] = [:]
    /// Whether it is of SRV records, which apply to every port (RFC 2782), and name no protocols.
    var isOfServers = false
    /// The reason that no connection is possible, when the owner of the name declares it.
    var unavailable: String?

    /// Returns whether it is used for requests to a port of the URL.
    func applies(to port: UInt16) -> Bool { isOfServers || port == Self.port }

    /// The result for a name whose owner declares that the service is not available.
    static func unavailable(_ name: HTTPDNSName) -> ServiceRoute {
        guard !name.isService else {
            let reason = "\(name) has an SRV record with the target \".\": the service is not available (RFC 2782)"
            return ServiceRoute(endpoints: [], isOfServers: true, unavailable: reason)
        }
        let reason =
            "\(name) has an HTTPS record in alias mode with the target \".\": its owner says that the service is not available "
            + "(RFC 9460 section 2.5.1); to connect nevertheless, turn HTTPS records off on the route"
        return ServiceRoute(endpoints: [], unavailable: reason)
    }
}
