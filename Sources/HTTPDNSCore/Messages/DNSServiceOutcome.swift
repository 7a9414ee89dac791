package import HTTPDNSMessages

/// The outcome of a response for the queried SVCB or HTTPS records.
package enum DNSServiceOutcome: Hashable, Sendable {
    /// The usable records in service mode, by ascending priority: at least one, at most ``DNSResponse/maximumServices``. The
    /// time to live, in seconds, is the least of all records of the chain.
    case bindings([HTTPDNSProviderAnswer.HTTPSRecord], timeToLive: UInt32)
    /// The targets of the records in alias mode. The client picks one at random (RFC 9460 section 2.4.2).
    case aliases([HTTPDNSName], timeToLive: UInt32)
    /// Alias mode with the target `.`: the service is not available (RFC 9460 section 2.5.1).
    case unavailable(timeToLive: UInt32)
    /// No usable record. The time to live is `nil` without a record and an SOA that owns the name.
    case none(timeToLive: UInt32?)
    /// The server failed, or refused to answer.
    case failed(DNSResponseCode)
}

extension DNSResponse {
    /// The maximum number of records in service mode that are kept.
    package static let maximumServices = 16

    /// Returns the outcome, by the owner rule of ``outcome()``.
    ///
    /// - One malformed record invalidates all of them (RFC 9460 section 2.2).
    /// - A record in alias mode invalidates those in service mode (section 2.4.1).
    /// - A record whose parameters are unusable, or whose target is not a host name, invalidates only itself.
    /// - A record whose target is `.` is about its owner, the end of the alias chain (section 2.5.2).
    package func serviceOutcome() throws(DNSMessageError) -> DNSServiceOutcome {
        guard responseCode == .noError || responseCode == .nameError else { return .failed(responseCode) }
        let chain = try followAliases()
        if responseCode == .nameError, !chain.records.isEmpty {
            throw DNSMessageError(.contradiction, "NXDOMAIN with services of \(chain.end)")
        }
        guard !chain.records.isEmpty else { return .none(timeToLive: negativeTimeToLive(of: chain)) }

        var records: [ServiceRecord] = []
        for record in chain.records {
            guard case .service(let service) = record.content else { return .none(timeToLive: chain.timeToLive) }
            records.append(service)
        }
        let aliases = records.filter { $0.priority == 0 }
        guard aliases.isEmpty else { return Self.outcome(ofAliases: aliases, timeToLive: chain.timeToLive) }

        // Clients do not try more; the preferred records are kept.
        let usable = records.sorted { $0.priority < $1.priority }.lazy.compactMap {
            HTTPDNSProviderAnswer.HTTPSRecord($0, of: chain)
        }
        let bindings = Array(usable.prefix(Self.maximumServices))
        return bindings.isEmpty
            ? .none(timeToLive: chain.timeToLive) : .bindings(bindings, timeToLive: chain.timeToLive)
    }

    private static func outcome(ofAliases aliases: [ServiceRecord], timeToLive: UInt32) -> DNSServiceOutcome {
        let targets = aliases.prefix(maximumServices).compactMap(\.target.hostName)
        if !targets.isEmpty { return .aliases(targets, timeToLive: timeToLive) }
        return aliases.contains { $0.target == .root }
            ? .unavailable(timeToLive: timeToLive) : .none(timeToLive: timeToLive)
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
        offersEncryptedHello = parameters.offersEncryptedHello
    }
}
