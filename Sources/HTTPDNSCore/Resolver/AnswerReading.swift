// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

package import HTTPDNSPrimitives

/// The combined outcome of a provider's answer, over all queried families.
enum AnswerReading: Equatable, Sendable {
    /// At least one address.
    case addresses([HTTPDNSAddress], timeToLive: Duration, canonicalName: HTTPDNSName?, missing: HTTPDNSProviderError?)
    /// The name exists, without an address of the queried families.
    case noAddresses(timeToLive: Duration?)
    /// The name does not exist.
    case noSuchName(timeToLive: Duration?)
    /// No definite answer; the next source may have one.
    case failed(String)

    /// The limit on addresses of one family. No service needs more, and a hostile answer could hold thousands.
    static let maximumAddressesPerFamily = 16

    /// Returns the addresses of the queried families without duplicates, at most the limit for each family, IPv4 first.
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

    /// Returns the queried families that failed or broke the contract of ``HTTPDNSProviderAnswer/Family``.
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

    /// Returns whether a queried family had no answer in time.
    static func hasLateFamily(_ answer: HTTPDNSProviderAnswer, families: HTTPDNSAddress.Families) -> Bool {
        [(HTTPDNSAddress.Family.v4, answer.v4), (.v6, answer.v6)].contains { family, outcome in
            guard families.contains(family), case .failed(let error) = outcome else { return false }
            return error.code == .timedOut
        }
    }

    /// Combines the outcomes of an answer.
    ///
    /// - IPv4 addresses precede IPv6 ones. The transport decides in which order they are tried.
    /// - Addresses of one family suffice. When the other family failed, `missing` has its error.
    /// - Without an address, a query of the answer that failed makes the result indefinite, whatever the others report: an
    ///   outcome decides for no other one. So "no such name" for one family is no answer while the other family, or the HTTPS
    ///   records of the name, could not be queried.
    /// - Without a failure, a family with "no data" proves that the name exists.
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
        } else if let failure {
            let onlyOne = outcomes.count > 1 && (isKnownToExist || isKnownToBeMissing)
            self = .failed(onlyOne ? "\(failure.family.recordType): \(failure.error)" : failure.error.message)
        } else if case .failed(let error) = answer.httpsRecords {
            self = .failed("HTTPS records: \(error.message)")
        } else if isKnownToBeMissing, !isKnownToExist {
            self = .noSuchName(timeToLive: emptyLives.min())
        } else {
            self = .noAddresses(timeToLive: emptyLives.min())
        }
    }

    /// The outcome of one family, with violations of the contract of ``HTTPDNSProviderAnswer/Family`` corrected.
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
    /// The type of DNS record for addresses of the family.
    package var recordType: String { self == .v4 ? "A" : "AAAA" }
}
