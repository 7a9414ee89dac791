internal import HTTPDNSMessages
internal import HTTPDNSPrimitives

/// Decides where to connect for a name with records of type HTTPS (RFC 9460 section 3): whom to ask next, and in the end
/// which addresses and ports.
///
/// It is a value without clock and network, driven by whoever asks providers:
///
/// 1. Ask for the name's addresses and services, as for any name. Hand the answer to ``received(_:about:using:)``.
/// 2. Do what the actions say. Each `ask` is one question, to the same providers as the first; several may go out at the
///    same time. Hand every answer to ``received(_:about:using:)``, every failure to ``failed(_:about:)``.
/// 3. `done` or `failed` comes exactly once, last. When time runs out before, ``expired()`` gives what there is.
///
/// It is meant for https URLs with port 443: for other ports the records are at another name (RFC 9460 section 9.1). The
/// address policy belongs on the endpoints that come out, which have those of hints among them.
package struct ServiceSelection: Sendable {
    package enum Action: Hashable, Sendable {
        /// Ask about this name.
        case ask(HTTPDNSName, families: HTTPDNSAddress.Families, services: Bool)
        /// The end: connect like this.
        case done(ServiceChoice)
        /// The end: do not connect.
        case failed(ServiceUnavailable)
    }

    /// The most records in alias mode that are followed. RFC 9460 section 2.4.2 wants a limit and names none; this is that
    /// of CNAME chains.
    package static let maximumAliases = DNSResponse.maximumAliasHops
    /// The most names that are asked about because records in service mode lead to them; records that lead to more are
    /// left out. Each name costs a query for each family.
    package static let maximumTargets = 4
    /// What libcurl speaks over TLS and TCP here. A record without one of these is void (RFC 9460 section 7.1.2).
    package static let usableProtocols: Set<String> = ["h2", "http/1.1"]

    private let host: HTTPDNSName
    private let families: HTTPDNSAddress.Families
    /// The end of the aliases so far ($QNAME in RFC 9460 section 3).
    private var service: HTTPDNSName
    private var visited: Set<HTTPDNSName>
    /// The records to use, in order.
    private var bindings: [HTTPDNSProviderAnswer.HTTPSRecord] = []
    private var answers: [HTTPDNSName: HTTPDNSProviderAnswer] = [:]
    private var awaited: Set<HTTPDNSName>
    /// The lives of the records followed.
    private var recordLives: [Duration] = []
    private var serviceFailure: HTTPDNSProviderError?
    private var isOver = false

    /// - Parameters:
    ///   - host: The name asked, about which the first answer is to come.
    ///   - families: The families asked for, at least one.
    package init(host: HTTPDNSName, families: HTTPDNSAddress.Families) {
        self.host = host
        self.families = families
        service = host
        visited = [host]
        awaited = [host]
    }

    /// Takes an answer. One that is not awaited changes nothing.
    /// - Parameter generator: Shuffles records of the same priority (RFC 9460 section 2.4.1).
    package mutating func received(
        _ answer: HTTPDNSProviderAnswer,
        about name: HTTPDNSName,
        using generator: inout some RandomNumberGenerator
    ) -> [Action] {
        guard !isOver, awaited.remove(name) != nil else { return [] }
        let isFirstAnswer = answers[name] == nil
        record(answer, about: name)
        if name == service, isFirstAnswer { return follow(answer.services, using: &generator) }
        return awaited.isEmpty ? conclude() : []
    }

    /// Takes the failure of a question, as an answer in which everything failed.
    package mutating func failed(_ error: HTTPDNSProviderError, about name: HTTPDNSName) -> [Action] {
        var answer = HTTPDNSProviderAnswer(v4: .failed(error), v6: .failed(error))
        answer.services = .failed(error)
        var generator = SystemRandomNumberGenerator()
        return received(answer, about: name, using: &generator)
    }

    /// Ends the selection with the answers that are there. Gives nothing when it is over, or has no answer at all.
    package mutating func expired() -> [Action] {
        guard !isOver, answers[host] != nil else { return [] }
        let limit = HTTPDNSProviderError(code: .timedOut, message: "no time left to follow the services of \(host)")
        for name in awaited { record(HTTPDNSProviderAnswer(v4: .failed(limit), v6: .failed(limit)), about: name) }
        serviceFailure = serviceFailure ?? limit
        awaited = []
        return conclude()
    }

    /// Keeps what an answer adds: a second one about a name has the families that the first left out.
    private mutating func record(_ answer: HTTPDNSProviderAnswer, about name: HTTPDNSName) {
        let known = answers[name]
        answers[name] = HTTPDNSProviderAnswer(v4: known?.v4 ?? answer.v4, v6: known?.v6 ?? answer.v6)
    }

    private mutating func follow(
        _ services: HTTPDNSProviderAnswer.HTTPSRecords?,
        using generator: inout some RandomNumberGenerator
    ) -> [Action] {
        switch services {
        case .alias(let target, let timeToLive):
            recordLives.append(timeToLive)
            // Without an end of the aliases it is as if there were none (RFC 9460 section 3.1).
            guard visited.insert(target).inserted else { return end(.plain(.aliasLoop(target))) }
            guard visited.count <= Self.maximumAliases + 1 else { return end(.plain(.tooManyAliases)) }
            service = target
            awaited = [target]
            return [.ask(target, families: families, services: true)]
        case .bindings(let records, let timeToLive):
            recordLives.append(timeToLive)
            return use(records, using: &generator)
        case .unavailable(let timeToLive):
            isOver = true
            return [.failed(ServiceUnavailable(name: service, timeToLive: (recordLives + [timeToLive]).min() ?? .zero))]
        case .failed(let error):
            serviceFailure = error
            return conclude()
        case .some(.none(let timeToLive)):
            recordLives += timeToLive.map { [$0] } ?? []
            return conclude()
        case nil:
            return conclude()
        }
    }

    /// Keeps the records that can be used, and asks for the addresses of their targets.
    private mutating func use(
        _ records: [HTTPDNSProviderAnswer.HTTPSRecord],
        using generator: inout some RandomNumberGenerator
    ) -> [Action] {
        let usable = records.filter { !Self.usableProtocols.isDisjoint(with: $0.applicationProtocols) }
        // Shuffled first: the sort that follows keeps the order among equals.
        let shuffled = usable.shuffled(using: &generator).enumerated()
            .sorted { ($0.element.priority, $0.offset) < ($1.element.priority, $1.offset) }
        var questions: [Action] = []
        for (_, binding) in shuffled {
            let target = binding.target ?? service
            let unknown = unknownFamilies(of: target)
            if !unknown.isEmpty, !awaited.contains(target) {
                guard awaited.count < Self.maximumTargets else { continue }
                awaited.insert(target)
                questions.append(.ask(target, families: unknown, services: false))
            }
            bindings.append(binding)
        }
        return questions.isEmpty ? conclude() : questions
    }

    private mutating func end(_ choice: ServiceChoice) -> [Action] {
        isOver = true
        return [.done(choice)]
    }

    private mutating func conclude() -> [Action] {
        guard !bindings.isEmpty || service != host else {
            return end(.plain(serviceFailure.map(ServiceChoice.Reason.failed) ?? .noRecord))
        }
        var list = ServiceCandidateList(families: families)
        for binding in bindings {
            for family in HTTPDNSAddress.Family.allCases {
                let known = answer(family, of: binding.target ?? service)
                list.append(known, family: family, port: binding.port, hints: binding.hints(family))
            }
        }
        if service != host { append(service, to: &list) }
        guard !list.endpoints.isEmpty else {
            let failure = serviceFailure ?? list.failure
            return end(.plain(failure.map(ServiceChoice.Reason.failed) ?? .noAddress))
        }
        append(host, to: &list)
        let candidates = ServiceCandidates(
            endpoints: list.endpoints,
            applicationProtocols: bindings.first?.applicationProtocols ?? [],
            timeToLive: (recordLives + list.lives).min() ?? .zero,
            serviceName: service == host ? nil : service,
            missing: serviceFailure ?? list.failure
        )
        return end(.candidates(candidates))
    }

    private func append(_ name: HTTPDNSName, to list: inout ServiceCandidateList) {
        for family in HTTPDNSAddress.Family.allCases {
            list.append(answer(family, of: name), family: family, port: nil)
        }
    }

    private func unknownFamilies(of target: HTTPDNSName) -> HTTPDNSAddress.Families {
        var unknown: HTTPDNSAddress.Families = []
        if families.contains(.v4), answer(.v4, of: target) == nil { unknown.insert(.v4) }
        if families.contains(.v6), answer(.v6, of: target) == nil { unknown.insert(.v6) }
        return unknown
    }

    /// What is known about one family of `target`, also from an answer about an alias of it.
    private func answer(_ family: HTTPDNSAddress.Family, of target: HTTPDNSName) -> HTTPDNSProviderAnswer.Family? {
        if let known = answers[target]?[family] { return known }
        guard let known = answers[service]?[family], case .addresses(_, _, target) = known else { return nil }
        return known
    }
}

extension HTTPDNSProviderAnswer {
    fileprivate subscript(family: HTTPDNSAddress.Family) -> HTTPDNSProviderAnswer.Family? { family == .v4 ? v4 : v6 }
}

extension HTTPDNSProviderAnswer.HTTPSRecord {
    fileprivate func hints(_ family: HTTPDNSAddress.Family) -> [HTTPDNSAddress] { family == .v4 ? v4Hints : v6Hints }
}
