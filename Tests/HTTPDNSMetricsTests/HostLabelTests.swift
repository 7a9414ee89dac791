// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

#if Metrics
import HTTPDNS
import ServerRig
import Testing

@testable import HTTPDNSMetrics

struct HostLabelTests {
    private static let duration = "http.client.request.duration"

    /// Nor an address or a port.
    @Test("Series of requests do not grow with the number of hosts, and none has one")
    func unlabeled() async throws {
        let few = try await Self.series(hosts: 5)
        let many = try await Self.series(hosts: 500)
        #expect(many == few && many.count > 20)
        #expect(!many.contains { $0.contains("host-") || $0.contains("127.0.0.1") })
    }

    private static func series(hosts: Int) async throws -> Set<String> {
        let server = try RawServer(.serve("ok"))
        let measured = try await MeasuredClient(["*.many.test": "127.0.0.1:\(server.port)"])
        for number in 0..<hosts { #expect(await measured.get("http://host-\(number).many.test/")) }
        try await measured.end()
        return measured.series.filter { !$0.hasPrefix("httpdns.events.missed") }
    }

    @Test("Only listed hosts are labeled, with the port of the URL, and all others together")
    func labeled() async throws {
        let server = try RawServer(.serve("ok"))
        let address = "127.0.0.1:\(server.port)"
        let measured = try await MeasuredClient(
            ["listed.test": address, "other.test": address],
            labeling: ["listed.test", "xn--bcher-kva.test"]
        ) { $0.allowsCleartextCredentials = true }
        #expect(await measured.get("http://Listed.test/"))
        #expect(await measured.get("http://user:word@listed.test:8080/a@b?c=d"))
        #expect(await measured.get("http://other.test/"))
        #expect(await !measured.get("https://b\u{fc}cher.test:99/"))
        #expect(
            measured.counts(Self.duration).filter { !$0.key.contains("resolve-failed") } == [
                "GET none 200 1.1 listed.test 80": 1, "GET none 200 1.1 listed.test 8080": 1,
                "GET none 200 1.1 _OTHER": 1,
            ]
        )
        #expect(measured.counts(Self.duration)["GET none resolve-failed xn--bcher-kva.test"] == 1)
        try await measured.end()
    }

    @Test("Beyond the limit, further routes and hosts share one series")
    func limited() {
        let table = HandleTable<String>(limit: 2)
        func value(_ route: String, _ server: String) -> String {
            let values = ["GET", route, "200", "2", nil, server, "443"]
            return table.handle(for: MetricSeries(name: .requestDuration, values: values)) { series in
                series.dimensions.map(\.1).joined(separator: " ")
            }
        }
        #expect(value("a", "one") == "GET a 200 2 one 443")
        #expect(value("b", "one") == "GET b 200 2 one 443")
        #expect(value("c", "two") == "GET _OTHER _OTHER 2 _OTHER")
        #expect(value("d", "three") == "GET _OTHER _OTHER 2 _OTHER")
        #expect(value("a", "one") == "GET a 200 2 one 443")
        // The other metrics have their own limits.
        let lookup = MetricSeries(name: .lookupDuration, values: ["query", "c", "provider", "p", nil])
        #expect(table.handle(for: lookup) { $0.dimensions.map(\.1).joined(separator: " ") } == "query c provider p")
    }

    @Test("Beyond the limit, statuses of servers make no series")
    func foldedStatuses() {
        let table = HandleTable<[String]>(limit: 1)
        var series: Set<[String]> = []
        for status in 99..<600 {
            let values = ["GET", "a", "\(status)", "2", status < 400 ? nil : "\(status)"]
            let one = MetricSeries(name: .requestDuration, values: values)
            series.insert(table.handle(for: one) { $0.dimensions.map(\.1) })
        }
        #expect(
            series == [
                ["GET", "a", "99", "2"], ["GET", "_OTHER", "_OTHER", "2"], ["GET", "_OTHER", "_OTHER", "2", "4xx"],
                ["GET", "_OTHER", "_OTHER", "2", "5xx"],
            ]
        )
        let failed = MetricSeries(name: .requestDuration, values: ["GET", "b", nil, nil, "timed-out"])
        #expect(table.handle(for: failed) { $0.dimensions.map(\.1) } == ["GET", "_OTHER", "timed-out"])
    }
}
#endif
