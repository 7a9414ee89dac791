// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

#if Metrics && YAML
import Foundation
import Testing

/// A schema of JSON values.
indirect enum JSONSchema: Sendable {
    case text(oneOf: Set<String>? = nil, matching: String? = nil)
    case integer(ClosedRange<Int>)
    case number, boolean, null
    case list(JSONSchema)
    /// No other members are permitted.
    case object(required: [String: JSONSchema], optional: [String: JSONSchema] = [:])
    case either([JSONSchema])

    /// Returns a line for each value that breaks the schema.
    func violations(in value: Any, at path: String = "$") -> [String] {
        switch (self, value) {
        case (.text(let choices, let pattern), let text as String):
            if let choices, !choices.contains(text) { return ["\(path): \(text)"] }
            let isMatch = pattern.map { text.range(of: "^(\($0))$", options: .regularExpression) != nil } ?? true
            return isMatch ? [] : ["\(path): \(text)"]
        case (.boolean, let number as NSNumber): return JSONSchema.isBoolean(number) ? [] : ["\(path): not a Boolean"]
        case (.integer(let range), let number as NSNumber):
            let isMatch = !JSONSchema.isBoolean(number) && number.doubleValue == Double(number.intValue)
            return isMatch && range.contains(number.intValue) ? [] : ["\(path): \(number)"]
        case (.number, let number as NSNumber): return JSONSchema.isBoolean(number) ? ["\(path): not a number"] : []
        case (.null, is NSNull): return []
        case (.list(let element), let list as [Any]):
            return list.enumerated().flatMap { element.violations(in: $1, at: "\(path)[\($0)]") }
        case (.object(let required, let optional), let members as [String: Any]):
            let missing = required.keys.filter { members[$0] == nil }.map { "\(path).\($0): missing" }
            return missing
                + members.flatMap { name, member in
                    (required[name] ?? optional[name])?.violations(in: member, at: "\(path).\(name)")
                        ?? ["\(path).\(name): unknown"]
                }
        case (.either(let choices), _):
            let all = choices.map { $0.violations(in: value, at: path) }
            return all.contains { $0.isEmpty } ? [] : all[0]
        default: return ["\(path): of another type"]
        }
    }

    private static func isBoolean(_ number: NSNumber) -> Bool { String(cString: number.objCType) == "c" }
}

/// The classic dashboard model of Grafana, as far as dashboards of this repository use it: the page "Dashboard JSON model" of
/// its documentation, and those of the panels `stat` and `timeseries` and of the Prometheus query editor.
enum DashboardModel {
    private static let text = JSONSchema.text()
    private static let source = JSONSchema.object(required: ["type": .text(oneOf: ["prometheus"]), "uid": text])
    private static let anything = JSONSchema.object(required: [:])

    static let dashboard = JSONSchema.object(
        required: [
            "title": text, "uid": .text(matching: "[A-Za-z0-9_-]{8,40}"), "panels": .list(panel),
            "schemaVersion": .integer(16...100), "time": .object(required: ["from": time, "to": time]),
            "templating": .object(required: ["list": .list(variable)]),
        ],
        optional: [
            "id": .either([.null, .integer(1...Int.max)]), "description": text, "tags": .list(text),
            "timezone": .text(matching: "|browser|utc|[A-Z][A-Za-z_]+/[A-Za-z_/]+"), "editable": .boolean,
            "graphTooltip": .integer(0...2), "version": .integer(0...Int.max),
            "refresh": .text(matching: "|[0-9]+[smhd]"),
            "annotations": .object(required: ["list": .list(anything)]), "links": .list(anything),
        ]
    )

    private static let time = JSONSchema.text(matching: "now(-[0-9]+[smhdwMy])?(/[smhdwMy])?")

    private static let variable = JSONSchema.object(
        required: ["name": .text(matching: "[A-Za-z0-9_]+"), "type": .text(oneOf: ["query", "datasource"])],
        optional: [
            "label": text, "datasource": source, "definition": text, "current": .either([anything, chosen]),
            "query": .either([text, .object(required: ["query": text, "refId": text])]), "hide": .integer(0...2),
            "refresh": .integer(0...2), "includeAll": .boolean, "multi": .boolean, "allValue": text, "regex": text,
            "sort": .integer(0...6),
        ]
    )
    private static let chosen = JSONSchema.object(required: ["text": text, "value": text])

    private static let panel = JSONSchema.object(
        required: [
            "id": .integer(1...10_000), "type": .text(oneOf: ["stat", "timeseries"]), "title": text,
            "datasource": source, "targets": .list(target),
            // The grid has 24 columns.
            "gridPos": .object(
                required: [
                    "h": .integer(1...100), "w": .integer(1...24), "x": .integer(0...23), "y": .integer(0...10_000),
                ]
            ),
            "fieldConfig": .object(required: ["defaults": defaults, "overrides": .list(anything)]),
        ],
        optional: ["description": text, "options": options]
    )
    /// The units in use, of the list of `@grafana/data`.
    private static let defaults = JSONSchema.object(
        required: ["unit": .text(oneOf: ["none", "s", "reqps", "percentunit", "bytes", "Bps"])],
        optional: ["min": .number, "max": .number, "decimals": .integer(0...20)]
    )
    private static let options = JSONSchema.object(
        required: [:],
        optional: [
            "reduceOptions": .object(required: ["calcs": .list(.text(oneOf: ["lastNotNull", "last", "mean", "max"]))]),
            "legend": .object(
                required: [
                    "displayMode": .text(oneOf: ["list", "table", "hidden"]),
                    "placement": .text(oneOf: ["bottom", "right"]), "showLegend": .boolean,
                ]
            ),
            "tooltip": .object(
                required: [
                    "mode": .text(oneOf: ["single", "multi", "none"]), "sort": .text(oneOf: ["none", "asc", "desc"]),
                ]
            ),
        ]
    )
    private static let target = JSONSchema.object(
        required: ["refId": .text(matching: "[A-Z]"), "expr": text],
        optional: [
            "datasource": source, "legendFormat": text, "range": .boolean, "instant": .boolean,
            "editorMode": .text(oneOf: ["code", "builder"]),
        ]
    )
}

struct DashboardModelTests {
    private static func dashboard() throws -> Any {
        try JSONSerialization.jsonObject(with: Data(try Document("Docs/Grafana/httpdns.json").text.utf8))
    }

    @Test("The dashboard follows the classic dashboard model of Grafana")
    func valid() throws {
        #expect(DashboardModel.dashboard.violations(in: try Self.dashboard()) == [])
    }

    @Test("A missing, unknown or wrong member of the dashboard is found")
    func refused() throws {
        let text = try Document("Docs/Grafana/httpdns.json").text
        for (old, new) in [
            ("\"uid\": \"swift-httpdns\"", "\"uid\": \"short\""), ("\"gridPos\"", "\"position\""),
            ("\"w\": 12", "\"w\": 25"),
            ("\"editable\": true", "\"editable\": 1"), ("\"stat\"", "\"statistics\""), ("\"expr\"", "\"query\""),
            ("\"now-1h\"", "\"an hour ago\""), ("\"min\": 0", "\"min\": \"0\""), ("\"reqps\"", "\"req/s\""),
        ] {
            let changed = text.replacing(old, with: new, maxReplacements: 1)
            let value = try JSONSerialization.jsonObject(with: Data(changed.utf8))
            #expect(changed != text && !DashboardModel.dashboard.violations(in: value).isEmpty, "\(new)")
        }
    }

    @Test("Panels do not overlap, and each query of a panel has its own letter")
    func layout() throws {
        let panels = try #require((try Self.dashboard() as? [String: Any])?["panels"] as? [[String: Any]])
        var cells: Set<String> = []
        for panel in panels {
            let place = try #require(panel["gridPos"] as? [String: Int])
            for x in 0..<(place["w"] ?? 0) {
                for y in 0..<(place["h"] ?? 0) {
                    #expect(cells.insert("\(x + (place["x"] ?? 0)),\(y + (place["y"] ?? 0))").inserted)
                }
            }
            let letters = (panel["targets"] as? [[String: Any]] ?? []).compactMap { $0["refId"] as? String }
            #expect(!letters.isEmpty && Set(letters).count == letters.count)
        }
    }
}
#endif
