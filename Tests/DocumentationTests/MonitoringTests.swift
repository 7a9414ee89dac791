// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

#if Metrics && YAML
import Foundation
import HTTPDNSMetrics
import Testing
import Yams

/// Keeps dashboard and alert rules true: every metric and dimension in them is one that the library exports.
struct MonitoringTests {
    private static let rulesPath = "Docs/Prometheus/httpdns.rules.yaml"
    private static let dashboardPath = "Docs/Grafana/httpdns.json"

    /// A query of one of both.
    struct Query: CustomTestStringConvertible, Sendable {
        var place: String
        var text: String
        var testDescription: String { place }
    }

    private static func alertRules() throws -> [[String: Any]] {
        let root = try Yams.load(yaml: try Document(rulesPath).text) as? [String: Any]
        let groups = try #require(root?["groups"] as? [[String: Any]])
        return groups.flatMap { $0["rules"] as? [[String: Any]] ?? [] }
    }

    private static func chartPanels() throws -> [[String: Any]] {
        let data = Data(try Document(dashboardPath).text.utf8)
        let root = try JSONSerialization.jsonObject(with: data) as? [String: Any]
        return try #require(root?["panels"] as? [[String: Any]])
    }

    static let queries: [Query] = {
        let rules = (try? MonitoringTests.alertRules()) ?? []
        let alerts = rules.map { Query(place: $0["alert"] as? String ?? "?", text: $0["expr"] as? String ?? "") }
        let charts = ((try? MonitoringTests.chartPanels()) ?? []).flatMap { panel in
            (panel["targets"] as? [[String: Any]] ?? []).map { target in
                Query(place: panel["title"] as? String ?? "?", text: target["expr"] as? String ?? "")
            }
        }
        return alerts + charts
    }()

    /// As exporters for Prometheus write it.
    private static func underscored(_ name: String) -> String { name.replacing(".", with: "_") }

    /// What they add to it.
    private static func suffixes(of kind: MetricName.Kind) -> [String] {
        switch kind {
        case .counter, .floatingPointCounter: ["_total"]
        case .meter: [""]
        case .recorder, .timer: ["_bucket", "_sum", "_count"]
        }
    }

    /// The metric that a word of a query is a series of.
    private static func metric(_ word: String) -> MetricName? {
        MetricName.allCases.first { name in
            suffixes(of: name.kind).contains { underscored(name.rawValue) + $0 == word }
        }
    }

    @Test("The dashboard and the alert rules have queries")
    func control() throws {
        #expect(try Self.alertRules().count >= 6)
        #expect(try Self.chartPanels().count >= 10)
        #expect(try Self.queries.count > Self.alertRules().count)
        #expect(Self.metric("httpdns_no_such_thing") == nil)
    }

    @Test("Each metric is exported with the dimensions that its queries use", arguments: queries)
    func names(_ query: Query) throws {
        let words = query.text.matches(of: /[a-zA-Z_][a-zA-Z0-9_]*/).map { String($0.output) }
        let metrics = words.compactMap(Self.metric)
        #expect(!metrics.isEmpty, "no metric in \(query.text)")
        let dimensions = Set(metrics.flatMap(\.dimensions).map(Self.underscored))
        let prefixes = ["httpdns_", "http_", "dns_", "network_", "server_", "error_"]
        for word in words where prefixes.contains(where: { word.hasPrefix($0) }) {
            #expect(Self.metric(word) != nil || dimensions.contains(word), "\(word) in \(query.text)")
        }
    }

    @Test("A counter appears as a rate only, and a meter never as a rate", arguments: queries)
    func rates(_ query: Query) {
        for match in query.text.matches(of: /(rate\()?\b((?:httpdns|http_client|dns)_[a-z_]+)\b(?=\{|\[|\))/) {
            guard let metric = Self.metric(String(match.output.2)) else { continue }
            #expect((match.output.1 != nil) == (metric.kind != .meter), "\(match.output.0) in \(query.text)")
        }
    }

    @Test("Brackets are balanced, and a division has a ratio's bound or a panel", arguments: queries)
    func syntax(_ query: Query) {
        var open: [Character] = []
        var isQuoted = false
        for character in query.text {
            if character == "\"" { isQuoted.toggle() }
            guard !isQuoted else { continue }
            switch character {
            case "(", "{", "[": open.append(character)
            case ")": #expect(open.popLast() == "(")
            case "}": #expect(open.popLast() == "{")
            case "]": #expect(open.popLast() == "[")
            default: break
            }
        }
        #expect(open.isEmpty && !isQuoted, "\(query.text)")
    }

    /// The sections below "Alerts" in the runbook, as their links name them.
    private static func sections() throws -> [String: [Substring]] {
        let lines = try Document("Docs/Operations/README.md").text.split(separator: "\n")
        let alerts = lines.drop { $0 != "## Alerts" }.dropFirst().prefix { !$0.hasPrefix("## ") }
        var sections: [String: [Substring]] = [:]
        var name = ""
        for line in alerts {
            if line.hasPrefix("### ") { name = line.dropFirst(4).lowercased().replacing(" ", with: "-") }
            sections[name, default: []].append(line)
        }
        return sections
    }

    @Test("Each alert has a severity, a summary, and its action in the runbook")
    func alerts() throws {
        let sections = try Self.sections()
        var runbooks: Set<String> = [""]
        var names: Set<String> = []
        for rule in try Self.alertRules() {
            let name = try #require(rule["alert"] as? String)
            #expect(names.insert(name).inserted)
            #expect(
                ["info", "warning", "critical"].contains((rule["labels"] as? [String: Any])?["severity"] as? String)
            )
            let annotations = try #require(rule["annotations"] as? [String: Any])
            #expect((annotations["summary"] as? String)?.isEmpty == false)
            let runbook = try #require(annotations["runbook"] as? String)
            let section = String(runbook.split(separator: "#").last ?? "")
            for part in ["*Means*: ", "*First look*: ", "*Do*: ", "*Do not* "] {
                #expect(sections[section]?.contains { $0.hasPrefix(part) } == true, "\(runbook) has no \(part)")
            }
            runbooks.insert(section)
            #expect((rule["for"] as? String)?.wholeMatch(of: /[0-9]+[smh]/) != nil)
        }
        #expect(Set(sections.keys) == runbooks)
    }

    @Test("Each alert has a unit test in which it fires, and one in which none does")
    func unitTests() throws {
        let root = try Yams.load(yaml: try Document("Docs/Prometheus/httpdns.tests.yaml").text) as? [String: Any]
        let tests = try #require(root?["tests"] as? [[String: Any]])
        let checks = tests.flatMap { $0["promql_expr_test"] as? [[String: Any]] ?? [] }
        #expect(checks.allSatisfy { $0["expr"] as? String == "ALERTS{alertstate=\"firing\"}" })
        let fired = checks.flatMap {
            ($0["exp_samples"] as? [[String: Any]] ?? []).compactMap { $0["labels"] as? String }
        }
        let quiet = try #require(tests.first { $0["name"] as? String == "No alert below the limits" })
        let series = (quiet["input_series"] as? [[String: Any]] ?? []).compactMap { $0["series"] as? String }
        for rule in try Self.alertRules() {
            let name = try #require(rule["alert"] as? String)
            #expect(fired.count { $0.contains("alertname=\"\(name)\"") } == 1, "\(name)")
            let words = (rule["expr"] as? String ?? "").matches(of: /[a-z_]+/).map { String($0.output) }
            let metrics = Set(words.filter { Self.metric($0) != nil })
            #expect(!metrics.isEmpty && metrics.allSatisfy { metric in series.contains { $0.hasPrefix(metric + "{") } })
        }
        #expect(
            (quiet["promql_expr_test"] as? [[String: Any]] ?? []).allSatisfy {
                ($0["exp_samples"] as? [Any])?.isEmpty == true
            }
        )
    }

    @Test("The dashboard's panels do not overlap, and have descriptions")
    func panels() throws {
        var ids: Set<Int> = []
        for panel in try Self.chartPanels() {
            #expect(ids.insert(try #require(panel["id"] as? Int)).inserted)
            #expect((panel["description"] as? String)?.isEmpty == false)
            let place = try #require(panel["gridPos"] as? [String: Int])
            #expect((place["x"] ?? 24) + (place["w"] ?? 24) <= 24)
        }
    }
}
#endif
