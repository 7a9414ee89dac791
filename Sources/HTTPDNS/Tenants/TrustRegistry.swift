internal import HTTPDNSCurl
internal import HTTPDNSPrimitives

/// Which trust settings are in use by how many clients: a value.
struct TrustRegistry {
    enum Lease {
        case granted([HTTPDNSTrust: TrustedTransport])
        case tooMany
        case closed
    }

    /// As what a client has leased settings.
    enum Holding {
        /// Those that its requests go by.
        case inUse
        /// Those that it may take next.
        case candidate
        /// Those that it has taken others for; some of its requests are in flight there.
        case leaving
    }

    private struct Entry {
        let transport: TrustedTransport
        /// Clients that have them in use, or may do so next.
        var users = 0
        /// Clients that are leaving them.
        var leaving = 0
    }

    private var entries: [HTTPDNSTrust: Entry] = [:]
    private var isClosed = false

    /// Clients that are not shut down.
    private(set) var clients = 0
    var transports: [TrustedTransport] { entries.values.map(\.transport) }

    /// Leases all of these or none.
    /// - Parameters:
    ///   - offer: The settings, each with a transport to take if nobody uses them yet.
    ///   - held: What the client will give up for them, which does not count where nobody else uses it; nil: it is a new
    ///     client.
    mutating func lease(
        _ offer: [HTTPDNSTrust: TrustedTransport],
        insteadOf held: Set<HTTPDNSTrust>?,
        maximum: Int
    ) -> Lease {
        if isClosed { return .closed }
        let others = entries.count { trust, entry in
            offer[trust] == nil && entry.users > (held?.contains(trust) == true ? 1 : 0)
        }
        // Settings that stay are no more than before, whatever the limit is.
        guard others + offer.count <= maximum || held?.isSuperset(of: offer.keys) == true else { return .tooMany }
        for (trust, transport) in offer {
            entries[trust, default: Entry(transport: transport)].users += 1
        }
        if held == nil { clients += 1 }
        return .granted(entries.filter { offer[$0.key] != nil }.mapValues(\.transport))
    }

    /// A client has taken others.
    mutating func leave(_ trusts: Set<HTTPDNSTrust>) {
        for trust in trusts {
            entries[trust]?.users -= 1
            entries[trust]?.leaving += 1
        }
    }

    /// - Returns: The transports that nobody uses any more.
    mutating func release(_ trusts: Set<HTTPDNSTrust>, held holding: Holding) -> [TrustedTransport] {
        if holding == .inUse { clients -= 1 }
        var unused: [TrustedTransport] = []
        for trust in trusts {
            guard var entry = entries[trust] else { continue }
            if holding == .leaving { entry.leaving -= 1 } else { entry.users -= 1 }
            let isUnused = entry.users + entry.leaving == 0
            entries[trust] = isUnused ? nil : entry
            if isUnused { unused.append(entry.transport) }
        }
        return unused
    }

    /// Refuses new clients and settings from here on.
    mutating func close() -> [TrustedTransport] {
        isClosed = true
        return transports
    }
}
