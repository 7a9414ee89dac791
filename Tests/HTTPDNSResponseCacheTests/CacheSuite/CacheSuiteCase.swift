// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

import ServerRig
import Testing

/// A case of the public suite http-tests/cache-tests, by its identifier there. ``CacheSuiteStep`` has the form of the steps,
/// which are separated by ` | `.
struct CacheSuiteCase: Sendable, CustomTestStringConvertible {
    /// The meaning of a case in the suite: `required` and `optimal` are by RFC 9111, a `check` has no right outcome.
    enum Kind: String, Sendable, CaseIterable {
        case required, optimal, check
    }

    /// The caches that a case is for.
    enum Scope: String, Sendable {
        case both, shared, `private`
    }

    let id: String
    let kind: Kind
    let scope: Scope
    let steps: String
    /// The numbers of the first steps at which a shared and a private cache behave otherwise than the suite expects; nil for a
    /// cache that passes.
    let failures: (shared: Int?, own: Int?)

    /// The required cases that fail in a shared cache on purpose: it stores no cookies. `Docs/Conformance.md` has the reason.
    static let departures: Set<String> = ["headers-store-Set-Cookie", "headers-store-Set-Cookie2"]

    /// The lines of `cases.txt` that are no comments.
    static let lines: [Substring] = {
        let text = (try? Repository.text("Tests/HTTPDNSResponseCacheTests/CacheSuite/cases.txt")) ?? ""
        return text.split(separator: "\n").filter { !$0.hasPrefix("#") }
    }()

    /// All cases, from `cases.txt`.
    static let all: [CacheSuiteCase] = lines.compactMap(CacheSuiteCase.init)

    /// Reads a line; nil for one that is no case.
    private init?(_ line: Substring) {
        let cells = line.split(separator: "\t").map(String.init)
        guard cells.count == 5, let kind = Kind(rawValue: cells[1]), let scope = Scope(rawValue: cells[2]) else {
            return nil
        }
        let outcomes = cells[3].split(separator: " ").compactMap(Self.failure)
        guard outcomes.count == 2 else { return nil }
        failures = (outcomes[0], outcomes[1])
        (id, self.kind, self.scope, steps) = (cells[0], kind, scope, cells[4])
    }

    /// Reads `pass`, or `fail:` and the number of a step; nil for another text.
    private static func failure(_ text: Substring) -> Int?? {
        if text == "pass" { return .some(nil) }
        guard text.hasPrefix("fail:"), let step = Int(text.dropFirst(5)), step > 0 else { return nil }
        return step
    }

    var testDescription: String { id }

    /// Whether the cache behaves as the suite expects, in each mode that the case is for.
    var passes: Bool { (scope == .private || failures.shared == nil) && (scope == .shared || failures.own == nil) }

    /// Whether the case is run with a folder too, which has a second copy of each head: that of a 304 response replaces it.
    var isForFolder: Bool { kind == .required || id.hasPrefix("304-") }

    /// The rows of the table in `Docs/Conformance.md`: cases of each kind, and how many pass.
    static var totals: [String] {
        Kind.allCases.map { kind in
            let cases = all.filter { $0.kind == kind }
            let others = kind == .required ? 1 : 0
            return "| \(kind.rawValue) | \(cases.count + others) | \(cases.count(where: \.passes) + others) |"
        }
    }
}
