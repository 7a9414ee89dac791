// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

import ServerRig
import Testing

/// A case of the public suite http-tests/cache-tests, by its identifier there.
///
/// The steps are separated by ` | `, and the parts of a step by `; `:
/// - `name: value` is a field of the response, `>name: value` one of the request. `@60` is the date in 60 s.
/// - `=hit` expects a stored response, `=sent` one of the server, `=etag` and `=lm` a validation with this validator.
/// - `~name: value` expects a field in the response, `!name` its absence; `<name: value` a field that reaches the server, and
///   `<!name` its absence there.
/// - `method X`, `path /x`, `status N`, `body x`, `close` say what is sent and answered; `expect N` and `text x` what is
///   received.
/// - `interim N` is a response before the one of the step, which the client receives. Without it the client receives none.
/// - `pause` moves the clock by 3 s after the step.
struct CacheSuiteCase: Sendable, CustomTestStringConvertible {
    /// The meaning of a case in the suite: `required` and `optimal` are by RFC 9111, a `check` has no right outcome.
    enum Kind: String, Sendable {
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

    /// All cases, from `cases.txt`.
    static let all: [CacheSuiteCase] = {
        let text = (try? Repository.text("Tests/HTTPDNSResponseCacheTests/CacheSuite/cases.txt")) ?? ""
        return text.split(separator: "\n").filter { !$0.hasPrefix("#") }.compactMap(CacheSuiteCase.init)
    }()

    /// Reads a line; nil for one that is no case.
    private init?(_ line: Substring) {
        let cells = line.split(separator: "\t").map(String.init)
        guard cells.count == 5, let kind = Kind(rawValue: cells[1]), let scope = Scope(rawValue: cells[2]) else {
            return nil
        }
        (id, self.kind, self.scope, steps) = (cells[0], kind, scope, cells[4])
        outcome = (cells[3].hasPrefix("pass"), cells[3].hasSuffix("pass"))
    }

    var testDescription: String { id }

    /// The row of the case in `Docs/Conformance.md`.
    var row: String {
        let words = (shared: outcome.shared ? "pass" : "fail", own: outcome.own ? "pass" : "fail")
        let cells = [
            "`\(id)`", kind.rawValue, scope == .private ? "not for shared caches" : words.shared,
            scope == .shared ? "not for private caches" : words.own,
        ]
        return "| \(cells.joined(separator: " | ")) |"
    }
}
