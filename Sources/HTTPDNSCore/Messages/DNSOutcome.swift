package import HTTPDNSMessages
package import HTTPDNSPrimitives

/// The outcome of a response for the queried name and type.
package enum DNSOutcome: Hashable, Sendable {
    /// The addresses at the end of the alias chain: at least one, at most ``DNSResponse/maximumAddresses``, each once, in the
    /// message's order. The time to live, in seconds, is the least of all records of the chain. The canonical name is `nil`
    /// when the queried name is not an alias, or the chain does not end at a host name.
    case addresses([HTTPDNSAddress], timeToLive: UInt32, canonicalName: HTTPDNSName?)
    /// The name exists without a record of the type. The time to live is `nil` without an SOA that owns the name.
    case noData(timeToLive: UInt32?)
    /// The queried name, or the end of its alias chain, does not exist.
    case nameError(timeToLive: UInt32?)
    /// The server failed, or refused to answer.
    case failed(DNSResponseCode)
}

extension DNSResponse {
    /// The maximum number of hops in an alias chain. Resolvers stop at 8 to 17; chains of CDNs have up to 5.
    package static let maximumAliasHops = 8

    /// Returns the outcome, by the owner rule: an address counts only in the answer section, of the queried type, at the end of
    /// the single loop-free alias chain from the queried name.
    ///
    /// Records of other owners are ignored, in any order of the records. A chain that is ambiguous, has a loop or is too long
    /// invalidates the whole response.
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

    /// Returns the addresses of `records`, each once, at most ``maximumAddresses``.
    private static func addresses(in records: [DNSRecord]) -> [HTTPDNSAddress] {
        var addresses: [HTTPDNSAddress] = []
        for record in records {
            guard case .address(let address) = record.content, !addresses.contains(address) else { continue }
            addresses.append(address)
            if addresses.count == maximumAddresses { break }
        }
        return addresses
    }

    /// Returns the time for which a negative answer may be cached: the lesser of the SOA's own time to live and its MINIMUM
    /// (RFC 2308 section 5), and at most that of the aliases before it. Only the SOA of a zone that contains the name at the
    /// end of the chain counts.
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
