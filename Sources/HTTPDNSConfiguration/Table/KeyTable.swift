// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

/// The keys of a section of the file.
package struct KeyTable: Sendable {
    /// The name of the section in errors.
    package let name: String
    /// The supported keys.
    package let keys: [String]
    /// Keys that are planned for later versions, so that the error does not suggest a spelling mistake.
    package var later: [String] = []

    init<Root>(_ name: String, _ settings: [Setting<Root>]) {
        self.init(name, settings.map(\.key))
    }

    private init(_ name: String, _ keys: [String]) {
        self.name = name
        self.keys = keys
    }

    /// The keys as errors list them.
    var allowed: String { "the keys \(keys.joined(separator: ", "))" }

    /// All sections. A key of several sections is reported as one of the first.
    package static let all: [KeyTable] = {
        var tables = [KeyTable(FileSettings.topName, FileSettings.settings)]
        func add(_ facts: SettingFacts, path: String) {
            let name = facts.name ?? path
            if !facts.parts.isEmpty, !tables.contains(where: { $0.name == name }) {
                tables.append(KeyTable(name, facts.parts.map(\.key)))
            }
        }
        for section in FileSettings.facts {
            let inside = section.all(path: section.key)
            // Sections with names of their own come last: their keys are mostly those of others.
            for (facts, path) in inside where facts.name == nil { add(facts, path: path) }
            for (facts, path) in inside where facts.name != nil { add(facts, path: path) }
        }
        return tables
    }()
}

extension SettingFacts {
    /// Returns the setting and all inside it, with their paths.
    fileprivate func all(path: String) -> [(SettingFacts, path: String)] {
        [(self, path)] + parts.flatMap { $0.all(path: "\(path).\($0.key)") }
            + entries.flatMap { $0.all(path: path).filter { $0.0.name != nil } }
    }
}
