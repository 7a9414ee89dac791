// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

#if CommandLine
internal import HTTPDNS
internal import HTTPDNSMessages

/// The report of `resolve` on the HTTPS records of its hosts, in the presentation form of DNS.
enum RecordReport {
    struct Row: Sendable {
        var question: HostArgument
        var outcome: Result<[DNSRecord], CommandFailure>
        var provider: String?
        var elapsed = Duration.zero
        var failedAttempts: [HTTPDNSResolver.ProviderAttempt] = []
        /// The failure for a malformed record, which invalidates all HTTPS records of its owner (RFC 9460 section 2.2).
        var malformed: CommandFailure?

        /// The failure for the exit status; nil when there is none.
        var failure: CommandFailure? {
            if case .failure(let failure) = outcome { failure } else { malformed }
        }
    }

    /// Returns the records as lines of a zone file, and comments for malformed records and for hosts without any.
    static func text(_ rows: [Row], width: Int = .max) -> String {
        rows.flatMap { row in
            switch row.outcome {
            case .success(let records):
                var columns = Columns()
                for record in records {
                    guard let data = record.data else { continue }
                    columns.append(["\(record.owner)", "\(record.timeToLive)", "IN", record.typeName, data])
                }
                let comments =
                    records.compactMap { record in record.mistake.map { "\(record.owner) HTTPS: malformed: \($0)" } }
                    + row.failedAttempts.map(\.description)
                return columns.lines(width: width) + comments.flatMap { comment($0, width: width) }
            case .failure(let failure):
                return comment("\(row.question.text) HTTPS: \(failure.shortReason)", width: width)
            }
        }.map { $0 + "\n" }.joined()
    }

    /// Returns the text as comments of a zone file.
    private static func comment(_ text: String, width: Int) -> [String] {
        FoldedText.text(PrintableText.line(text), width: width == .max ? width : width - 2)
            .split(separator: "\n").map { "; \($0)" }
    }

    /// Returns the data of the records alone, one a line.
    static func shortText(_ rows: [Row]) -> String {
        rows.flatMap { (try? $0.outcome.get()) ?? [] }.compactMap(\.data).map { $0 + "\n" }.joined()
    }

    static func json(_ row: Row) -> JSONValue {
        var members: [String: JSONValue] = [
            "host": .text(row.question.host.description), "port": .integer(Int(row.question.port)),
            "recordType": .text("\(DNSRecordType.https)"),
            "records": .array([]),
        ]
        switch row.outcome {
        case .success(let records):
            members["records"] = .array(
                records.map { record in
                    .object([
                        "owner": .text("\(record.owner)"), "type": .text(record.typeName),
                        "timeToLiveSeconds": .integer(Int(record.timeToLive)), "data": .optional(record.data),
                        "malformed": .optional(record.mistake),
                    ])
                }
            )
            members["provider"] = .optional(row.provider)
            members["seconds"] = .seconds(row.elapsed)
            members["failedProviders"] = .array(row.failedAttempts.map(ProviderAttemptReport.json))
        case .failure(let failure):
            members["error"] = failure.member
        }
        return .object(members)
    }
}

extension DNSRecord {
    /// Whether it is a service record, malformed ones included.
    var isService: Bool {
        switch content {
        case .service, .malformedService: true
        default: false
        }
    }

    fileprivate var typeName: String {
        if case .alias = content { "\(DNSRecordType.cname)" } else { "\(DNSRecordType.https)" }
    }

    var mistake: String? {
        if case .malformedService(let error) = content { "\(error)" } else { nil }
    }

    /// The data in presentation form; nil for a malformed record.
    fileprivate var data: String? {
        switch content {
        case .alias(let name): "\(name)"
        case .service(let record): "\(record)"
        case .malformedService: nil
        case .address(let address): "\(address)"
        case .startOfAuthority(let minimum): "\(minimum)"
        }
    }
}
#endif
