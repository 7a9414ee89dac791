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
        let settings = section.split(separator: ".").reduce(FileSettings.facts) { settings, key in
            settings.first { $0.key == key }?.parts ?? []
        }
        return ["| key | meaning | values | default |", "|---|---|---|---|"] + rows(settings, "", section, sections)
    }

    /// Returns the rows of a section; sections inside it have theirs here, unless they have a table of their own.
    private func rows(_ settings: [SettingFacts], _ prefix: String, _ path: String, _ sections: Set<String>) -> [String]
    {
        settings.flatMap { setting -> [String] in
            let (key, path) = (prefix + setting.key, "\(path).\(setting.key)")
            let isSection = !setting.parts.isEmpty && setting.name == nil
            if isSection, !setting.isInFileOnly, !setting.isSecret, !sections.contains(path), path != "client.trust" {
                return rows(setting.parts, "\(key).", path, sections)
            }
            let words = setting.words.map { "`\($0)`, " }.joined()
            let isBelow = isSection || setting.isInFileOnly
            let values = isBelow ? words + (words.isEmpty ? "see below" : "or keys: see below") : setting.values
            // A setting without a property states a fact.
            let fact = setting.property == nil && !isBelow ? setting.values : "none"
            let preset = isSection ? "" : setting.text.map { "`\($0)`" } ?? fact
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
