// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

internal import HTTPDNS

/// Calls that share a time axis: those that overlap, or follow soon.
struct CallGroup: Sendable {
    /// The most calls on an axis, so that short ones can be seen.
    static let maximumCalls = 40
    /// The time without a call, in milliseconds, after which the next axis begins. A longer group bears longer gaps.
    static let leastGap: Int64 = 1000

    /// The calls in the order of their starts.
    private(set) var records: [HTTPDNSTrafficMonitor.Record]
    /// The start of the axis, in milliseconds since 1970.
    let start: Int64
    /// The length of the axis.
    private(set) var length: Duration

    private init(_ record: HTTPDNSTrafficMonitor.Record) {
        records = [record]
        start = record.startTime
        length = record.duration
    }

    /// Returns the groups of calls in any order.
    static func groups(_ records: [HTTPDNSTrafficMonitor.Record]) -> [CallGroup] {
        var groups: [CallGroup] = []
        for record in records.sorted(by: { ($0.startTime, $0.callID) < ($1.startTime, $1.callID) }) {
            if groups.isEmpty || !groups[groups.count - 1].takes(record) { groups.append(CallGroup(record)) }
        }
        return groups
    }

    /// The time from the start of the axis to the start of a call.
    func offset(of record: HTTPDNSTrafficMonitor.Record) -> Duration {
        .milliseconds(record.startTime.subtractingSaturated(start))
    }

    /// Adds a call, unless it needs an axis of its own.
    private mutating func takes(_ record: HTTPDNSTrafficMonitor.Record) -> Bool {
        let offset = offset(of: record)
        let gap = offset - length
        guard records.count < Self.maximumCalls, gap <= max(.milliseconds(Self.leastGap), length) else { return false }
        records.append(record)
        length = max(length, offset + record.duration)
        return true
    }
}
