// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

internal import HTTPDNS

/// The figures about records: sums, percentiles and errors.
struct TrafficSummary: Sendable {
    /// The percentiles of a host or a route.
    struct Group: Hashable, Sendable {
        let name: String
        let latencies: Latencies
    }

    /// The errors of one kind at one host.
    struct ErrorGroup: Hashable, Sendable {
        /// Such as `connect-failed in the phase connect`, or `status 503`.
        let kind: String
        let host: String
        var count = 0
        /// The message of the newest one; empty for a status.
        var message = ""
        /// The start of the newest call, in milliseconds since 1970.
        var newest: Int64 = 0
    }

    /// The number of records.
    let recordCount: Int
    /// The sums of all calls, also of those without a record.
    let counters: HTTPDNSTrafficMonitor.Counters
    /// The start of the first and the end of the last call, in milliseconds since 1970; nil without a record.
    let span: ClosedRange<Int64>?
    /// The durations of whole calls; nil without a record.
    let calls: Latencies?
    /// The times to the response heads of hops, the busiest host first.
    let hosts: [Group]
    let routes: [Group]
    /// The errors, the most frequent first.
    let errors: [ErrorGroup]

    /// - Parameter counters: The sums of a monitor; nil for those of the records.
    init(
        _ records: [HTTPDNSTrafficMonitor.Record],
        counters: HTTPDNSTrafficMonitor.Counters?
    ) {
        recordCount = records.count
        self.counters = counters ?? HTTPDNSTrafficMonitor.Counters(of: records)
        calls = Latencies(records.map(\.duration))
        let starts = records.map(\.startTime)
        let ends = records.map { $0.startTime.addingSaturated(Int64($0.duration.inMilliseconds.rounded(.up))) }
        if let first = starts.min(), let last = ends.max(), first <= last {
            span = first...last
        } else {
            span = nil
        }
        var (hosts, routes): ([String: [Duration]], [String: [Duration]]) = ([:], [:])
        var errors: [String: ErrorGroup] = [:]
        for record in records {
            for hop in record.hops {
                guard let duration = hop.duration, hop.status != nil, !hop.isAnsweredInProcess, !hop.isMerged else {
                    continue
                }
                hosts[HopTarget(hop.url, nil).host, default: []].append(duration)
                routes[hop.route, default: []].append(duration)
            }
            for error in Self.errors(of: record) {
                var group = errors["\(error.kind) \(error.host)"] ?? error
                group.count += 1
                if record.startTime >= group.newest {
                    (group.newest, group.message) = (record.startTime, error.message)
                }
                errors["\(error.kind) \(error.host)"] = group
            }
        }
        self.hosts = Self.groups(hosts)
        self.routes = Self.groups(routes)
        self.errors = errors.values.sorted { ($1.count, $0.kind, $0.host) < ($0.count, $1.kind, $1.host) }
    }

    private static func groups(_ durations: [String: [Duration]]) -> [Group] {
        durations.compactMap { name, durations in Latencies(durations).map { Group(name: name, latencies: $0) } }
            .sorted { ($1.latencies.count, $0.name) < ($0.latencies.count, $1.name) }
    }

    /// Returns the errors of a call, each with the count 0: of its hops, and of its body.
    private static func errors(of record: HTTPDNSTrafficMonitor.Record) -> [ErrorGroup] {
        func group(_ failure: HTTPDNSTrafficMonitor.Failure, _ url: String) -> ErrorGroup {
            let kind = "\(failure.code) in the phase \(failure.phase)"
            return ErrorGroup(kind: kind, host: HopTarget(url, nil).host, message: failure.message)
        }
        var groups: [ErrorGroup] = []
        for hop in record.hops {
            if let failure = hop.failure { groups.append(group(failure, hop.url)) }
            if let status = hop.status, status >= 400 {
                groups.append(ErrorGroup(kind: "status \(status)", host: HopTarget(hop.url, nil).host))
            }
        }
        // An error that no hop has is that of a body, or of a call without a hop.
        if let failure = record.failure, record.hops.last?.failure == nil {
            groups.append(group(failure, record.hops.last?.url ?? record.url))
        }
        return groups
    }
}

extension HTTPDNSTrafficMonitor.Counters {
    /// Creates the sums of the calls of records.
    init(of records: [HTTPDNSTrafficMonitor.Record]) {
        for record in records {
            self.records += 1
            calls.calls += 1
            switch record.outcome {
            case "failed": calls.failed += 1
            case "canceled": calls.canceled += 1
            default: calls.finished += 1
            }
            for (index, hop) in record.hops.enumerated() {
                let isLast = index == record.hops.count - 1
                add(hop, isFailed: hop.failure != nil || isLast && record.failure != nil && record.status != nil)
            }
        }
    }

    private mutating func add(_ hop: HTTPDNSTrafficMonitor.Hop, isFailed: Bool) {
        calls.hops += 1
        let bytes = hop.bytes
        calls.requestHeadBytes.addSaturated(bytes.requestHead)
        calls.requestBodyBytes.addSaturated(bytes.requestBody)
        calls.responseHeadBytes.addSaturated(bytes.responseHead)
        calls.responseBodyBytes.addSaturated(bytes.responseBody)
        let sum = HTTPDNSTrafficMonitor.Traffic(hop, isFailed: isFailed)
        traffic.add(sum)
        hosts[HopTarget(hop.url, nil).host, default: .init()].add(sum)
        routes[hop.route, default: .init()].add(sum)
    }
}

extension HTTPDNSTrafficMonitor.Traffic {
    /// The bytes of requests, heads and bodies.
    var bytesUp: Int64 { requestHeadBytes.addingSaturated(requestBodyBytes) }
    /// The bytes of responses, heads and bodies.
    var bytesDown: Int64 { responseHeadBytes.addingSaturated(responseBodyBytes) }
    /// The bytes of requests and responses.
    var bytes: Int64 { bytesUp.addingSaturated(bytesDown) }
}
