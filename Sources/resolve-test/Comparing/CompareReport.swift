// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

#if CommandLine
internal import HTTPDNS

struct CompareReport {
    var comparisons: [Comparison]
    /// Whether a mere difference is suspicious.
    var isStrict: Bool
    var isJSON = false

    var isSuspicious: Bool { comparisons.contains { $0.verdict(isStrict: isStrict).kind == .suspicious } }

    /// The hosts that could not be compared or verified, as one failure; nil when there is none.
    var failure: CommandFailure? {
        let undecided = comparisons.map { (host: $0.host, verdict: $0.verdict(isStrict: isStrict), comparison: $0) }
            .filter { $0.verdict.kind == .undecided }
        guard let first = undecided.first else { return nil }
        let count = comparisons.count == 1 ? "" : "\(undecided.count) of \(comparisons.count) hosts: "
        // The text has the verdict itself on standard output.
        var failure = CommandFailure.failed(
            code: first.verdict.code,
            "no verdict on \(count)\(first.host)" + (isJSON ? ": \(first.verdict.text)" : ""),
            hint: Self.hint(first.comparison),
            host: first.host.description
        )
        if case .failed(let cause) = first.comparison.client {
            failure.reason = cause.reason
            failure.providerAttempts = cause.providerAttempts
        }
        return failure
    }

    private static func hint(_ comparison: Comparison) -> String? {
        switch comparison.client {
        case .notAsked: "--public asks public HTTP-DNS; or --doh URL, --config FILE with a route"
        case .failed(let failure): failure.hint
        case .resolved, .nothing: nil
        }
    }

    /// Returns a table and a verdict for each host.
    func text(_ screen: Screen) -> String {
        comparisons.map { text($0, screen) }.joined(separator: "\n")
    }

    private func text(_ comparison: Comparison, _ screen: Screen) -> String {
        var columns = Columns()
        let title = comparison.isProbed ? "address" : "\(comparison.host)"
        let proof = comparison.isProbed ? ["TLS as \(comparison.host)"] : comparison.proofs.isEmpty ? [] : ["policy"]
        columns.append([title.padded(to: 15), comparison.clientHeading.padded(to: 13), "system".padded(to: 9)] + proof)
        let (ours, theirs) = (Set(comparison.client.endpoints), Set(comparison.system.endpoints))
        for endpoint in comparison.endpoints {
            columns.append(
                [
                    EndpointText.text(endpoint, urlPort: comparison.port),
                    ours.contains(endpoint) ? Self.evidence(comparison.client) : "-",
                    theirs.contains(endpoint) ? "yes" : "-",
                ] + (comparison.proofs[endpoint].map { [Self.text($0)] } ?? [])
            )
        }
        if ours.isEmpty || theirs.isEmpty {
            let absences = [Self.absence(comparison.client), Self.absence(comparison.system)]
            columns.append(["(none)"] + absences.map { $0.isEmpty ? "-" : $0 })
        }
        let verdict = comparison.verdict(isStrict: isStrict)
        let line = FoldedText.text(PrintableText.line(verdict.text), width: screen.width)
        let shown =
            switch verdict.kind {
            case .harmless: screen.style.good(line)
            case .undecided: line
            case .suspicious: screen.style.bad(line)
            }
        return columns.lines(width: screen.width).map { PrintableText.line($0) + "\n" }.joined() + shown + "\n"
    }

    /// Returns `yes, 41 s`, `yes, mapping`.
    private static func evidence(_ answer: Comparison.Answer) -> String {
        guard case .resolved(let resolution) = answer else { return "-" }
        if resolution.source == .mapping { return "yes, mapping" }
        if resolution.isStale { return "yes, STALE" }
        return resolution.timeToLive.map { "yes, \(Figures.lifetime($0))" } ?? "yes"
    }

    private static func absence(_ answer: Comparison.Answer) -> String {
        switch answer {
        case .resolved: ""
        case .nothing(let reason): reason
        case .notAsked: "not asked"
        case .failed: "failed"
        }
    }

    private static func text(_ proof: Comparison.Proof) -> String {
        switch proof {
        case .verified(let duration): "verified, \(Figures.phase(duration))"
        case .refused(let reason): "REFUSED: \(reason)"
        case .unreachable(let reason): "no answer: \(reason)"
        }
    }
}

extension CompareReport {
    /// Returns one line of JSON for each host.
    func json() -> String { comparisons.map { json($0).oneLine + "\n" }.joined() }

    private func json(_ comparison: Comparison) -> JSONValue {
        let verdict = comparison.verdict(isStrict: isStrict)
        return .object([
            "host": .text(comparison.host.description),
            "port": .integer(Int(comparison.port)),
            "client": Self.json(comparison.client, port: comparison.port),
            "system": Self.json(comparison.system, port: comparison.port),
            "probes": comparison.isProbed || !comparison.proofs.isEmpty
                ? .array(
                    comparison.endpoints.compactMap { endpoint in
                        comparison.proofs[endpoint].map { Self.json($0, of: endpoint, port: comparison.port) }
                    }
                ) : .null,
            "verdict": .text(verdict.code),
            "suspicious": .bool(verdict.kind == .suspicious),
            "text": .text(verdict.text),
        ])
    }

    private static func json(_ answer: Comparison.Answer, port: UInt16) -> JSONValue {
        switch answer {
        case .resolved(let resolution) where resolution.source == .system:
            .object(["addresses": .array(resolution.endpoints.map { .text("\($0.address)") }), "error": .null])
        case .resolved(let resolution):
            .object(ResolutionJSON.members(resolution, urlPort: port).adding(["error": .null]))
        case .nothing(let reason), .notAsked(let reason):
            .object(["addresses": .array([]), "error": .text(reason)])
        case .failed(let failure):
            .object(["addresses": .array([]), "error": .text(failure.message)])
        }
    }

    private static func json(_ proof: Comparison.Proof, of endpoint: HTTPDNSEndpoint, port: UInt16) -> JSONValue {
        let (result, reason, seconds): (String, String?, Duration?) =
            switch proof {
            case .verified(let duration): ("verified", nil, duration)
            case .refused(let reason): ("refused", reason, nil)
            case .unreachable(let reason): ("unreachable", reason, nil)
            }
        return .object([
            "address": .text(EndpointText.text(endpoint, urlPort: port)),
            "result": .text(result),
            "reason": .optional(reason),
            "seconds": .seconds(seconds),
        ])
    }
}
#endif
