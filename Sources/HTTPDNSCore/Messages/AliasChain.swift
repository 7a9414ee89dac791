internal import HTTPDNSMessages

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

        while let records = owned[chain.end], let (target, timeToLive) = try Self.alias(among: records) {
            chain.hops += 1
            chain.timeToLive = min(chain.timeToLive, timeToLive)
            chain.end = target
            guard visited.insert(target).inserted else {
                throw DNSMessageError(.aliasLoop, "the aliases of \(question.name) lead back to \(target)")
            }
            guard chain.hops <= Self.maximumAliasHops else {
                throw DNSMessageError(
                    .aliasChainTooLong,
                    "\(question.name) goes through more than \(Self.maximumAliasHops) aliases"
                )
            }
        }
        chain.records = owned[chain.end] ?? []
        for record in chain.records {
            chain.timeToLive = min(chain.timeToLive, DNSTimeToLive.seconds(record.timeToLive))
        }
        return chain
    }

    /// Returns the single alias among the records of one owner; `nil` when there is none.
    private static func alias(
        among records: [DNSRecord]
    ) throws(DNSMessageError) -> (target: DNSName, timeToLive: UInt32)? {
        var found: (target: DNSName, timeToLive: UInt32)?
        var hasOtherRecords = false
        for record in records {
            guard case .alias(let target) = record.content else {
                hasOtherRecords = true
                continue
            }
            // Equal records count as one (RFC 2181 section 5). If their times to live differ, the least applies (section 5.2).
            guard found == nil || found?.target == target else {
                throw DNSMessageError(.ambiguousAlias, "\(record.owner) has two aliases (RFC 2181 section 10.1)")
            }
            let seconds = DNSTimeToLive.seconds(record.timeToLive)
            found = (target, min(found?.timeToLive ?? seconds, seconds))
        }
        if found != nil, hasOtherRecords {
            throw DNSMessageError(
                .ambiguousAlias,
                "\(records[0].owner) is an alias and has other records (RFC 1034 section 3.6.2)"
            )
        }
        return found
    }
}
