// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

internal import HTTPDNSPrimitives

/// The answers about the names of a search list, until one of them decides.
struct NameSearch {
    private let query: HTTPDNSProviderQuery
    /// The answer when none of the names has addresses: "no address" if one of them exists. Its life is the least of theirs.
    private(set) var answer = HTTPDNSProviderAnswer()
    private var isKnownToExist = false
    private var life: Duration?

    init(_ query: HTTPDNSProviderQuery) { self.query = query }

    /// Returns the answer about a name if it ends the search: it has addresses, or is a failure.
    mutating func ended(by found: HTTPDNSProviderAnswer, of name: HTTPDNSName) -> HTTPDNSProviderAnswer? {
        let timeToLive: Duration?
        switch found.outcome(of: query.families) {
        case .addresses: return name == query.host ? found : found.named(name)
        case .failed: return found
        case .noData(let time):
            isKnownToExist = true
            timeToLive = time
        case .nameError(let time): timeToLive = time
        }
        life = [life, timeToLive].compactMap { $0 }.min()
        for family in HTTPDNSAddress.Family.allCases where query.families.contains(family) {
            answer[family] = isKnownToExist ? .noData(timeToLive: life) : .nameError(timeToLive: life)
        }
        answer.extendedErrors += found.extendedErrors.filter { !answer.extendedErrors.contains($0) }
        return nil
    }
}

extension HTTPDNSProviderAnswer {
    /// Returns the answer with the name that it was found by as the end of the aliases, unless there were any.
    fileprivate func named(_ name: HTTPDNSName) -> HTTPDNSProviderAnswer {
        var answer = self
        for family in HTTPDNSAddress.Family.allCases {
            guard case .addresses(let addresses, let life, nil) = answer[family] else { continue }
            answer[family] = .addresses(addresses, timeToLive: life, canonicalName: name)
        }
        return answer
    }
}
