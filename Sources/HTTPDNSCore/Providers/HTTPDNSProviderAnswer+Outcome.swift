// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

package import HTTPDNSPrimitives

extension HTTPDNSProviderAnswer {
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

    /// Returns the queried families that failed or broke the contract of ``Family``.
    func failedFamilies(among families: HTTPDNSAddress.Families) -> HTTPDNSAddress.Families {
        HTTPDNSAddress.Families(checked(families).filter { $0.outcome.error != nil }.map { .init($0.family) })
    }

    /// Returns whether a queried family had no answer in time.
    func hasLateFamily(among families: HTTPDNSAddress.Families) -> Bool {
        HTTPDNSAddress.Family.allCases.contains { families.contains($0) && self[$0]?.error?.code == .timedOut }
    }

    /// Returns the combined outcome of the queried families.
    ///
    /// - IPv4 addresses precede IPv6 ones. The transport decides in which order they are tried.
    /// - Addresses of one family suffice, also when the other family failed.
    /// - Without an address, a query of the answer that failed makes the result indefinite, whatever the others report: an
    ///   outcome decides for no other one. So "no such name" for one family is no answer while the other family, or the HTTPS
    ///   records of the name, could not be queried.
    /// - Without a failure, a family with "no data" proves that the name exists.
    func outcome(of families: HTTPDNSAddress.Families) -> Family {
        let outcomes = checked(families)
        var addresses: [HTTPDNSAddress] = []
        var lives: [Duration] = []
        var canonicalName: HTTPDNSName?
        var emptyLives: [Duration] = []
        var isKnownToExist = false
        var isKnownToBeMissing = false
        var failure: (family: HTTPDNSAddress.Family, error: HTTPDNSProviderError)?
        for (family, outcome) in outcomes {
            switch outcome {
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
                failure = failure ?? (family, error)
            }
        }

        if let life = lives.min() {
            return .addresses(addresses, timeToLive: life, canonicalName: canonicalName)
        } else if let failure {
            let onlyOne = outcomes.count > 1 && (isKnownToExist || isKnownToBeMissing)
            return failed(onlyOne ? "\(failure.family.recordType): \(failure.error)" : failure.error.message)
        } else if case .failed(let error) = httpsRecords {
            return failed("HTTPS records: \(error.message)")
        } else if isKnownToBeMissing, !isKnownToExist {
            return .nameError(timeToLive: emptyLives.min())
        } else {
            return .noData(timeToLive: emptyLives.min())
        }
    }

    /// Returns the outcome without a definite result, with the code of the failed query.
    private func failed(_ message: String) -> Family {
        var cause = v4?.error ?? v6?.error
        if cause == nil, case .failed(let error) = httpsRecords { cause = error }
        return .failed(
            HTTPDNSProviderError(code: cause?.code ?? .badResponse, message: message, retryAfter: cause?.retryAfter)
        )
    }

    /// Returns the outcome of each queried family, with violations of the contract of ``Family`` corrected.
    private func checked(
        _ families: HTTPDNSAddress.Families
    ) -> [(family: HTTPDNSAddress.Family, outcome: Family)] {
        HTTPDNSAddress.Family.allCases.filter { families.contains($0) }.map { family in
            guard let outcome = self[family] else {
                let message = "no outcome for \(family.recordType), which was asked for"
                return (family, .failed(HTTPDNSProviderError(code: .badResponse, message: message)))
            }
            guard case .addresses(let found, let life, let name) = outcome else { return (family, outcome) }
            let usable = Self.usable(found, families: .init(family))
            if !usable.isEmpty { return (family, .addresses(usable, timeToLive: life, canonicalName: name)) }
            if found.isEmpty { return (family, .noData(timeToLive: nil)) }
            let message = "\(family.recordType) answered with addresses of the other family"
            return (family, .failed(HTTPDNSProviderError(code: .badResponse, message: message)))
        }
    }
}

extension HTTPDNSProviderAnswer.Family {
    /// Whether there is no address, for whatever reason.
    package var isNegative: Bool {
        if case .addresses = self { false } else { true }
    }

    /// The error of a family that failed.
    package var error: HTTPDNSProviderError? {
        if case .failed(let error) = self { error } else { nil }
    }
}

extension HTTPDNSAddress.Family {
    /// The type of DNS record for addresses of the family.
    package var recordType: String { self == .v4 ? "A" : "AAAA" }
}
