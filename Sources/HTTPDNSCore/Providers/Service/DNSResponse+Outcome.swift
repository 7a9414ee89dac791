// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

package import HTTPDNSMessages
internal import HTTPDNSPrimitives

extension DNSResponse {
    /// The maximum number of hops in an alias chain. Resolvers stop at 8 to 17; chains of CDNs have up to 5, and more where a
    /// load balancer of DNS is before them.
    static let maximumAliasHops = 16

    /// Returns the outcome for the queried family, by the owner rule: an address counts only in the answer section, of the
    /// queried type, at the end of the single loop-free alias chain from the queried name.
    ///
    /// There are at most ``maximumAddresses``, each once, in the message's order. The time to live is the least of all records
    /// of the chain; a negative outcome without an SOA that owns the name has none. The canonical name is nil when the queried
    /// name is not an alias, or the chain does not end at a host name.
    ///
    /// Records of other owners are ignored, in any order of the records. So are a second alias of a name, and other records
    /// beside an alias: no zone may have them (RFC 2181 section 10.1, RFC 1034 section 3.6.2), and some services send them. glibc
    /// reads them alike. A chain that has a loop or is too long invalidates the whole response, and so does an ambiguous one
    /// without a record at its end.
    /// - Parameters:
    ///   - freshness: The age of the HTTP response, which is subtracted from the times to live.
    ///   - failure: A function that returns the error for the code of a server that failed, or refused to answer.
    func outcome(
        _ freshness: HTTPFreshness,
        failure: (DNSResponseCode) -> HTTPDNSProviderError
    ) throws(DNSMessageError) -> HTTPDNSProviderAnswer.Family {
        guard isDefinite else { return .failed(failure(responseCode)) }
        let chain = try followAliases()
        let addresses = Self.addresses(in: chain.records)
        if responseCode == .nameError {
            guard addresses.isEmpty else {
                throw DNSMessageError(.contradiction, "NXDOMAIN with addresses for \(chain.end)")
            }
            return .nameError(timeToLive: negativeTimeToLive(of: chain).map(freshness.remaining))
        }
        guard !addresses.isEmpty else {
            return .noData(timeToLive: negativeTimeToLive(of: chain).map(freshness.remaining))
        }
        return .addresses(
            addresses,
            timeToLive: freshness.remaining(of: chain.timeToLive),
            canonicalName: chain.hops == 0 ? nil : chain.end.hostName
        )
    }

    /// Whether the server had a definite result: NOERROR or NXDOMAIN, and no referral to others.
    var isDefinite: Bool { (responseCode == .noError && !isReferral) || responseCode == .nameError }

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

/// The chain from the queried name to the name that owns the answer.
struct AliasChain {
    var end: DNSName
    var hops = 0
    /// The least time to live of the chain's aliases and of the records at its end, in seconds.
    var timeToLive = DNSTimeToLive.maximumSeconds
    /// The records at the end, all of the queried type.
    var records: [DNSRecord] = []
}

extension DNSResponse {
    /// Follows the aliases of the answer section from the queried name. Records are grouped by owner once, so that the work is
    /// linear in their number.
    func followAliases() throws(DNSMessageError) -> AliasChain {
        let owned = Dictionary(grouping: answers, by: \.owner)
        var chain = AliasChain(end: question.name)
        var visited: Set<DNSName> = [question.name]

        var ambiguity: String?
        while let records = owned[chain.end], let alias = Self.alias(among: records) {
            chain.hops += 1
            chain.timeToLive = min(chain.timeToLive, alias.timeToLive)
            ambiguity = ambiguity ?? alias.ambiguity
            chain.end = alias.target
            guard visited.insert(alias.target).inserted else {
                throw DNSMessageError(.aliasLoop, "the aliases of \(question.name) lead back to \(alias.target)")
            }
            guard chain.hops <= Self.maximumAliasHops else {
                throw DNSMessageError(
                    .aliasChainTooLong,
                    "\(question.name) goes through more than \(Self.maximumAliasHops) aliases"
                )
            }
        }
        chain.records = owned[chain.end] ?? []
        // "No such record" must not follow from a response that contradicts itself.
        if chain.records.isEmpty, let ambiguity { throw DNSMessageError(.ambiguousAlias, ambiguity) }
        for record in chain.records {
            chain.timeToLive = min(chain.timeToLive, DNSTimeToLive.seconds(record.timeToLive))
        }
        return chain
    }

    /// Returns the first alias among the records of one owner, and whatever contradicts it; `nil` when there is none.
    private static func alias(
        among records: [DNSRecord]
    ) -> (target: DNSName, timeToLive: UInt32, ambiguity: String?)? {
        var found: (target: DNSName, timeToLive: UInt32)?
        var ambiguity: String?
        for record in records {
            guard case .alias(let target) = record.content else { continue }
            // Equal records count as one (RFC 2181 section 5). If their times to live differ, the least applies (section 5.2).
            if let found, found.target != target {
                ambiguity = "\(record.owner) has two aliases (RFC 2181 section 10.1)"
                continue
            }
            let seconds = DNSTimeToLive.seconds(record.timeToLive)
            found = (target, min(found?.timeToLive ?? seconds, seconds))
        }
        guard let found else { return nil }
        let others = records.contains { if case .alias = $0.content { false } else { true } }
        if others { ambiguity = "\(records[0].owner) is an alias and has other records (RFC 1034 section 3.6.2)" }
        return (found.target, found.timeToLive, ambiguity)
    }
}

extension DNSName {
    /// Creates the wire form of a host name, whose labels are within the limits by construction.
    package init(_ host: HTTPDNSName) {
        let text = host.description.utf8
        var octets: [UInt8] = []
        octets.reserveCapacity(text.count + 2)
        for label in text.split(separator: UInt8(ascii: ".")) {
            octets.append(UInt8(truncatingIfNeeded: label.count))
            octets.append(contentsOf: label)
        }
        octets.append(0)
        self.init(validatedOctets: octets)
    }

    /// The name as a host name; `nil` when it is not one, such as the root or a name with a space in it.
    package var hostName: HTTPDNSName? {
        var text: [UInt8] = []
        text.reserveCapacity(octets.count)
        var rest = octets[...]
        while let length = rest.first, length > 0 {
            let label = rest.dropFirst().prefix(Int(length))
            guard label.allSatisfy(Self.isHostNameOctet) else { return nil }
            if !text.isEmpty { text.append(UInt8(ascii: ".")) }
            text.append(contentsOf: label)
            rest = rest.dropFirst(label.count + 1)
        }
        return try? HTTPDNSName(String(decoding: text, as: UTF8.self))
    }

    private static func isHostNameOctet(_ octet: UInt8) -> Bool {
        switch octet {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "0")...UInt8(ascii: "9"): true
        case UInt8(ascii: "-"), UInt8(ascii: "_"): true
        default: false
        }
    }
}

extension DNSQuestion {
    package init(_ host: HTTPDNSName, type: DNSRecordType) {
        self.init(name: DNSName(host), type: type)
    }
}

extension DNSResponse {
    /// The maximum number of records in service mode that are kept.
    static let maximumServices = 16

    /// Returns the outcome for the queried SVCB or HTTPS records, by the owner rule of ``outcome(_:failure:)``.
    ///
    /// - There are at most ``maximumServices``, by ascending priority.
    /// - One malformed record invalidates all of them (RFC 9460 section 2.2).
    /// - A record in alias mode invalidates those in service mode (section 2.4.1).
    /// - A record whose parameters are unusable, or whose target is not a host name, invalidates only itself.
    /// - A record whose target is `.` is about its owner, the end of the alias chain (section 2.5.2).
    /// - Parameters:
    ///   - freshness: As for ``outcome(_:failure:)``.
    ///   - generator: The random source for one of several targets of alias mode (section 2.4.2).
    ///   - failure: As for ``outcome(_:failure:)``.
    func serviceOutcome(
        _ freshness: HTTPFreshness,
        using generator: inout some RandomNumberGenerator,
        failure: (DNSResponseCode) -> HTTPDNSProviderError
    ) throws(DNSMessageError) -> HTTPDNSProviderAnswer.HTTPSRecords {
        guard isDefinite else { return .failed(failure(responseCode)) }
        let chain = try followAliases()
        if responseCode == .nameError, !chain.records.isEmpty {
            throw DNSMessageError(.contradiction, "NXDOMAIN with HTTPS records of \(chain.end)")
        }
        guard !chain.records.isEmpty else {
            return .none(timeToLive: negativeTimeToLive(of: chain).map(freshness.remaining))
        }

        let life = freshness.remaining(of: chain.timeToLive)
        var records: [ServiceRecord] = []
        for record in chain.records {
            guard case .service(let service) = record.content else { return .none(timeToLive: life) }
            records.append(service)
        }
        let aliases = records.filter { $0.priority == 0 }
        if !aliases.isEmpty {
            let targets = aliases.prefix(Self.maximumServices).compactMap(\.target.hostName)
            if let target = targets.randomElement(using: &generator) { return .alias(target, timeToLive: life) }
            return aliases.contains { $0.target == .root } ? .unavailable(timeToLive: life) : .none(timeToLive: life)
        }

        // Clients do not try more; the preferred records are kept.
        let usable = records.sorted { $0.priority < $1.priority }.lazy.compactMap {
            HTTPDNSProviderAnswer.HTTPSRecord($0, of: chain)
        }
        let bindings = Array(usable.prefix(Self.maximumServices))
        return bindings.isEmpty ? .none(timeToLive: life) : .bindings(bindings, timeToLive: life)
    }
}

extension HTTPDNSProviderAnswer.HTTPSRecord {
    /// Creates a record in service mode at the end of `chain`; `nil` when it is unusable.
    fileprivate init?(_ record: ServiceRecord, of chain: AliasChain) {
        let parameters = record.parameters
        guard parameters.areUsable else { return nil }
        let name = record.target == .root ? chain.end : record.target
        // Without an alias the queried name owns the record.
        let isOwner = name == chain.end && chain.hops == 0
        let target = isOwner ? nil : name.hostName
        guard isOwner || target != nil else { return nil }
        let defaults =
            parameters.excludesDefaultProtocol || parameters.protocols.contains("http/1.1") ? [] : ["http/1.1"]
        self.init(
            priority: record.priority,
            target: target,
            applicationProtocols: parameters.protocols + defaults,
            port: parameters.port,
            v4Hints: parameters.v4Hints,
            v6Hints: parameters.v6Hints
        )
        namesProtocols = !parameters.protocols.isEmpty
        offersEncryptedClientHello = parameters.offersEncryptedClientHello
    }
}
