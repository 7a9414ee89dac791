internal import CurlTransport

/// Which trust settings are in use by how many clients: a value.
struct TrustRegistry {
    enum Lease {
        case granted(TrustedTransport)
        case tooMany
        case closed
    }

    private struct Entry {
        let transport: TrustedTransport
        var leases = 0
    }

    private var entries: [TrustSettings: Entry] = [:]
    private var isClosed = false

    var leases: Int { entries.values.reduce(0) { $0 + $1.leases } }
    var transports: [TrustedTransport] { entries.values.map(\.transport) }

    /// - Parameter make: Makes a transport for settings that nobody uses yet.
    mutating func lease(_ trust: TrustSettings, maximum: Int, make: () -> TrustedTransport) -> Lease {
        if isClosed { return .closed }
        var entry: Entry
        if let known = entries[trust] {
            entry = known
        } else {
            guard entries.count < maximum else { return .tooMany }
            entry = Entry(transport: make())
        }
        entry.leases += 1
        entries[trust] = entry
        return .granted(entry.transport)
    }

    /// - Returns: The transport, if nobody uses it any more.
    mutating func release(_ trust: TrustSettings) -> TrustedTransport? {
        guard var entry = entries[trust] else { return nil }
        entry.leases -= 1
        entries[trust] = entry.leases > 0 ? entry : nil
        return entry.leases > 0 ? nil : entry.transport
    }

    /// Refuses new clients from here on.
    mutating func close() -> [TrustedTransport] {
        isClosed = true
        return transports
    }
}
