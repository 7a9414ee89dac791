// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

#if CommandLine
import Foundation
import HTTPDNS
import HTTPDNSMonitor
import Testing

@testable import resolve_test

struct MonitorReportTests {
    typealias Record = HTTPDNSTrafficMonitor.Record

    /// A call over TLS that failed on one address, and was answered by the next one, as a monitor writes it.
    private static let text = """
        {"callID":17,"startTime":1700000000000,"method":"GET","url":"https://img.shop.example/a.jpg",
        "outcome":"finished","status":200,"duration":61.9,"timeToHead":58.8,"redirects":0,"retries":1,"bodyBytes":48210,
        "isBodyComplete":true,"hops":[{"number":0,"offset":0,"duration":58.8,"method":"GET",
        "url":"https://img.shop.example/a.jpg","route":"*.shop.example","requestFields":[],"isAnsweredInProcess":false,
        "status":200,"reason":"OK","responseFields":[{"name":"Content-Type","value":"image/jpeg"}],"version":"HTTP/2",
        "tls":{"version":"TLSv1.3","cipherSuite":"TLS_AES_256_GCM_SHA384"},
        "addresses":{"source":"provider","provider":"backup","age":3000,"timeLeft":41000,"isStale":false,
        "candidates":["198.51.100.9:443","198.51.100.4:443"],
        "attempts":[{"endpoint":"198.51.100.9:443","phase":"connect","failure":"Connection refused","elapsed":0.3}],
        "endpoint":"198.51.100.4:443"},"reusedConnection":false,"isHedged":false,
        "phases":{"resolve":8.1,"race":0.3,"connect":11.2,"tls":21,"firstByte":9.4,"total":45},
        "bytes":{"requestHead":210,"requestBody":0,"responseHead":180,"responseBody":48210,"decodedBody":48210}}]}
        """

    private static func record(_ text: String = text) throws -> Record {
        try JSONDecoder().decode(Record.self, from: Data(text.utf8))
    }

    private static let clock = ClockText { _ in "14:02:11" }

    @Test("The text of monitor is that of its files")
    func golden() throws {
        let record = try Self.record()
        try Golden.check("monitor") { MonitorReport.list([record], $0, clock: Self.clock) }
        try Golden.check("monitor-id") { MonitorReport.detail(record, $0, clock: Self.clock) }
    }

    @Test("A call has a line")
    func list() throws {
        #expect(
            MonitorReport.list([try Self.record()], .plain, clock: Self.clock) == """
                14:02:11  #17  GET  200  61.9 ms  1 hop  provider backup 198.51.100.4:443  https://img.shop.example/a.jpg

                """
        )
        let narrow = MonitorReport.list([try Self.record()], Screen(width: 40, style: .plain), clock: Self.clock)
        #expect(narrow == "14:02:11  #17  GET  200  61.9 ms  1 hop \n")
    }

    @Test("A text of a server or a service moves no cursor")
    func hostile() throws {
        let evil = "\\u001b[2J\\u009b"
        let text = Self.text.replacing("a.jpg", with: evil).replacing(
            "Connection refused",
            with: evil
        ).replacing("\"GET\"", with: "\"\(evil)\"").replacing("backup", with: evil).replacing("HTTP/2", with: evil)
            .replacing("198.51.100.4", with: evil).replacing("TLSv1.3", with: evil).replacing("*.shop", with: evil)
            .replacing("\"status\":200,", with: "")
            .replacing("\"outcome\":\"finished\"", with: "\"outcome\":\"\(evil)\"")
        let record = try Self.record(text)
        let outputs = [
            MonitorReport.list([record], .plain, clock: Self.clock), try MonitorReport.json([record]),
            MonitorReport.detail(record, .plain, clock: Self.clock),
        ]
        for output in outputs {
            #expect(output.contains("[2J"))
            #expect(
                !output.unicodeScalars.contains { $0.value < 0x20 && $0 != "\n" || (0x7f..<0xa0).contains($0.value) }
            )
        }
    }
}
#endif
