#if LocalProvider
internal import HTTPDNSCore
internal import HTTPDNSConfiguration
internal import HTTPDNSPrimitives

/// The state of one query during its processing: the input of its protocol, and the data for the log.
struct ServedQuery {
    let zone: Zone
    let rotations: Rotations
    /// The time of the server, in seconds since 1970.
    let seconds: Int64
    /// The record for the log.
    var record: LocalProvider.Query
    /// The injected failures of all of its names together.
    private(set) var fault = ServeSettings.Fault()

    init(zone: Zone, rotations: Rotations, seconds: Int64, record: LocalProvider.Query) {
        self.zone = zone
        self.rotations = rotations
        self.seconds = seconds
        self.record = record
    }

    /// Returns the answers for names, unless the file injects a failure for one of them.
    mutating func answers(about hosts: [HTTPDNSName], _ families: HTTPDNSAddress.Families) throws(Refusal)
        -> [ZoneAnswer]
    {
        record.hosts = hosts.map(\.description)
        record.families = [(HTTPDNSAddress.Families.v4, "v4"), (.v6, "v6")].filter { families.contains($0.0) }.map(\.1)
            .joined(separator: ",")
        var answers: [ZoneAnswer] = []
        for host in hosts {
            let own = zone.settings.fault(for: host)
            if let delay = own?.delay { fault.delay = max(fault.delay ?? .zero, delay) }
            fault.failure = fault.failure ?? own?.failure
            fault.garbage = fault.garbage ?? own?.garbage
            fault.cut = fault.cut ?? own?.cut
            answers.append(rotations.turned(zone.answer(for: host), own?.rotation, for: families))
        }
        if let failure = fault.failure { throw Refusal(failure) }
        record.addressCount = answers.reduce(0) { count, answer in
            count + (families.contains(.v4) ? answer.v4.count : 0) + (families.contains(.v6) ? answer.v6.count : 0)
        }
        return answers
    }

    /// Returns the present secret of an account; nil without one.
    func secret(_ place: FileSettings.SecretPlace?) throws(Refusal) -> String? {
        guard let place else { return nil }
        do {
            return try place.live.read()
        } catch {
            throw Refusal(.internalError, "\(error)")
        }
    }

    /// Parses a time from a client, in seconds since 1970.
    ///
    /// Only one to ten digits are accepted, so that comparisons cannot overflow; anything else gives nil.
    static func time(_ text: some StringProtocol) -> Int64? {
        guard (1...10).contains(text.utf8.count), text.utf8.allSatisfy({ (0x30...0x39).contains($0) }) else {
            return nil
        }
        return Int64(text)
    }

    /// Parses names, each a host name.
    static func hosts(_ texts: [String]) throws(Refusal) -> [HTTPDNSName] {
        var hosts: [HTTPDNSName] = []
        for text in texts {
            guard HTTPDNSAddress(text) == nil, let host = try? HTTPDNSName(text) else {
                throw Refusal(.invalidHost, "a name is no host name")
            }
            hosts.append(host)
        }
        return hosts
    }
}
#endif
