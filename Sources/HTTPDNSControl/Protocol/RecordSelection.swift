// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

internal import HTTPDNS
package import HTTPDNSCore
package import HTTPDNSMonitor
internal import HTTPDNSPrimitives

/// The conditions on the records of calls in a reply. A record must fulfill all of them.
package struct RecordSelection: Hashable, Sendable {
    /// A status, or a class of statuses.
    package struct Statuses: Hashable, Sendable, CustomStringConvertible {
        /// The text, such as `404` or `5xx`.
        package let description: String
        private let range: ClosedRange<Int>

        /// Parses a status from 100 to 599, or a class from `1xx` to `5xx`.
        package init?(_ text: String) {
            description = text
            if text.utf8.count == 3, text.hasSuffix("xx"), let first = Int(text.prefix(1)), (1...5).contains(first) {
                range = first * 100...first * 100 + 99
            } else if text.utf8.count == 3, let status = Int(digits: text), (100...599).contains(status) {
                range = status...status
            } else {
                return nil
            }
        }

        package func contains(_ status: Int) -> Bool { range.contains(status) }
    }

    /// The maximum number of records.
    package var limit: Int
    /// The patterns of hosts, one of which the call or one of its hops has; nil means all hosts.
    package var names: [HTTPDNSRoute.Pattern]?
    /// The statuses of the calls; nil means all calls, also those without a response.
    package var statuses: Statuses?
    /// Whether only failed calls are wanted.
    package var isFailed = false
    /// The duration that the calls exceed; nil means any duration.
    package var slowerThan: Duration?
    /// The number of the only call that is wanted; nil for all calls.
    package var callID: UInt64?
    /// The number of a call whose record is followed by those that are wanted; nil means the newest ones. When that record is no
    /// longer in memory, all records count.
    package var after: UInt64?

    package init(limit: Int = RecordSelection.defaultLimit) { self.limit = limit }

    /// The default limit, fit for a terminal.
    package static let defaultLimit = 20

    /// The most bytes of the records of a reply, so that the rest of its line fits, too.
    package static let maximumBytes = ControlProtocol.maximumReply - 4096
}

extension RecordSelection {
    typealias Record = HTTPDNSTrafficMonitor.Record

    /// Returns the newest records that fulfill the conditions; with ``after`` the oldest ones behind it, so that further requests
    /// miss none. Only the record of ``callID`` has its bodies. The records have as many bytes as a reply may have: then the
    /// others are left out, and ``ControlReply/Records/last`` is that of the last one that was compared. A record that is too
    /// long by itself is left out.
    /// - Parameters:
    ///   - records: The records of a monitor, the oldest first.
    ///   - maximum: The most bytes of the records in JSON.
    package func result(
        among records: [HTTPDNSTrafficMonitor.Record],
        within maximum: Int = maximumBytes
    ) -> ControlReply.Records {
        var page = Page(maximum: maximum, keepsBodies: callID != nil)
        guard let after else {
            for record in records.reversed() where page.calls.count < limit && matches(record) {
                guard page.append(record) else { break }
            }
            return page.result(page.calls.reversed(), last: records.last?.callID, stored: records.count)
        }
        let start = records.lastIndex { $0.callID == after }.map { $0 + 1 } ?? 0
        var last = records.isEmpty ? nil : after
        for record in records[start...] {
            guard page.calls.count < limit, !matches(record) || page.append(record) else { break }
            last = record.callID
        }
        return page.result(page.calls, last: last, stored: records.count)
    }

    /// The records of a reply, up to a number of bytes.
    private struct Page {
        let maximum: Int
        let keepsBodies: Bool
        private(set) var calls: [Record] = []
        private var bytes = 0
        private var isTruncated = false

        init(maximum: Int, keepsBodies: Bool) {
            self.maximum = maximum
            self.keepsBodies = keepsBodies
        }

        /// Adds a record, unless it is too long for any reply.
        /// - Returns: Whether the record is done; false when it belongs into the next reply.
        mutating func append(_ record: Record) -> Bool {
            var (record, length) = (record, keepsBodies ? ControlReply.length(of: record) : .max)
            if length > maximum {
                isTruncated = isTruncated || keepsBodies
                (record.requestBody, record.responseBody) = (nil, nil)
                for index in record.hops.indices { record.hops[index].requestBody = nil }
                length = ControlReply.length(of: record)
            }
            guard length <= maximum - bytes else {
                isTruncated = true
                return length > maximum
            }
            bytes += length
            calls.append(record)
            return true
        }

        func result(_ calls: [Record], last: UInt64?, stored: Int) -> ControlReply.Records {
            ControlReply.Records(calls: calls, last: last, stored: stored, isTruncated: isTruncated)
        }
    }

    private func matches(_ record: Record) -> Bool {
        if let callID, record.callID != callID { return false }
        if isFailed, record.outcome != "failed" { return false }
        if let statuses, !(record.status.map(statuses.contains) ?? false) { return false }
        if let slowerThan, record.duration <= slowerThan { return false }
        guard let names else { return true }
        return ([record.url] + record.hops.map(\.url)).contains { url in
            guard case .name(let host)? = (try? HTTPDNSRewriter.Canonicalizer.canonicalize(url))?.host else {
                return false
            }
            return names.contains { $0.contains(host) }
        }
    }
}
