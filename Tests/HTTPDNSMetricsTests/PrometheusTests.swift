// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

#if Metrics && LocalProvider && YAML
import Foundation
import HTTPDNS
import HTTPDNSResponseCache
import HTTPDNSTesting
import PrometheusExample
import ServerRig
import Testing
import Yams

@Suite(
    "Prometheus beside the example's endpoint",
    .enabled(if: ServerRig.isAvailable([.nginx, .prometheus]))
)
struct PrometheusTests {
    private static let rules = Repository.path("Docs/Prometheus/httpdns.rules.yaml")

    @Test("promtool accepts the alert rules")
    func syntax() async throws {
        let result = try await Command("promtool", ["check", "rules", Self.rules]).run()
        #expect(result.status == 0 && result.output.contains("SUCCESS"), "\(result.output)\(result.error)")
    }

    @Test("The unit tests of the alert rules pass, and fail with another limit")
    func units() async throws {
        let tests = Repository.path("Docs/Prometheus/httpdns.tests.yaml")
        let result = try await Command("promtool", ["test", "rules", tests]).run()
        #expect(result.status == 0, "\(result.output)\(result.error)")
        let folder = try TemporaryFolder()
        try folder.copy(tests, to: "httpdns.tests.yaml")
        try folder.write(
            try String(contentsOfFile: Self.rules, encoding: .utf8).replacing("> 0.05", with: "> 0.5"),
            to: "httpdns.rules.yaml"
        )
        let changed = try await Command("promtool", ["test", "rules", folder.path("httpdns.tests.yaml")]).run()
        #expect(changed.status == 1)
    }

    @Test("A scrape has the exact counts, and each expression returns a series")
    func scrape() async throws {
        let rig = try await ServerRig.shared()
        let traffic = try await Traffic(rig)
        let port = try ServerRig.reservePort()
        let exporting = Task {
            try await serveMetrics(of: traffic.client, port: Int(port), interval: .milliseconds(100))
        }
        let reader = try await HTTPDNSClient()
        let text = "http://127.0.0.1:\(port)/metrics"
        // It is in the first export, which comes after the recorder of calls.
        let first = try await Polling.value {
            await Self.body(of: text, by: reader) ?? ""
        } until: {
            $0.contains("httpdns_endpoints")
        }
        try #require(first.contains("httpdns_endpoints"), "\(first)")
        let expected = Lock(Expected())
        let recording = traffic.client.recordCalls { call in expected.withLock { $0.add(call) } }
        let server = try await PrometheusServer(scraping: port, job: "app", rules: Self.rules)
        let api = PrometheusAPI(client: reader, port: server.port)
        // A rate needs two samples of each series.
        for _ in 0..<2 { try await traffic.run() }

        for query in try Self.queries() {
            let series = try await api.series(query) { !$0.isEmpty }
            #expect(!series.isEmpty, "no series: \(query)")
        }
        let (counters, lookups, sums) = (recording.counters, traffic.client.resolver.counters, expected.withLock { $0 })
        #expect(sums.requests > 30 && sums.requests < counters.hops && sums.retries >= 4, "\(sums) \(counters)")
        let cacheLookups =
            lookups.hits + lookups.staleHits + lookups.negativeHits + lookups.failureHits + lookups.misses
            + lookups.joined
        for (query, value) in [
            ("sum(http_client_request_duration_count)", Double(sums.requests)),
            ("sum(httpdns_call_duration_count)", Double(counters.calls)),
            ("sum(http_client_request_body_size_sum)", Double(counters.requestBodyBytes)),
            ("sum(http_client_response_body_size_sum)", Double(counters.responseBodyBytes)),
            ("sum(httpdns_request_retries_total)", Double(sums.retries)),
            ("sum(httpdns_cache_lookups_total)", Double(cacheLookups)),
        ] {
            let series = try await api.series(query) { $0.first?.value == value }
            #expect(series.map(\.value) == [value], "\(query)")
        }
        let body = try #require(await Self.body(of: text, by: reader))
        let check = try await Command("promtool", ["check", "metrics"], input: body).run()
        #expect(check.status == 0 && check.output.isEmpty && check.error.isEmpty, "\(check.output)\(check.error)")
        let alerts = try Self.alerts().count
        func count(_ health: String, in text: String) -> Int { text.ranges(of: "\"health\":\"\(health)\"").count }
        let rules = try await Polling.value {
            try await api.get("rules")
        } until: {
            count("ok", in: $0) == alerts
        }
        #expect(count("ok", in: rules) == alerts, "\(rules)")
        let targets = try await Polling.value {
            try await api.get("targets")
        } until: {
            count("up", in: $0) == 1
        }
        #expect(count("up", in: targets) == 1, "\(targets)")

        exporting.cancel()
        _ = try? await exporting.value
        try await reader.shutdown()
        try await traffic.client.shutdown()
    }

    private static func body(of url: String, by client: HTTPDNSClient) async -> String? {
        let body = try? await client.get(url).body.collect(upTo: .mebibytes(4))
        return body.map { String(decoding: $0, as: UTF8.self) }
    }

    /// The sums of call records.
    private struct Expected {
        var requests = 0
        var retries = 0

        mutating func add(_ call: HTTPDNSClient.CallRecord) {
            requests += call.hops.count { !$0.isAnsweredInProcess }
            retries += call.retries
        }
    }

    // MARK: queries

    private static func alerts() throws -> [String] {
        let root = try Yams.load(yaml: try String(contentsOfFile: rules, encoding: .utf8)) as? [String: Any]
        let groups = try #require(root?["groups"] as? [[String: Any]])
        return groups.flatMap { $0["rules"] as? [[String: Any]] ?? [] }.compactMap { $0["expr"] as? String }
    }

    /// The expressions of all panels, and of the rules without their limits.
    private static func queries() throws -> [String] {
        let data = Data(try Repository.text("Docs/Grafana/httpdns.json").utf8)
        let root = try JSONSerialization.jsonObject(with: data) as? [String: Any]
        let panels = try #require(root?["panels"] as? [[String: Any]])
        let charts = panels.flatMap { $0["targets"] as? [[String: Any]] ?? [] }.compactMap { $0["expr"] as? String }
            .map { $0.replacing("$job", with: "app").replacing("$__rate_interval", with: "1m") }
        let limits = try alerts().map { $0.replacing(/\s*(>|==)\s*[0-9.]+\s*$/, with: "") }
        try #require(charts.count > 30 && limits.count == 12)
        return charts + limits.map { $0.replacing(/\[[0-9]+m\]/, with: "[1m]") }
    }
}

/// Calls of all kinds, so that each metric has a series.
private struct Traffic: Sendable {
    let client: HTTPDNSClient
    private let origin: String
    private let short: RawServer
    private let fields: String

    init(_ rig: ServerRig) async throws {
        short = try RawServer(.readHead, .sendText("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nab"))
        let provider = HTTPDNSScriptedProvider(answerScope: .loopback)
        let (name, port) = (try HTTPDNSName("prometheus.wild.test"), rig.httpPort)
        provider.answer(.answer(.addresses([HTTPDNSAddress(v4: 127, 0, 0, 2)], timeToLive: .seconds(60))), for: name)
        let failure = HTTPDNSProviderError(code: .serverFailure, message: "of a test")
        provider.answer(.failure(failure), for: try HTTPDNSName("broken.wild.test"))
        var configuration = HTTPDNSClient.Configuration()
        configuration.resolver.providers = [provider]
        configuration.resolver.routes = [
            HTTPDNSRoute(try .init("*.wild.test"), .providers(["scripted"], fallback: .off))
        ]
        configuration.resolver.families = .v4
        configuration.resolver.mappings[try HTTPDNSMapping.Key("short.test")] = .addresses(["127.0.0.1:\(short.port)"])
        configuration.retries = .standard
        configuration.random = { 0 }
        configuration.connections.maximumPerHost = 1
        configuration.responseCache = .memory()
        client = try await HTTPDNSClient(configuration: configuration)
        origin = "http://\(name):\(port)"
        fields = "\(origin)/fields?f=Cache-Control:%20max-age=600"
    }

    func run() async throws {
        for target in ["/health", "/status/404", "/redirect/307?to=\(origin)/health", "/once", "/status/503"] {
            await call(HTTPDNSClient.Request(url: origin + target))
        }
        await call(HTTPDNSClient.Request(method: .post, url: "\(origin)/upload", body: .text("abc")))
        await call(HTTPDNSClient.Request(url: fields))
        await call(HTTPDNSClient.Request(url: fields))
        for name in ["nobody", "broken"] { await call(HTTPDNSClient.Request(url: "http://\(name).wild.test/")) }
        await call(HTTPDNSClient.Request(url: "http://short.test/"))
        try await concurrently(4) { _ in await call(HTTPDNSClient.Request(url: "\(origin)/stall/0.02")) }
    }

    private func call(_ request: HTTPDNSClient.Request) async {
        _ = try? await client.execute(request).body.collect(upTo: .mebibytes(1))
    }
}

/// The query API of a Prometheus.
private struct PrometheusAPI {
    let client: HTTPDNSClient
    let port: UInt16

    struct Series {
        let labels: [String: String]
        let value: Double
    }

    func get(_ path: String) async throws -> String {
        let response = try await client.get("http://127.0.0.1:\(port)/api/v1/\(path)")
        return String(decoding: try await response.body.collect(upTo: .mebibytes(4)), as: UTF8.self)
    }

    /// Returns the series of an expression, once they are as expected, or those after 20 seconds.
    func series(_ query: String, until isExpected: ([Series]) -> Bool) async throws -> [Series] {
        let text = try #require(query.addingPercentEncoding(withAllowedCharacters: .alphanumerics))
        return try await Polling.value {
            let answer = try JSONSerialization.jsonObject(with: Data(try await get("query?query=\(text)").utf8))
            let body = try #require(answer as? [String: Any])
            try #require(body["status"] as? String == "success", "\(query): \(body)")
            let result = (body["data"] as? [String: Any])?["result"] as? [[String: Any]] ?? []
            return result.map { sample in
                let value = (sample["value"] as? [Any])?.last as? String
                return Series(
                    labels: sample["metric"] as? [String: String] ?? [:],
                    value: value.flatMap(Double.init) ?? .nan
                )
            }
        } until: {
            isExpected($0)
        }
    }
}

/// Repeated questions to a server that reports no events.
private enum Polling {
    /// Returns a value, once it is as expected, or the one after two minutes.
    static func value<Value>(
        _ value: () async throws -> Value,
        until isExpected: (Value) -> Bool
    ) async throws -> Value {
        let end = ContinuousClock.now + .seconds(120)
        while true {
            let present = try await value()
            if isExpected(present) || ContinuousClock.now >= end { return present }
            try await Task.sleep(for: .milliseconds(100))
        }
    }
}
#endif
