#if LocalProvider
internal import HTTPDNSCore
internal import HTTPDNSConfiguration
internal import HTTPDNSPrimitives

/// One query on its way through a protocol: what it may look at, and what is to be known of it afterwards.
struct Inquiry {
    let zone: Zone
    let rotations: Rotations
    /// The time of the service, in seconds since 1970.
    let seconds: Int64
    /// What is logged.
    var record: LocalProvider.Query
    /// What goes wrong, of all names together.
    private(set) var fault = ServeSettings.Fault()

    init(zone: Zone, rotations: Rotations, seconds: Int64, record: LocalProvider.Query) {
        self.zone = zone
        self.rotations = rotations
        self.seconds = seconds
        self.record = record
    }

    /// What there is about names, unless the file wants one of them to fail.
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

    /// A secret of an account as it is now; nil without one.
    func secret(_ place: FileSettings.SecretPlace?) throws(Refusal) -> String? {
        guard let place else { return nil }
        do {
            return try place.live.read()
        } catch {
            throw Refusal(.internalError, "\(error)")
        }
    }

    /// A time that a client names, in seconds since 1970; nil for anything else than one to ten digits, so that it can be
    /// compared with any other without an overflow.
    static func time(_ text: some StringProtocol) -> Int64? {
        guard (1...10).contains(text.utf8.count), text.utf8.allSatisfy({ (0x30...0x39).contains($0) }) else {
            return nil
        }
        return Int64(text)
    }

    /// Names, each a host name.
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
