// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

package import HTTPDNS
package import HTTPDNSCore
package import HTTPDNSTrafficMonitor

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
            } else if text.utf8.count == 3, let status = Int(text), (100...599).contains(status) {
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
}

extension RecordSelection {
    typealias Record = HTTPDNSClient.TrafficMonitor.Record

    /// Returns the newest records that fulfill the conditions; with ``after`` the oldest ones behind it, so that further requests
    /// miss none.
    /// - Parameter records: The records of a monitor, the oldest first.
    package func result(among records: [HTTPDNSClient.TrafficMonitor.Record]) -> ControlReply.Records {
        guard let after else {
            var calls: [Record] = []
            for record in records.reversed() where calls.count < limit && matches(record) { calls.append(record) }
            return ControlReply.Records(calls: calls.reversed(), last: records.last?.callID, stored: records.count)
        }
        let start = records.lastIndex { $0.callID == after }.map { $0 + 1 } ?? 0
        var (calls, last) = ([Record](), records.isEmpty ? nil : after)
        for record in records[start...] {
            guard calls.count < limit else { break }
            last = record.callID
            if matches(record) { calls.append(record) }
        }
        return ControlReply.Records(calls: calls, last: last, stored: records.count)
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
