// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

#if Metrics
import HTTPDNS
import ServerRig
import Testing

@Suite(
    "Metrics of requests beside nginx's log",
    .enabled(if: ServerRig.isAvailable([.nginx]))
)
struct RequestMetricsOverTheWireTests {
    @Test("The counts and bytes of 500 requests are those of nginx's log")
    func sums() async throws {
        let rig = try await ServerRig.shared()
        let host = "metrics-sums.wild.test"
        let measured = try await MeasuredClient([host: "127.0.0.2"])
        let recording = measured.client.recordCalls { _ in }
        let mark = rig.accessLogMark()
        let origin = "http://\(host):\(rig.httpPort)"
        let targets = ["/health", "/empty", "/status/404", "/status/503", "/redirect/307?to=\(origin)/health"]
        try await concurrently(4) { caller in
            for number in 0..<100 { await measured.get(origin + targets[(number + caller) % targets.count]) }
        }
        for number in 1...20 {
            let body = HTTPDNSClient.Request.Body.bytes(Array(repeating: 7, count: number * 100))
            await measured.call(HTTPDNSClient.Request(method: .post, url: "\(origin)/upload", body: body))
        }
        let count = 400 + 80 + 20
        let lines = try await rig.awaitAccessLog(since: mark, count: count) { $0.host.hasPrefix(host) }
        #expect(lines.count == count)
        var expected: [String: Int] = [:]
        for line in lines {
            expected[
                "\(line.method) none \(line.status) 1.1" + (line.status >= 400 ? " \(line.status)" : ""),
                default: 0
            ] += 1
        }
        #expect(measured.counts("http.client.request.duration") == expected)
        #expect(expected.count == 6 && recording.counters.hops == count)
        let sent = measured.sizes("http.client.request.body.size").values.joined().reduce(0, +)
        let received = measured.sizes("http.client.response.body.size").values.joined().reduce(0, +)
        #expect(sent == Double(recording.counters.requestBodyBytes) && sent == 21_000)
        #expect(received == Double(recording.counters.responseBodyBytes))
        // nginx counts the framing of chunks, which libcurl does not.
        let fixed = lines.filter { $0.target == "/health" }
        #expect(received >= Double(fixed.reduce(0) { $0 + $1.bodySent }))
        #expect(measured.counts("httpdns.call.duration") == ["finished": 420])
        #expect(measured.count("httpdns.request.redirects") == 80)
        try await measured.end()
    }
}
#endif
