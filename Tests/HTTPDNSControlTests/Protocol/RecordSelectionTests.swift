// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

import Foundation
import HTTPDNS
import HTTPDNSControl
import HTTPDNSMonitor
import Testing

struct RecordSelectionTests {
    typealias Record = HTTPDNSTrafficMonitor.Record

    /// Returns a record, as a monitor writes it.
    private func record(
        _ callID: UInt64,
        _ url: String = "https://one.test/",
        status: Int? = 200,
        outcome: String = "finished",
        milliseconds: Int = 10
    ) throws -> Record {
        let text = """
            {"callID":\(callID),"startTime":0,"method":"GET","url":"\(url)","outcome":"\(outcome)",
            \(status.map { "\"status\":\($0)," } ?? "")"duration":\(milliseconds),"redirects":0,"retries":0,
            "bodyBytes":0,"isBodyComplete":true,"hops":[]}
            """
        return try JSONDecoder().decode(Record.self, from: Data(text.utf8))
    }

    private func calls(_ records: [Record], _ change: (inout RecordSelection) throws -> Void) rethrows -> [UInt64] {
        var selection = RecordSelection()
        try change(&selection)
        return selection.result(among: records).calls.map(\.callID)
    }

    @Test("Each condition selects its calls, and all of them must hold")
    func conditions() throws {
        let records = [
            try record(1), try record(2, "https://img.shop.test/a", status: 404),
            try record(3, status: 503, milliseconds: 101), try record(4, status: nil, outcome: "failed"),
            try record(5, status: nil, outcome: "canceled"), try record(6, "http://[::1]/", milliseconds: 100),
        ]
        #expect(calls(records) { _ in } == [1, 2, 3, 4, 5, 6])
        #expect(calls(records) { $0.statuses = .init("404") } == [2])
        #expect(calls(records) { $0.statuses = .init("5xx") } == [3])
        #expect(calls(records) { $0.isFailed = true } == [4])
        #expect(calls(records) { $0.slowerThan = .milliseconds(100) } == [3])
        #expect(calls(records) { $0.callID = 5 } == [5])
        #expect(try calls(records) { $0.names = [try .init("*.shop.test")] } == [2])
        #expect(
            try calls(records) { $0.names = [try .init("one.test"), try .init("img.shop.test")] } == [1, 2, 3, 4, 5]
        )
        #expect(
            try calls(records) {
                $0.names = [try .init("one.test")]
                $0.statuses = .init("2xx")
            } == [1]
        )
    }

    @Test("A limit keeps the newest calls, in the order of their ends")
    func limit() throws {
        let records = try [7, 3, 9, 4].map { try record($0) }
        #expect(calls(records) { $0.limit = 2 } == [9, 4])
        #expect(calls(records) { $0.limit = 0 } == [])
        let reply = RecordSelection(limit: 2).result(among: records)
        #expect(reply.last == 4 && reply.stored == 4)
    }

    /// The numbers of calls are in the order of their starts, and records in that of their ends.
    @Test("Requests for later records miss none, although a reply has a limit")
    func after() throws {
        let records = try [7, 3, 9, 4, 8].map { try record($0, status: $0 == 9 ? 500 : 200) }
        var selection = RecordSelection(limit: 1)
        (selection.after, selection.statuses) = (7, .init("2xx"))
        var seen: [UInt64] = []
        for _ in 0..<4 {
            let reply = selection.result(among: records)
            seen += reply.calls.map(\.callID)
            selection.after = reply.last
        }
        #expect(seen == [3, 4, 8] && selection.after == 8)
        #expect(selection.result(among: []).last == nil)
        // The record is no longer in memory.
        selection.after = 1
        #expect(selection.result(among: records).calls.map(\.callID) == [7])
    }

    private func record(_ callID: UInt64, body: Int) throws -> Record {
        let text = """
            {"callID":\(callID),"startTime":0,"method":"GET","url":"https://one.test/","outcome":"finished","status":200,
            "duration":1,"redirects":0,"retries":0,"bodyBytes":0,"isBodyComplete":true,"hops":[],
            "responseBody":{"text":"\(String(repeating: "a", count: body))","isTruncated":false}}
            """
        return try JSONDecoder().decode(Record.self, from: Data(text.utf8))
    }

    @Test("Only the record of one call has its bodies")
    func bodies() throws {
        let records = try (1...20).map { try record($0, body: 512 << 10) }
        var selection = RecordSelection()
        let all = selection.result(among: records)
        #expect(all.calls.count == 20 && all.calls.allSatisfy { $0.responseBody == nil } && !all.isTruncated)
        selection.callID = 20
        let one = selection.result(among: records)
        #expect(one.calls == [records[19]] && !one.isTruncated)
        // A body that fits into no reply is left out, and the rest of the record is not.
        let short = selection.result(among: records, within: 512 << 10)
        #expect(short.calls.map(\.callID) == [20] && short.calls[0].responseBody == nil && short.isTruncated)
    }

    @Test("A reply has as many records as fit, and the next request continues behind them")
    func budget() throws {
        let url = "https://one.test/" + String(repeating: "a", count: 1000)
        let long = try record(3, url + String(repeating: "b", count: 10_000))
        let records = [try record(1, url), try record(2, url), long, try record(4, url), try record(5, url)]
        var selection = RecordSelection()
        let newest = selection.result(among: records, within: 2_500)
        #expect(newest.calls.map(\.callID) == [4, 5] && newest.isTruncated && newest.last == 5)
        // The third one fits into no reply.
        selection.after = 0
        let first = selection.result(among: records, within: 2_500)
        #expect(first.calls.map(\.callID) == [1, 2] && first.isTruncated && first.last == 3)
        selection.after = first.last
        let second = selection.result(among: records, within: 2_500)
        #expect(second.calls.map(\.callID) == [4, 5] && !second.isTruncated && second.last == 5)
        // Without a record in memory the requests continue, too.
        selection.after = selection.result(among: []).last ?? 0
        #expect(selection.result(among: [records[0]]).calls.map(\.callID) == [1])
    }

    @Test(
        "A status is a number or a class",
        arguments: ["", "5", "5x", "0xx", "6xx", "99", "600", "-40", "+40", "404 "]
    )
    func statuses(text: String) {
        #expect(RecordSelection.Statuses(text) == nil)
    }
}
