// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

import Foundation
import HTTPDNSConfiguration
import ServerRig
import Testing

#if YAML
/// The tables of the reference that come from declared settings: those below `<!-- settings: SECTION -->`.
struct GeneratedTablesTests {
    /// The sections that set values of another form than the properties in code.
    private static let otherForms: Set<String> = ["client.cookies", "client.response_cache", "client.proxy"]

    /// With `HTTPDNS_WRITE_REFERENCE` in the environment, the page is written instead of compared.
    @Test("The tables of the reference are those of the declarations")
    func tables() throws {
        let page = "Docs/Configuration.md"
        let found = try Repository.text(page)
        let lines = found.split(separator: "\n", omittingEmptySubsequences: false).map(String.init)
        let sections = Set(lines.compactMap(section))
        #expect(sections.count > 10)
        var text: [String] = []
        var isInTable = false
        for line in lines {
            isInTable = isInTable && line.hasPrefix("|")
            if isInTable { continue }
            text.append(line)
            guard let section = section(line) else { continue }
            text += table(section, sections)
            isInTable = true
        }
        let generated = text.joined(separator: "\n")
        if ProcessInfo.processInfo.environment["HTTPDNS_WRITE_REFERENCE"] != nil {
            try generated.write(toFile: Repository.path(page), atomically: true, encoding: .utf8)
        } else {
            #expect(found == generated)
        }
    }

    private func section(_ line: String) -> String? {
        guard line.hasPrefix("<!-- settings: "), line.hasSuffix(" -->") else { return nil }
        return String(line.dropFirst("<!-- settings: ".count).dropLast(" -->".count))
    }

    private func table(_ section: String, _ sections: Set<String>) -> [String] {
        if section == "names" { return ["| key | name in code |", "|---|---|"] + names(FileSettings.facts, "") }
        let path = section.split(separator: ".").map(String.init)
        if path[0] == "providers" { return header + rows(providers(path[1]), "", section, sections) }
        let settings = path.enumerated().reduce(FileSettings.facts) { settings, key in
            guard let part = settings.first(where: { $0.key == key.element }) else { return settings }
            return path.dropFirst(key.offset + 1) == ["NAME"] ? part.entries.first?.parts ?? [] : part.parts
        }
        return header + rows(settings, "", section, sections)
    }

    private let header = ["| key | meaning | values | default |", "|---|---|---|---|"]

    /// Returns the settings of kinds of providers that neither `doh` nor the table before them has.
    private func providers(_ kinds: String) -> [SettingFacts] {
        let all = FileSettings.facts.first { $0.key == "providers" }?.entries ?? []
        var found: [SettingFacts] = []
        for kind in ["doh", "json-alidns", "dns", "alibaba-v2", "tencent"] {
            let settings = all.first { $0.name == "a provider of kind \(kind)" }?.parts ?? []
            let new = settings.filter { setting in
                !found.contains { $0.key == setting.key && $0.sentence == setting.sentence }
            }
            found += new
            if kinds.hasSuffix(kind) { return kinds.contains(" ") ? found : new }
        }
        return []
    }

    /// Returns the rows of a section; sections inside it have theirs here, unless they have a table of their own.
    /// - Parameter group: The section that the settings are required in; nil where the section itself is.
    private func rows(
        _ settings: [SettingFacts],
        _ prefix: String,
        _ path: String,
        _ sections: Set<String>,
        group: String? = nil
    ) -> [String] {
        settings.flatMap { setting -> [String] in
            let (key, path) = (prefix + setting.key, "\(path).\(setting.key)")
            // A secret is one value, whose parts are its places.
            let isSection = !setting.parts.isEmpty && setting.name != "a secret"
            if isSection, !setting.isInFileOnly, !setting.isSecret, !sections.contains(path) {
                return rows(setting.parts, "\(key).", path, sections, group: setting.isRequired ? group : key)
            }
            let words = setting.words.map { "`\($0)`, " }.joined()
            let isBelow = isSection || setting.isInFileOnly && setting.values.isEmpty
            let values = isBelow ? words + (words.isEmpty ? "see below" : "or keys: see below") : setting.values
            // A setting without a property states a fact.
            let fact = setting.property == nil ? setting.values : "none"
            let stated = isBelow ? "" : setting.text.map { "`\($0)`" } ?? fact
            let preset = setting.isRequired ? "required" + (group.map { " in `\($0)`" } ?? "") : stated
            return ["| `\(key)` | \(setting.sentence) | \(values) | \(preset) |"]
        }
    }

    /// Returns the rows of the settings whose names in code are not their keys.
    private func names(_ settings: [SettingFacts], _ prefix: String) -> [String] {
        settings.flatMap { setting -> [String] in
            let path = prefix + setting.key
            if setting.isInFileOnly || Self.otherForms.contains(path) { return [] }
            if !setting.parts.isEmpty, setting.name == nil { return names(setting.parts, "\(path).") }
            guard let property = setting.property, property != "self", property != camelCase(setting.key) else {
                return []
            }
            return ["| `\(path)` | `\(property)` |"]
        }
    }
}
#endif
