internal import HTTPDNSPrimitives

/// What a rule with addresses answers, made once with the set of rules and handed out by reference: most requests that a
/// mapping decides need nothing more.
final class MappedAddresses: Sendable {
    /// Targets in the order in which they are tried.
    private let targets: [HTTPDNSMapping.Target]
    /// What a resolution by the rule tells beside its addresses.
    let details: ResolutionDetails
    /// Nanoseconds; `Int64.max` means no expiry.
    let life: Int64
    init(_ targets: [HTTPDNSMapping.Target], details: ResolutionDetails, timeToLive: Duration?) {
        self.targets = targets
        self.details = details
        life = timeToLive?.wholeNanoseconds ?? .max
    }

    /// Where to connect for a question on a port.
    func endpoints(port: UInt16) -> [HTTPDNSEndpoint] {
        targets.map { HTTPDNSEndpoint(address: $0.address, port: $0.port ?? port) }
    }
}
