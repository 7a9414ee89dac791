// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

#if Metrics
import Foundation
import HTTPDNSMetrics
import ServerRig
import Testing

/// Compares with the list that `Scripts/otel-names` has extracted from a package of PyPI.
struct ConventionTests {
    private struct Conventions: Decodable {
        struct Metric: Decodable {
            let instrument: String
            let unit: String
        }
        let metrics: [String: Metric]
        let attributes: Set<String>
    }

    private static func conventions() throws -> Conventions {
        try JSONDecoder().decode(Conventions.self, from: Data(try Repository.text("Scripts/otel-names.json").utf8))
    }

    @Test("Names of metrics and attributes have our prefix, or are of the conventions")
    func names() throws {
        let conventions = try Self.conventions()
        try #require(conventions.metrics.count > 100 && conventions.attributes.count > 100)
        var shared: Set<String> = []
        for name in MetricName.allCases {
            for dimension in name.dimensions where !dimension.hasPrefix("httpdns.") {
                #expect(conventions.attributes.contains(dimension), "\(dimension) of \(name.rawValue)")
            }
            guard !name.rawValue.hasPrefix("httpdns.") else { continue }
            let metric = try #require(conventions.metrics[name.rawValue], "\(name.rawValue)")
            shared.insert(name.rawValue)
            // swift-metrics has no units: a timer is in seconds, and a recorder of ours in bytes.
            let kinds: [MetricName.Kind: [String]] = [
                .timer: ["histogram s"], .recorder: ["histogram By"],
                .meter: ["updowncounter {request}", "updowncounter {connection}"],
            ]
            #expect(kinds[name.kind]?.contains("\(metric.instrument) \(metric.unit)") == true, "\(name.rawValue)")
        }
        // The conventions for HTTP clients and DNS have no others.
        let all = conventions.metrics.keys.filter { $0.hasPrefix("http.client.") || $0.hasPrefix("dns.") }
        #expect(shared == Set(all))
    }

    @Test("A deprecated or invented name is none of the conventions")
    func control() throws {
        let conventions = try Self.conventions()
        #expect(!conventions.attributes.contains("http.method") && !conventions.attributes.contains("httpdns.route"))
        #expect(conventions.metrics["http.client.duration"] == nil)
    }
}
#endif
