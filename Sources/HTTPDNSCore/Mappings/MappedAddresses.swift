internal import HTTPDNSPrimitives

/// The answer of a rule with addresses, created once with the set of rules and passed by reference.
///
/// Most requests that a mapping decides need nothing more.
final class MappedAddresses: Sendable {
    /// The targets, in the order to try.
    private let targets: [HTTPDNSMapping.Target]
    /// The details of a resolution by the rule other than its addresses.
    let details: ResolutionDetails
    /// Nanoseconds; `Int64.max` means no expiry.
    let life: Int64
    init(_ targets: [HTTPDNSMapping.Target], details: ResolutionDetails, timeToLive: Duration?) {
        self.targets = targets
        self.details = details
        life = timeToLive?.wholeNanoseconds ?? .max
    }

    /// Returns the endpoints for a query on a port.
    func endpoints(port: UInt16) -> [HTTPDNSEndpoint] {
        targets.map { HTTPDNSEndpoint(address: $0.address, port: $0.port ?? port) }
    }
}
