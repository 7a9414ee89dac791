// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

#if CommandLine
internal import HTTPDNS
internal import HTTPDNSConfiguration

enum FailureReport {
    /// Returns one line, and with `-v` one more for each address and provider that was tried.
    static func text(_ failure: CommandFailure, isVerbose: Bool, style: Style) -> String {
        let hint = failure.hint.map { " (\(PrintableText.line($0)))" } ?? ""
        var lines = ["\(style.bad("resolve-test:")) \(PrintableText.line(failure.message))\(hint)"]
        if isVerbose {
            lines += failure.providerAttempts.map { "  \(PrintableText.line("\($0)"))" }
            var attempts = failure.attempts.map { "  \(PrintableText.line("\($0)"))" }
            if failure.attemptsLeftOut > 0 {
                attempts.insert("  (\(failure.attemptsLeftOut) attempts left out)", at: attempts.count / 2)
            }
            lines += attempts
            if failure.requestMayHaveBeenSent == true {
                lines.append("  the origin may have seen the request")
            }
        }
        return lines.map { $0 + "\n" }.joined()
    }

    /// Returns one object with the member `error`.
    static func json(_ failure: CommandFailure) -> JSONValue {
        var members: [String: JSONValue] = [
            "code": .text(failure.code),
            "reason": .optional(failure.reason),
            "phase": .optional(failure.phase),
            "message": .text(failure.message),
            "hint": .optional(failure.hint),
            "host": .optional(failure.host),
            "exitStatus": .integer(Int(failure.exitStatus)),
        ]
        if let mayHaveBeenSent = failure.requestMayHaveBeenSent {
            members["requestMayHaveBeenSent"] = .bool(mayHaveBeenSent)
        }
        if !failure.attempts.isEmpty {
            members["attempts"] = .array(failure.attempts.map(attempt))
            if failure.attemptsLeftOut > 0 { members["attemptsLeftOut"] = .integer(failure.attemptsLeftOut) }
        }
        if !failure.providerAttempts.isEmpty {
            members["providers"] = .array(failure.providerAttempts.map(ProviderAttemptReport.json))
        }
        if !failure.issues.isEmpty {
            members["issues"] = .array(failure.issues.map(mistake))
            members["omittedIssues"] = .integer(failure.omittedIssues)
        }
        return .object(["error": .object(members)])
    }

    private static func attempt(_ attempt: HTTPDNSClientError.Attempt) -> JSONValue {
        .object([
            "address": .text(attempt.endpoint.address.description),
            "port": .integer(Int(attempt.endpoint.port)),
            "phase": .text("\(attempt.phase)"),
            "failure": .text(attempt.failure),
            "seconds": .seconds(attempt.elapsed),
        ])
    }

    private static func mistake(_ mistake: HTTPDNSConfigurationFileError.Issue) -> JSONValue {
        .object([
            "file": .text(mistake.location.file),
            "line": .optional(mistake.location.line),
            "column": .optional(mistake.location.column),
            "message": .text(mistake.message),
            "hint": .optional(mistake.hint),
        ])
    }
}

enum ProviderAttemptReport {
    static func json(_ attempt: HTTPDNSResolver.ProviderAttempt) -> JSONValue {
        .object([
            "provider": .text(attempt.provider),
            "failure": .text(attempt.failure),
            "seconds": .seconds(attempt.elapsed),
        ])
    }
}
#endif
