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
    /// Whether a shared and a private cache behave as the suite expects.
    let outcome: (shared: Bool, own: Bool)

    /// The required cases that fail on purpose: a cookie is for the request that it answers. `Docs/Conformance.md` has the reason.
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
        switch cells[3] {
        case "pass pass": outcome = (true, true)
        case "pass fail": outcome = (true, false)
        case "fail pass": outcome = (false, true)
        case "fail fail": outcome = (false, false)
        default: return nil
        }
        (id, self.kind, self.scope, steps) = (cells[0], kind, scope, cells[4])
    }

    var testDescription: String { id }

    /// Whether the cache behaves as the suite expects, in each mode that the case is for.
    var passes: Bool { (scope == .private || outcome.shared) && (scope == .shared || outcome.own) }

    /// The row of the case in `Docs/Conformance.md`.
    var row: String {
        let words = (shared: outcome.shared ? "pass" : "fail", own: outcome.own ? "pass" : "fail")
        let cells = [
            "`\(id)`", kind.rawValue, scope == .private ? "not for shared caches" : words.shared,
            scope == .shared ? "not for private caches" : words.own,
        ]
        return "| \(cells.joined(separator: " | ")) |"
    }

    /// The rows of the second table in `Docs/Conformance.md`: cases of each kind, and how many pass.
    static var totals: [String] {
        Kind.allCases.map { kind in
            let cases = all.filter { $0.kind == kind }
            return "| \(kind.rawValue) | \(cases.count) | \(cases.count(where: \.passes)) |"
        }
    }
}
