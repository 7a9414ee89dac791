// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

#if CommandLine
internal import HTTPDNS
internal import HTTPDNSCore
internal import HTTPDNSMessages

/// The report of `resolve` on the records of its hosts, in the presentation form of DNS.
enum RecordReport {
    struct Row: Sendable {
        var host: HostArgument
        var type: DNSRecordType
        /// The last answer, also one without such records.
        var answer: RecordReply?
        /// The name of the provider of the answer.
        var provider: String?
        var elapsed = Duration.zero
        var failedAttempts: [HTTPDNSResolver.ProviderAttempt] = []
        /// The failure for the exit status; nil when there is none.
        var failure: CommandFailure?

        var question: String { "\(host.text) \(type)" }
        fileprivate var records: [PresentedRecord] { answer?.response.answers ?? [] }

        /// - Parameter reason: A short identifier for programs.
        func failure(_ reason: String, _ text: String, hint: String? = nil) -> CommandFailure {
            var failure = CommandFailure.failed(
                code: "\(HTTPDNSClientError.Code.resolveFailed)",
                "cannot get \(type) records of \(host.host): \(text)",
                hint: hint,
                host: host.host.description
            )
            failure.reason = reason
            failure.phase = "\(HTTPDNSClientError.Phase.resolve)"
            return failure
        }
    }

    /// Returns the records as lines of a zone file, and comments: malformed records, failed providers, and the status.
    static func text(_ rows: [Row], width: Int = .max) -> String {
        rows.flatMap { row in
            var columns = Columns()
            for record in row.records { columns.append(record.columns) }
            var comments = row.records.compactMap { record in
                record.mistake.map { "\(record.owner) \(record.type): malformed: \($0)" }
            }
            if row.failure == nil { comments += row.failedAttempts.map(\.description) }
            if row.records.isEmpty {
                // The zone that says so, and the time for which it holds.
                let authorities = row.answer?.response.authorities ?? []
                comments += authorities.map { $0.columns.joined(separator: "  ") }
            }
            comments += (row.answer?.response.extendedErrors ?? []).map { "the server says: \($0)" }
            return columns.lines(width: width) + (comments + [status(row)]).flatMap { comment($0, width: width) }
        }.map { $0 + "\n" }.joined()
    }

    /// Returns the text `one.test TXT: NOERROR from 192.0.2.53:53 over udp in 1.2 ms`.
    private static func status(_ row: Row) -> String {
        guard let answer = row.answer else { return "\(row.question): \(row.failure?.shortReason ?? "")" }
        let isMissing = row.failure?.reason == "no-records" ? ", no such records," : ""
        let server = row.provider == ServerArgument.providerName ? "" : "\(row.provider ?? "") "
        return "\(row.question): \(answer.response.responseCode)\(isMissing) from \(server)\(answer.server) "
            + "over \(answer.protocolName) in \(Figures.phase(row.elapsed))"
    }

    /// Returns the text as comments of a zone file.
    private static func comment(_ text: String, width: Int) -> [String] {
        FoldedText.text(PrintableText.line(text), width: width == .max ? width : width - 2)
            .split(separator: "\n").map { "; \($0)" }
    }

    /// Returns the data of the records alone, one a line. A malformed record is none.
    static func shortText(_ rows: [Row]) -> String {
        rows.flatMap(\.records).filter { $0.mistake == nil }.map { $0.data + "\n" }.joined()
    }

    static func json(_ row: Row) -> JSONValue {
        .object([
            "host": .text(row.host.host.description), "port": .integer(Int(row.host.port)),
            "recordType": .text("\(row.type)"),
            "status": .optional((row.answer?.response.responseCode).map { "\($0)" }),
            "records": .array(row.records.map(json)),
            "authorities": .array((row.answer?.response.authorities ?? []).map(json)),
            "extendedErrors": .array((row.answer?.response.extendedErrors ?? []).map { .text("\($0)") }),
            "provider": .optional(row.provider),
            "server": .optional((row.answer?.server).map { "\($0)" }),
            "protocol": .optional(row.answer?.protocolName),
            "seconds": .seconds(row.elapsed),
            "failedProviders": .array(row.failedAttempts.map(ProviderAttemptReport.json)),
            "error": row.failure?.member ?? .null,
        ])
    }

    private static func json(_ record: PresentedRecord) -> JSONValue {
        .object([
            "owner": .text("\(record.owner)"), "type": .text("\(record.type)"),
            "timeToLiveSeconds": .integer(Int(record.timeToLive)), "data": .text(record.data),
            "malformed": .optional(record.mistake.map { "\($0)" }),
        ])
    }
}

extension PresentedRecord {
    fileprivate var columns: [String] { ["\(owner)", "\(timeToLive)", recordClass, "\(type)", data] }
}

extension RecordReply {
    /// `udp`, `tcp` or `https`.
    fileprivate var protocolName: String { transport?.rawValue ?? "https" }
}
#endif
