#if LocalProvider
internal import HTTPDNSMessages
internal import HTTPDNSCore
internal import HTTPDNSPrimitives

/// The content of the served file for a name.
struct ZoneAnswer: Sendable {
    var host: HTTPDNSName
    /// The names of its alias chain (`via`), in order.
    var aliases: [HTTPDNSName] = []
    var v4: [HTTPDNSAddress] = []
    var v6: [HTTPDNSAddress] = []
    /// The time to live of its records, in seconds.
    var timeToLive: Int
    /// Whether the name exists.
    var exists = true

    /// The maximum time to live of a negative answer, in seconds.
    private static let longestAbsence = 60

    /// The time to live of a negative answer, in seconds.
    var absence: Int { min(timeToLive, Self.longestAbsence) }

    /// Returns the addresses in records of a type; none for types other than A and AAAA.
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
