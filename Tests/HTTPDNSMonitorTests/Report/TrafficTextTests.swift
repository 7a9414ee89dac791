// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

import HTTPDNS
import Testing

@testable import HTTPDNSMonitor

struct TrafficTextTests {
    private typealias Record = HTTPDNSTrafficMonitor.Record

    private static func text(width: Int = .max, isColored: Bool = false, isUnicode: Bool = false) -> TrafficText {
        TrafficText(.init(width: width, isColored: isColored, isUnicode: isUnicode))
    }

    @Test("A call has a bar for each hop, and the story of its address")
    func waterfall() {
        #expect(
            Self.text().waterfall([.sample()]) == """
                GET https://one.test/a?b=c -> 200, 60 ms, 5 B
                hop 1     rrrrrr...ecttwwwwwwwwwwwwwbbbbbbbbbbb 40 ms  200
                       Provider "city-dns" named the address of one.test (queried 12 s earlier, 41 s left to live).
                       Candidates in order: 203.0.113.6:443, 203.0.113.7:443.
                       203.0.113.6:443 failed after 1 ms in the phase connect: Connection refused.
                       203.0.113.7:443 answered over HTTP/2 with TLSv1.3 (TLS_AES_128_GCM_SHA256) on a new connection.
                       r resolve  . blocked  e earlier attempts  c connect  t TLS  w first byte  b receive

                """
        )
        let blocks = Self.text(isUnicode: true).waterfall([.sample()])
        #expect(blocks.contains("hop 1     ░░░░░░···╌▒▓▓█████████████▄▄▄▄▄▄▄▄▄▄▄ 40 ms  200\n"))
        #expect(Self.text().waterfall([]) == "")
    }

    @Test("The sums, percentiles, traffic and errors are in tables")
    func summary() {
        #expect(
            Self.text().summary([.sample(), .failed()]) == """
                2 calls, 2 hops, 1 failed, 0 canceled, 0 with status 4xx or 5xx, sent 200 B, received 110 B
                durations of calls: p50 60 ms, p90 60 ms, p99 60 ms, max 60 ms
                50 ms to 100 ms  ######################################## 2
                time to the head by host  responses    p50    p90    p99    max
                one.test                          1  40 ms  40 ms  40 ms  40 ms
                time to the head by route  responses    p50    p90    p99    max
                *.test                             1  40 ms  40 ms  40 ms  40 ms
                traffic by host  requests  errors  failed     up  down
                gone.test               1       0       1  100 B  55 B
                one.test                1       0       0  100 B  55 B
                1 x connect-failed in the phase connect at gone.test: refused

                """
        )
    }

    @Test("The text of a report has the sums and the newest calls")
    func report() {
        let records = (1...3).map { number in
            Record.sample([.sample { $0.url = "https://one.test/\(number)" }]) { $0.startTime += Int64(number) }
        }
        let text = Monitor.Report(records.reversed(), maximumCalls: 2).text()
        #expect(text.hasPrefix("3 calls, 3 hops, 0 failed") && text.contains("█ 3\n"))
        let calls = text.split(separator: "\n").filter { $0.hasPrefix("GET ") }.map { String($0.prefix(22)) }
        #expect(calls == ["GET https://one.test/2", "GET https://one.test/3"])
    }

    @Test("Lines fold at the width, and only ASCII is printed without UTF-8", arguments: [40, 60, 100])
    func narrow(width: Int) {
        let record = Record.sample([.sample { $0.url = "https://one.test/" + String(repeating: "a", count: 200) }])
        let text = Self.text(width: width).waterfall([record, .failed()])
        let lines = text.split(separator: "\n")
        // The key of the marks is one line.
        #expect(lines.dropLast().allSatisfy { $0.count <= width }, "\(text)")
        #expect(text.utf8.allSatisfy { $0 == 0x0a || (0x20...0x7e).contains($0) })
        #expect(lines.joined().filter { $0 == "a" }.count > 200)
    }

    @Test("Colors are printed only when asked, and control codes of values never")
    func controls() {
        var record = Record.sample()
        record.url = "https://one.test/\u{1b}[2J\u{9b}1m\u{202e}\n"
        record.hops[0].addresses.attempts[0].failure = "\u{1b}]0;title\u{7}"
        record.failure = Monitor.Failure(code: "lost\u{1b}[32m", phase: "body\u{1b}[33m", message: "\u{1b}[31m")
        (record.status, record.outcome) = (nil, "fai\u{1b}[34mled")
        let plain = Self.text().waterfall([record]) + Self.text().summary([record, .failed(message: "\u{1b}c")])
        #expect(!plain.unicodeScalars.contains { $0 != "\n" && $0.properties.generalCategory == .control })
        #expect(plain.contains("\\u{1b}[2J") && plain.contains("\\u{202e}"))
        let colored = Self.text(isColored: true).waterfall([record])
        let codes = colored.matches(of: /\u{1b}\[([0-9]+)m/).map(\.output.1)
        #expect(Set(codes) == ["0", "36", "2", "31", "33", "35", "32", "34"])
        #expect(colored.replacing(/\u{1b}\[[0-9]+m/, with: "") == Self.text().waterfall([record]))
    }
}
