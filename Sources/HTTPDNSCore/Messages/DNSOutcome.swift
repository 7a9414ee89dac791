package import HTTPDNSMessages
package import HTTPDNSPrimitives

/// What a response says about the name and the type that were asked for.
package enum DNSOutcome: Hashable, Sendable {
    /// The addresses at the end of the alias chain: at least one, at most ``DNSResponse/maximumAddresses``, each once, in
    /// the message's order. The time to live, in seconds, is the least of all records of the chain; the canonical name
    /// is nil when the name asked is no alias, or its end is no host name.
    case addresses([HTTPDNSAddress], timeToLive: UInt32, canonicalName: HTTPDNSName?)
    /// The name exists without a record of the type. The time to live is nil without an SOA that owns the name.
    case noData(timeToLive: UInt32?)
    /// The name, or the one that it is an alias of, does not exist.
    case nameError(timeToLive: UInt32?)
    /// The server could not answer, or would not.
    case failed(DNSResponseCode)
}

extension DNSResponse {
    /// The most hops of an alias chain that are followed. Resolvers stop at 8 to 17; chains of CDNs have up to 5.
    package static let maximumAliasHops = 8

    /// What the response says, by the owner rule: an address counts only at the end of the one loop-free alias chain
    /// from the name asked, of the asked type, in the answer section.
    ///
    /// Records for other owners are ignored, in whatever order the records stand. A chain that could be followed in two
    /// ways, comes back to itself or is too long refuses the whole response.
    package func outcome() throws(DNSMessageError) -> DNSOutcome {
        guard responseCode == .noError || responseCode == .nameError else { return .failed(responseCode) }
        let chain = try followAliases()
        let addresses = Self.addresses(in: chain.records)
        if responseCode == .nameError {
            guard addresses.isEmpty else {
                throw DNSMessageError(.contradiction, "NXDOMAIN with addresses for \(chain.end)")
            }
            return .nameError(timeToLive: negativeTimeToLive(of: chain))
        }
        guard !addresses.isEmpty else { return .noData(timeToLive: negativeTimeToLive(of: chain)) }
        return .addresses(
            addresses,
            timeToLive: chain.timeToLive,
            canonicalName: chain.hops == 0 ? nil : chain.end.hostName
        )
    }

    /// The addresses of `records`, each once, at most ``maximumAddresses``.
    private static func addresses(in records: [DNSRecord]) -> [HTTPDNSAddress] {
        var addresses: [HTTPDNSAddress] = []
        for record in records {
            guard case .address(let address) = record.content, !addresses.contains(address) else { continue }
            addresses.append(address)
            if addresses.count == maximumAddresses { break }
        }
        return addresses
    }

    /// How long an absence may be remembered: the lesser of the SOA's own time to live and its MINIMUM (RFC 2308
    /// section 5), and no longer than the aliases that led to it. Only the SOA of a zone that the name at the end of the
    /// chain lies in counts.
    func negativeTimeToLive(of chain: AliasChain) -> UInt32? {
        var least: UInt32?
        for record in authorities where chain.end.isAtOrBelow(record.owner) {
            guard case .startOfAuthority(let minimum) = record.content else { continue }
            let seconds = min(DNSTimeToLive.seconds(record.timeToLive), DNSTimeToLive.seconds(minimum))
            least = min(least ?? seconds, seconds)
        }
        return least.map { min($0, chain.timeToLive) }
    }
}
