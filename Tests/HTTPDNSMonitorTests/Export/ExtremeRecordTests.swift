// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

import Foundation
import HTTPDNS
import Testing

@testable import HTTPDNSMonitor

/// Records of files, and those that a program changes, can have any numbers.
struct ExtremeRecordTests {
    private typealias Record = HTTPDNSTrafficMonitor.Record

    enum Extreme: String, CaseIterable, Sendable {
        case latestStart, earliestStart, longOffset, longDurations, manyBytes, fewBytes, numbers

        func apply(_ record: inout HTTPDNSTrafficMonitor.Record) {
            switch self {
            case .latestStart: record.startTime = .max
            case .earliestStart: record.startTime = .min
            case .longOffset:
                record.duration = .nanoseconds(1)
                record.hops[0].offset = .seconds(10 * 365 * 86_400)
            case .longDurations:
                record.duration = .nanoseconds(Int64.max)
                record.hops[0].duration = .nanoseconds(Int64.max)
                record.hops[0].phases.resolve = .nanoseconds(Int64.max)
                record.hops[0].phases.total = .nanoseconds(Int64.max)
                record.hops[0].offset = .nanoseconds(Int64.min)
            case .manyBytes, .fewBytes:
                let number: Int64 = self == .manyBytes ? .max : .min
                record.bodyBytes = number
                record.hops[0].bytes = Monitor.Bytes(
                    requestHead: number,
                    requestBody: number,
                    responseHead: number,
                    responseBody: number,
                    decodedBody: number
                )
            case .numbers:
                (record.redirects, record.retries, record.status) = (.max, .max, .max)
                (record.hops[0].number, record.hops[0].status) = (.max, .min)
            }
        }
    }

    @Test("Every form of a record bears extreme numbers", arguments: Extreme.allCases)
    func forms(extreme: Extreme) async throws {
        let records = [.sample([.sample(), .sample()]) { extreme.apply(&$0) }, Record.sample()]
        var archive: [UInt8] = []
        for await chunk in Monitor.Archive(records) { archive += chunk }
        let object = try #require(try JSONSerialization.jsonObject(with: Data(archive)) as? [String: Any])
        let entries = try #require((object["log"] as? [String: Any])?["entries"] as? [[String: Any]])
        #expect(entries.count == 3)
        for entry in entries {
            let text = try #require(entry["startedDateTime"] as? String)
            #expect(text.wholeMatch(of: /[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9:.]+Z/) != nil, "\(text)")
        }
        var page: [UInt8] = []
        for await chunk in Monitor.Report(records) { page += chunk }
        let markup = try PageMarkup(String(decoding: page, as: UTF8.self))
        #expect(markup.text.contains("3 hops") && markup.tags.filter { $0 == "<details class=\"call\">" }.count == 2)
        #expect(Monitor.Report(records).text().hasPrefix("2 calls, 3 hops"))
        #expect(try RecordJSON.record(try RecordJSON.bytes(records[0])).callID == 7)
    }

    @Test("Sums of bytes stay at the end of their range")
    func sums() {
        let records = (0..<3).map { _ in Record.sample { Extreme.manyBytes.apply(&$0) } }
        let counters = HTTPDNSTrafficMonitor.Counters(of: records)
        #expect(counters.calls.responseBodyBytes == .max && counters.traffic.bytesUp == .max)
        #expect(counters.traffic.bytes == .max && counters.traffic.requests == 3)
    }
}
