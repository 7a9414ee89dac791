// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

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
/// - `pause` moves the clock by 3 s after the step.
struct CacheSuiteCase: Sendable, CustomTestStringConvertible {
    /// The meaning of a case in the suite: `required` and `optimal` are by RFC 9111, a `check` has no right outcome.
    enum Kind: String, Sendable {
        case required, optimal, check
    }

    /// The caches that a case is for.
    enum Scope: Sendable {
        case both, shared, `private`
    }

    let id: String
    let kind: Kind
    let scope: Scope
    let steps: String
    /// Whether a shared and a private cache behave as the suite expects.
    let outcome: (shared: Bool, own: Bool)

    init(_ id: String, _ kind: Kind, _ steps: String, _ scope: Scope = .both, shared: Bool = true, own: Bool = true) {
        self.id = id
        self.kind = kind
        self.scope = scope
        self.steps = steps
        outcome = (shared, own)
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
