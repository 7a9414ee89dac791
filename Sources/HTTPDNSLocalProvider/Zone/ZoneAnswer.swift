#if LocalProvider
internal import HTTPDNS
internal import HTTPDNSPrimitives

/// What the served file says about a name.
struct ZoneAnswer: Sendable {
    var host: HostName
    /// The names that it is an alias of (`via`), in their order.
    var aliases: [HostName] = []
    var v4: [IPAddress] = []
    var v6: [IPAddress] = []
    /// In seconds; also of an absence.
    var timeToLive: Int
    /// Whether there is such a name at all.
    var exists = true

    func addresses(_ family: IPAddress.Family) -> [IPAddress] { family == .v4 ? v4 : v6 }
}
#endif
