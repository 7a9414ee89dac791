// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

internal import HTTPDNSMessages

/// The report of `resolve` on the HTTPS records of its hosts, in the presentation form of DNS.
enum RecordReport {
    /// The outcome for one host.
    struct Row: Sendable {
        /// The host as it was given.
        var text: String
        /// The canonical name.
        var host: String
        var outcome: Result<[DNSRecord], CommandFailure>
        /// The service that answered.
        var provider: String?
        var elapsed = Duration.zero
    }

    /// Returns the records as lines of a zone file, and a comment for a host without any.
    static func text(_ rows: [Row]) -> String {
        rows.map { row in
            switch row.outcome {
            case .success(let records):
                var columns = Columns()
                for record in records {
                    columns.append(["\(record.owner)", "\(record.timeToLive)", "IN", record.typeName, record.data])
                }
                return columns.lines().map { $0 + "\n" }.joined()
            case .failure(let failure):
                return "; \(PrintableText.line(row.text)) HTTPS: \(failure.shortReason)\n"
            }
        }.joined()
    }

    /// Returns the data of the records alone, one a line.
    static func shortText(_ rows: [Row]) -> String {
        rows.flatMap { (try? $0.outcome.get()) ?? [] }.map { $0.data + "\n" }.joined()
    }

    static func json(_ row: Row) -> JSONValue {
        var members: [String: JSONValue] = [
            "host": .text(row.host), "recordType": .text("\(DNSRecordType.https)"), "records": .array([]),
        ]
        switch row.outcome {
        case .success(let records):
            members["records"] = .array(
                records.map { record in
                    .object([
                        "owner": .text("\(record.owner)"), "type": .text(record.typeName),
                        "timeToLiveSeconds": .integer(Int(record.timeToLive)), "data": .text(record.data),
                    ])
                }
            )
            members["provider"] = .optional(row.provider)
            members["seconds"] = .seconds(row.elapsed)
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

    fileprivate var data: String {
        switch content {
        case .alias(let name): "\(name)"
        case .service(let record): "\(record)"
        case .malformedService(let error): "; malformed: \(error)"
        case .address(let address): "\(address)"
        case .startOfAuthority(let minimum): "\(minimum)"
        }
    }
}
