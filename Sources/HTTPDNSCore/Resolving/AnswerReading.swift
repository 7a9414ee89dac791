internal import HTTPDNSPrimitives

/// What a provider's answer comes to, over all families that were asked for.
enum AnswerReading: Equatable, Sendable {
    /// At least one address.
    case addresses([HTTPDNSAddress], timeToLive: Duration, canonicalName: HTTPDNSName?, missing: HTTPDNSProviderError?)
    /// The name exists, without an address of the families asked for.
    case noAddresses(timeToLive: Duration?)
    /// The name does not exist.
    case noSuchName(timeToLive: Duration?)
    /// No definite answer; the next source may have one.
    case failed(String)

    /// More addresses of one family than this are cut off: no service needs them, and a hostile answer could hold thousands.
    static let maximumAddressesPerFamily = 16

    /// The addresses of the families asked for, each once, no more of a family than are used, IPv4 first.
    static func usable(_ addresses: [HTTPDNSAddress], families: HTTPDNSAddress.Families) -> [HTTPDNSAddress] {
        HTTPDNSAddress.Family.allCases.filter { families.contains($0) }.flatMap { family in
            var unique: [HTTPDNSAddress] = []
            for address in addresses where address.family == family && !unique.contains(address) {
                unique.append(address)
                if unique.count == maximumAddressesPerFamily { break }
            }
            return unique
        }
    }

    /// The families that were asked for, and failed or broke the contract of ``HTTPDNSProviderAnswer/Family``.
    static func failedFamilies(of answer: HTTPDNSProviderAnswer, families: HTTPDNSAddress.Families)
        -> HTTPDNSAddress.Families
    {
        var failed: HTTPDNSAddress.Families = []
        for (family, member, outcome) in [
            (HTTPDNSAddress.Family.v4, HTTPDNSAddress.Families.v4, answer.v4), (.v6, .v6, answer.v6),
        ]
        where families.contains(family) {
            if case .failed = Outcome(outcome, family: family).answer { failed.insert(member) }
        }
        return failed
    }

    /// Reads an answer.
    ///
    /// - IPv4 addresses stand before IPv6 ones; in which order they are tried is the transport's to say.
    /// - Addresses of one family suffice. When the other family failed, `missing` says how.
    /// - Without an address, a failed family leaves the question open, unless the other said that the name does not exist:
    ///   that holds for all families (RFC 8020). A family that says "no data" proves that the name exists.
    init(_ answer: HTTPDNSProviderAnswer, families: HTTPDNSAddress.Families) {
        let outcomes = [(HTTPDNSAddress.Family.v4, answer.v4), (.v6, answer.v6)]
            .filter { families.contains($0.0) }
            .map { Outcome($0.1, family: $0.0) }

        var addresses: [HTTPDNSAddress] = []
        var lives: [Duration] = []
        var canonicalName: HTTPDNSName?
        var emptyLives: [Duration] = []
        var isKnownToExist = false
        var isKnownToBeMissing = false
        var failure: (family: HTTPDNSAddress.Family, error: HTTPDNSProviderError)?
        for outcome in outcomes {
            switch outcome.answer {
            case .addresses(let found, let life, let name):
                addresses += found
                lives.append(life)
                canonicalName = canonicalName ?? name
            case .noData(let life):
                isKnownToExist = true
                emptyLives += life.map { [$0] } ?? []
            case .nameError(let life):
                isKnownToBeMissing = true
                emptyLives += life.map { [$0] } ?? []
            case .failed(let error):
                failure = failure ?? (outcome.family, error)
            }
        }

        if let life = lives.min() {
            self = .addresses(addresses, timeToLive: life, canonicalName: canonicalName, missing: failure?.error)
        } else if let failure, !isKnownToBeMissing || isKnownToExist {
            let onlyOne = outcomes.count > 1 && isKnownToExist
            self = .failed(onlyOne ? "\(failure.family.recordType): \(failure.error)" : failure.error.message)
        } else if isKnownToBeMissing, !isKnownToExist {
            self = .noSuchName(timeToLive: emptyLives.min())
        } else {
            self = .noAddresses(timeToLive: emptyLives.min())
        }
    }

    /// One family's outcome, with what breaks the contract of ``HTTPDNSProviderAnswer/Family`` put right.
    private struct Outcome {
        var family: HTTPDNSAddress.Family
        var answer: HTTPDNSProviderAnswer.Family

        init(_ answer: HTTPDNSProviderAnswer.Family?, family: HTTPDNSAddress.Family) {
            self.family = family
            guard let answer else {
                let message = "no outcome for \(family.recordType), which was asked for"
                self.answer = .failed(HTTPDNSProviderError(code: .badResponse, message: message))
                return
            }
            guard case .addresses(let found, let life, let name) = answer else {
                self.answer = answer
                return
            }
            var unique: [HTTPDNSAddress] = []
            for address in found where address.family == family && !unique.contains(address) {
                unique.append(address)
                if unique.count == AnswerReading.maximumAddressesPerFamily { break }
            }
            if !unique.isEmpty {
                self.answer = .addresses(unique, timeToLive: life, canonicalName: name)
            } else if found.isEmpty {
                self.answer = .noData(timeToLive: nil)
            } else {
                let message = "\(family.recordType) answered with addresses of the other family"
                self.answer = .failed(HTTPDNSProviderError(code: .badResponse, message: message))
            }
        }
    }
}

extension HTTPDNSAddress.Family {
    /// The type of DNS record that holds addresses of the family.
    var recordType: String { self == .v4 ? "A" : "AAAA" }
}
