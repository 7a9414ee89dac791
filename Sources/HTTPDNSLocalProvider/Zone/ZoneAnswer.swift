#if LocalProvider
internal import HTTPDNSMessages
internal import HTTPDNSCore
internal import HTTPDNSPrimitives

/// What the served file says about a name.
struct ZoneAnswer: Sendable {
    var host: HTTPDNSName
    /// The names that it is an alias of (`via`), in their order.
    var aliases: [HTTPDNSName] = []
    var v4: [HTTPDNSAddress] = []
    var v6: [HTTPDNSAddress] = []
    /// The life of its records, in seconds.
    var timeToLive: Int
    /// Whether there is such a name at all.
    var exists = true

    /// The longest life of an absence, in seconds.
    private static let longestAbsence = 60

    /// The life of what it does not have, in seconds.
    var absence: Int { min(timeToLive, Self.longestAbsence) }

    /// The addresses in records of a type; none in those of other types than A and AAAA.
    func addresses(_ type: DNSRecordType) -> [HTTPDNSAddress] {
        switch type {
        case .a: v4
        case .aaaa: v6
        default: []
        }
    }

    func addresses(_ family: HTTPDNSAddress.Family) -> [HTTPDNSAddress] { family == .v4 ? v4 : v6 }
}
#endif
