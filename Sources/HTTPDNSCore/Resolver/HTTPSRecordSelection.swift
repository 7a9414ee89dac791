// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

internal import HTTPDNSMessages
internal import HTTPDNSPrimitives

/// The selection of endpoints for a name with records of type HTTPS (RFC 9460 section 3): the next queries, and in the end
/// the addresses and ports.
///
/// It is a value without clock and network. The caller queries the providers:
///
/// 1. Query the name's addresses and HTTPS records, as for any name. Pass the answer to ``received(_:about:using:)``.
/// 2. Perform the returned actions. Each `ask` is one query, to the same providers as the first; several may be concurrent.
///    Pass every answer to ``received(_:about:using:)``, every failure to ``failed(_:about:)``.
/// 3. `done` is returned exactly once, last. When time runs out before that, ``expired()`` returns the result so far.
///
/// It is meant for https URLs with port 443: for other ports the records are at another name (RFC 9460 section 9.1). The
/// caller must apply the address policy to the resulting endpoints, some of which come from hints.
struct HTTPSRecordSelection: Sendable {
    enum Action: Hashable, Sendable {
        /// Query this name.
        case ask(HTTPDNSName, families: HTTPDNSAddress.Families, httpsRecords: Bool)
        /// The end: connect to this result.
        case done(HTTPSRecordChoice)
    }

    /// The maximum number of records in alias mode that are followed. RFC 9460 section 2.4.2 requires a limit and names none.
    /// Unlike a CNAME, each costs a query.
    static let maximumAliases = 8
    /// The maximum number of target names of records in service mode that are queried; further records are left out. Each
    /// name costs a query for each family. The servers of a service are often many.
    private var maximumTargets: Int { host.isService ? 16 : Self.maximumTargets }
    static let maximumTargets = 4
    private let host: HTTPDNSName
    private let families: HTTPDNSAddress.Families
    /// The end of the aliases so far ($QNAME in RFC 9460 section 3).
    private var service: HTTPDNSName
    private var visited: Set<HTTPDNSName>
    /// The records to use, in order.
    private var bindings: [HTTPDNSProviderAnswer.HTTPSRecord] = []
    private var answers: [HTTPDNSName: HTTPDNSProviderAnswer] = [:]
    private var awaited: Set<HTTPDNSName>
    /// The lifetimes of the records followed.
    private var recordLives: [Duration] = []
    private var serviceFailure: HTTPDNSProviderError?
    private var isOver = false

    /// - Parameters:
    ///   - host: The queried name, for which the first answer is expected.
    ///   - families: The queried families, at least one.
    init(host: HTTPDNSName, families: HTTPDNSAddress.Families) {
        self.host = host
        self.families = families
        service = host
        visited = [host]
        awaited = [host]
    }

    /// Processes an answer. One that is not expected changes nothing.
    /// - Parameter generator: The random source that shuffles records of the same priority (RFC 9460 section 2.4.1).
    mutating func received(
        _ answer: HTTPDNSProviderAnswer,
        about name: HTTPDNSName,
        using generator: inout some RandomNumberGenerator
    ) -> [Action] {
        guard !isOver, awaited.remove(name) != nil else { return [] }
        let isFirstAnswer = answers[name] == nil
        record(answer, about: name)
        if name == service, isFirstAnswer { return follow(answer.httpsRecords, using: &generator) }
        return awaited.isEmpty ? conclude() : []
    }

    /// Processes the failure of a query, as an answer in which everything failed.
    mutating func failed(_ error: HTTPDNSProviderError, about name: HTTPDNSName) -> [Action] {
        var answer = HTTPDNSProviderAnswer(v4: .failed(error), v6: .failed(error))
        answer.httpsRecords = .failed(error)
        var generator = SystemRandomNumberGenerator()
        return received(answer, about: name, using: &generator)
    }

    /// Ends the selection with the answers so far. Returns nothing when it has ended, or has no answer at all.
    mutating func expired() -> [Action] {
        guard !isOver, answers[host] != nil else { return [] }
        let limit = HTTPDNSProviderError(
            code: .timedOut,
            message: "no time left to follow the HTTPS records of \(host)"
        )
        for name in awaited { record(HTTPDNSProviderAnswer(v4: .failed(limit), v6: .failed(limit)), about: name) }
        serviceFailure = serviceFailure ?? limit
        awaited = []
        return conclude()
    }

    /// Stores the new parts of an answer: a second one for a name has the families that the first left out.
    private mutating func record(_ answer: HTTPDNSProviderAnswer, about name: HTTPDNSName) {
        let known = answers[name]
        answers[name] = HTTPDNSProviderAnswer(v4: known?.v4 ?? answer.v4, v6: known?.v6 ?? answer.v6)
    }

    private mutating func follow(
        _ httpsRecords: HTTPDNSProviderAnswer.HTTPSRecords?,
        using generator: inout some RandomNumberGenerator
    ) -> [Action] {
        switch httpsRecords {
        case .alias(let target, let timeToLive):
            recordLives.append(timeToLive)
            // Aliases without an end are treated as absent (RFC 9460 section 3.1).
            guard visited.insert(target).inserted else { return end(.plain(.aliasLoop(target))) }
            guard visited.count <= Self.maximumAliases + 1 else { return end(.plain(.tooManyAliases)) }
            service = target
            awaited = [target]
            return [.ask(target, families: families, httpsRecords: true)]
        case .bindings(let records, let timeToLive):
            recordLives.append(timeToLive)
            return use(records, using: &generator)
        case .unavailable(let timeToLive):
            return end(.route(.unavailable(service), timeToLive: (recordLives + [timeToLive]).min() ?? .zero))
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

    /// Keeps the usable records, and queries the addresses of their targets.
    private mutating func use(
        _ records: [HTTPDNSProviderAnswer.HTTPSRecord],
        using generator: inout some RandomNumberGenerator
    ) -> [Action] {
        // A record without a protocol that libcurl supports here is not usable (RFC 9460 section 7.1.2).
        let usable = records.filter { !OfferedVersions(applicationProtocols: $0.applicationProtocols).isEmpty }
        // Shuffled first: the following sort keeps the order of equal elements.
        let shuffled = usable.shuffled(using: &generator).enumerated()
            .sorted { ($0.element.priority, $0.offset) < ($1.element.priority, $1.offset) }
        var questions: [Action] = []
        for (_, binding) in shuffled {
            let target = binding.target ?? service
            let unknown = unknownFamilies(of: target)
            if !unknown.isEmpty, !awaited.contains(target) {
                guard awaited.count < maximumTargets else { continue }
                awaited.insert(target)
                questions.append(.ask(target, families: unknown, httpsRecords: false))
            }
            bindings.append(binding)
        }
        return questions.isEmpty ? conclude() : questions
    }

    private mutating func end(_ choice: HTTPSRecordChoice) -> [Action] {
        isOver = true
        return [.done(choice)]
    }

    private mutating func conclude() -> [Action] {
        guard !bindings.isEmpty || service != host else {
            return end(.plain(serviceFailure.map(HTTPSRecordChoice.Reason.failed) ?? .noRecord))
        }
        var list = ServiceCandidateList(families: families)
        for binding in bindings {
            for family in HTTPDNSAddress.Family.allCases {
                let known = answer(family, of: binding.target ?? service)
                list.append(
                    known,
                    family: family,
                    port: binding.port,
                    hints: binding.hints(family),
                    offering: binding.offeredVersions
                )
            }
        }
        if service != host { append(service, to: &list) }
        guard !list.endpoints.isEmpty else {
            let failure = serviceFailure ?? list.failure
            return end(.plain(failure.map(HTTPSRecordChoice.Reason.failed) ?? .noAddress))
        }
        append(host, to: &list)
        let route = ServiceRoute(
            endpoints: list.endpoints,
            applicationProtocols: host.isService ? [] : bindings.first?.applicationProtocols ?? [],
            offers: list.offers.filter { $0.value != .all },
            isOfServers: host.isService
        )
        let life = (recordLives + list.lives).min() ?? .zero
        return end(.route(route, timeToLive: life, missing: serviceFailure ?? list.failure))
    }

    private func append(_ name: HTTPDNSName, to list: inout ServiceCandidateList) {
        for family in HTTPDNSAddress.Family.allCases {
            list.append(answer(family, of: name), family: family, port: nil)
        }
    }

    private func unknownFamilies(of target: HTTPDNSName) -> HTTPDNSAddress.Families {
        HTTPDNSAddress.Families(
            HTTPDNSAddress.Family.allCases
                .filter { families.contains($0) && answer($0, of: target) == nil }
                .map(HTTPDNSAddress.Families.init)
        )
    }

    /// Returns the known result for one family of `target`, also from an answer for an alias of it.
    private func answer(_ family: HTTPDNSAddress.Family, of target: HTTPDNSName) -> HTTPDNSProviderAnswer.Family? {
        if let known = answers[target]?[family] { return known }
        guard let known = answers[service]?[family], case .addresses(_, _, target) = known else { return nil }
        return known
    }
}

extension HTTPDNSProviderAnswer.HTTPSRecord {
    fileprivate func hints(_ family: HTTPDNSAddress.Family) -> [HTTPDNSAddress] { family == .v4 ? v4Hints : v6Hints }

    /// The versions to offer in connections. A record that names no protocol does not limit them.
    fileprivate var offeredVersions: OfferedVersions {
        namesProtocols ? OfferedVersions(applicationProtocols: applicationProtocols) : .all
    }
}

/// A list of endpoints in the order to try.
struct ServiceCandidateList {
    let families: HTTPDNSAddress.Families
    private(set) var endpoints: [HTTPDNSEndpoint] = []
    /// The lifetimes of the answers whose addresses are in the list.
    private(set) var lives: [Duration] = []
    /// The first failure among the answers.
    private(set) var failure: HTTPDNSProviderError?
    /// The versions that the records offer at each endpoint of the list.
    private(set) var offers: [HTTPDNSEndpoint: OfferedVersions] = [:]
    private var counts: [HTTPDNSAddress.Family: Int] = [:]

    init(families: HTTPDNSAddress.Families) { self.families = families }

    /// Appends the addresses of a family from `answer`; the hints only without an answer (RFC 9460 section 7.3).
    mutating func append(
        _ answer: HTTPDNSProviderAnswer.Family?,
        family: HTTPDNSAddress.Family,
        port: UInt16?,
        hints: [HTTPDNSAddress] = [],
        offering versions: OfferedVersions = .all
    ) {
        guard families.contains(family) else { return }
        switch answer {
        case .addresses(let addresses, let timeToLive, _):
            if append(addresses, family: family, port: port, versions) { lives.append(timeToLive) }
        case .noData, .nameError:
            break
        case .failed(let error):
            failure = failure ?? error
            _ = append(hints, family: family, port: port, versions)
        case nil:
            _ = append(hints, family: family, port: port, versions)
        }
    }

    /// - Returns: Whether an address of the family was there.
    private mutating func append(
        _ addresses: [HTTPDNSAddress],
        family: HTTPDNSAddress.Family,
        port: UInt16?,
        _ versions: OfferedVersions
    ) -> Bool {
        var isThere = false
        for address in addresses where address.family == family {
            isThere = true
            let endpoint = HTTPDNSEndpoint(address: address, port: port ?? ServiceRoute.port)
            guard offers[endpoint]?.add(versions) == nil,
                counts[family, default: 0] < HTTPDNSProviderAnswer.maximumAddressesPerFamily
            else { continue }
            offers[endpoint] = versions
            counts[family, default: 0] += 1
            endpoints.append(endpoint)
        }
        return isThere
    }
}

/// The result of a name's HTTPS records.
enum HTTPSRecordChoice: Hashable, Sendable {
    /// The name's own addresses and the URL's port, as without HTTPS records.
    case plain(Reason)
    /// The endpoints to connect to, or the reason that there are none.
    ///
    /// - `timeToLive`: The shortest time to live of all answers that were used.
    /// - `missing`: A failure during the selection. The result is valid, but a later one may be better.
    case route(ServiceRoute, timeToLive: Duration, missing: HTTPDNSProviderError? = nil)

    /// The reason that HTTPS records are not used.
    enum Reason: Hashable, Sendable {
        /// There is no usable record, or no provider could query one.
        case noRecord
        /// The query failed: it may be repeated soon.
        case failed(HTTPDNSProviderError)
        /// The records in alias mode lead back to this name.
        case aliasLoop(HTTPDNSName)
        /// The records in alias mode lead through more than ``HTTPSRecordSelection/maximumAliases`` names.
        case tooManyAliases
        /// The names that the records lead to have no address.
        case noAddress
    }
}
