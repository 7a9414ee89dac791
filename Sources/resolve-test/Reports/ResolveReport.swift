// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

#if CommandLine
internal import HTTPDNS

struct ResolveReport {
    struct Row {
        var question: HostArgument
        var outcome: Result<HTTPDNSResolver.Resolution, CommandFailure>
    }

    var rows: [Row] = []
    var providerKinds: [String: String] = [:]
    /// The records of the hosts of other types, or from one server, if they were asked for.
    var records: [RecordReport.Row] = []

    private var failures: [(text: String, failure: CommandFailure)] {
        let ofRows = rows.compactMap { row in
            if case .failure(let failure) = row.outcome { (row.question.text, failure) } else { nil }
        }
        let ofRecords = records.compactMap { row in row.failure.map { (row.question, $0) } }
        return ofRows + ofRecords
    }

    /// Returns the report with advice for a run without mappings and providers.
    func advised(by settings: ClientSettings) -> ResolveReport {
        var report = self
        for index in rows.indices { report.rows[index].outcome = rows[index].outcome.mapError(settings.advised) }
        return report
    }

    /// Returns a table: name, address, source, remaining lifetime.
    func text(_ screen: Screen) -> String {
        var columns = Columns()
        for row in rows {
            let name = PrintableText.line(row.question.text)
            switch row.outcome {
            case .success(let resolution):
                let words = ResolutionText(resolution: resolution, providerKinds: providerKinds)
                let addresses = resolution.endpoints.map { EndpointText.text($0, urlPort: row.question.port) }
                columns.append([
                    name, addresses.first ?? "-",
                    [words.source, words.evidence].filter { !$0.isEmpty }.joined(separator: "  "),
                    words.lifetime, words.failures,
                ])
                for address in addresses.dropFirst() { columns.append(["", address]) }
            case .failure(let failure):
                columns.append([name, "-", failure.shortReason])
            }
        }
        return columns.lines(gap: 3, width: screen.width).map { $0 + "\n" }.joined()
            + RecordReport.text(records, width: screen.width)
    }

    /// Returns the addresses and the data of records alone, one a line, as `dig +short` does.
    func shortText() -> String {
        let addresses = rows.flatMap { row in
            ((try? row.outcome.get())?.endpoints ?? []).map { EndpointText.text($0, urlPort: row.question.port) + "\n" }
        }
        return addresses.joined() + RecordReport.shortText(records)
    }

    /// Returns one line of JSON for each host, failed ones included, and one for its records of a type.
    func json() -> String {
        (rows.map(json) + records.map(RecordReport.json)).map { $0.oneLine + "\n" }.joined()
    }

    private func json(_ row: Row) -> JSONValue {
        switch row.outcome {
        case .success(let resolution):
            .object(
                ResolutionJSON.members(resolution, urlPort: row.question.port).adding([
                    "host": .text(row.question.host.description), "port": .integer(Int(row.question.port)),
                    "canonicalName": .optional(resolution.canonicalName?.description),
                    "extendedErrors": .array(resolution.extendedErrors.map { .text($0.description) }),
                    "location": .optional(resolution.mapping?.location?.description),
                    "seconds": .seconds(resolution.elapsed),
                    "failedProviders": .array(resolution.failedAttempts.map(ProviderAttemptReport.json)),
                ])
            )
        case .failure(let failure):
            .object([
                "host": .text(row.question.host.description), "port": .integer(Int(row.question.port)),
                "addresses": .array([]),
                "error": failure.member,
            ])
        }
    }

    /// The hosts that failed as one failure; nil when none did.
    var failure: CommandFailure? {
        guard let first = failures.first else { return nil }
        guard failures.count > 1 else { return first.failure }
        let names = failures.map(\.text).joined(separator: ", ")
        let summarized =
            records.isEmpty
            ? "\(failures.count) of \(rows.count) hosts have no address"
            : "\(failures.count) of \(rows.count + records.count) queries have no answer"
        var summary = CommandFailure.failed(
            code: first.failure.code,
            "\(summarized): \(names); \(first.failure.message)",
            hint: first.failure.hint,
            host: first.failure.host
        )
        summary.phase = first.failure.phase
        summary.providerAttempts = failures.flatMap(\.failure.providerAttempts)
        return summary
    }
}

/// The members that `resolve`, `explain` and `fetch` share.
enum ResolutionJSON {
    static func members(_ resolution: HTTPDNSResolver.Resolution, urlPort: UInt16) -> [String: JSONValue] {
        [
            "addresses": .array(resolution.endpoints.map { .text(EndpointText.text($0, urlPort: urlPort)) }),
            "source": .text("\(resolution.source)"),
            "provider": .optional(resolution.provider),
            "cached": .bool(resolution.isCached),
            "stale": .bool(resolution.isStale),
            "ageSeconds": .seconds(resolution.age),
            "timeToLiveSeconds": .seconds(resolution.timeToLive),
            "generation": .integer(Int(clamping: resolution.generation)),
        ]
    }
}

/// The text forms of a resolution that all reports share.
struct ResolutionText {
    var resolution: HTTPDNSResolver.Resolution
    var providerKinds: [String: String]

    /// The source: `mapping`, `doh backup`, `system`, `literal`, `request`.
    var source: String {
        guard let provider = resolution.provider else { return "\(resolution.source)" }
        guard let kind = providerKinds[provider] else { return "provider \(provider)" }
        return kind == provider ? kind : "\(kind) \(provider)"
    }

    /// The location of the mapping, or the duration of the lookup.
    var evidence: String {
        if let mapping = resolution.mapping { return mapping.location.map { "\($0)" } ?? "" }
        if resolution.isCached { return "cached" }
        return resolution.source == .literal || resolution.source == .request ? "" : Figures.phase(resolution.elapsed)
    }

    /// The remaining lifetime: `41 s left`, `no expiry`, `STALE`.
    var lifetime: String {
        guard let left = resolution.timeToLive else { return "no expiry" }
        return resolution.isStale ? "STALE, \(Figures.lifetime(resolution.age)) old" : "\(Figures.lifetime(left)) left"
    }

    /// The freshness of the answer: `fresh`, `cached` or `stale`.
    var freshness: String { resolution.isStale ? "stale" : resolution.isCached ? "cached" : "fresh" }

    /// The text `(ali: 503 in 12 ms)` for the providers that failed before.
    var failures: String {
        guard !resolution.failedAttempts.isEmpty else { return "" }
        return "(\(resolution.failedAttempts.map { PrintableText.line("\($0)") }.joined(separator: "; ")))"
    }
}

/// An endpoint as text and JSON: with a port only if it is not the URL's.
enum EndpointText {
    static func text(_ endpoint: HTTPDNSEndpoint, urlPort: UInt16) -> String {
        endpoint.port == urlPort ? "\(endpoint.address)" : "\(endpoint)"
    }
}

extension CommandFailure {
    /// The failure of one host among several, as JSON.
    var member: JSONValue {
        .object(["code": .text(code), "reason": .optional(reason), "message": .text(message)])
    }
}
#endif
