// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

internal import HTTPDNSCore
internal import HTTPDNSPrimitives

/// A reader that creates settings from the tree of a file, and collects every mistake instead of stopping at the first.
struct SettingsReader {
    let file: String
    var mistakes: MistakeList
    /// Whether a secret may be the value itself, and not only its place.
    var allowsSecretTexts = false

    init(file: String) {
        self.file = file
        mistakes = MistakeList(file: file)
    }

    /// Reads the settings of a whole file.
    /// - Throws: ``HTTPDNSConfigurationFileError`` with up to 20 mistakes.
    static func read(_ root: ConfigurationNode, file: String) throws(HTTPDNSConfigurationFileError) -> FileSettings {
        var reader = SettingsReader(file: file)
        return try reader.read(root)
    }

    /// Reads the settings of a whole tree.
    /// - Throws: ``HTTPDNSConfigurationFileError`` with up to 20 mistakes, with those that were found before.
    mutating func read(_ root: ConfigurationNode) throws(HTTPDNSConfigurationFileError) -> FileSettings {
        let settings = readTop(root)
        if let error = mistakes.error { throw error }
        return settings
    }

    private mutating func readTop(_ root: ConfigurationNode) -> FileSettings {
        var settings = FileSettings()
        guard case .mapping(let entries) = root.content else {
            mistakes.add(
                "the file holds \(root.found), not keys with values; allowed: \(KeyTable.top.keys.joined(separator: ", "))",
                at: root.position,
                hint: root.text?.hasPrefix("version:") == true
                    ? "put a space behind the colon" : "begin with: version: 1"
            )
            return settings
        }
        // A file for another version may have any keys: errors of this version would not help.
        guard readVersion(entries, root) else { return settings }
        guard let fields = fields(of: root, .top, path: "") else { return settings }
        if let node = fields["enabled"], let isEnabled = truth(of: node, path: "enabled") {
            settings.isEnabled = isEnabled
        }
        if let node = fields["file_permissions"] {
            settings.refusesOpenFile = word(of: node, .filePermissions, path: "file_permissions") == "refuse"
        }
        if let node = fields["providers"] { settings.providers = readProviders(node) }
        if let node = fields["routes"] {
            settings.routes = readRoutes(node, providers: providerNames(fields["providers"]))
        }
        if let node = fields["mappings"], let rules = readMappings(node) {
            settings.mappings = rules.rules
            settings.indexedMappings = rules
        }
        if let node = fields["policy"] { readPolicy(node, into: &settings) }
        if let node = fields["cache"] { readCache(node, into: &settings) }
        if let node = fields["resolver"] { readResolver(node, into: &settings) }
        if let node = fields["client"] { readClient(node, into: &settings) }
        if let node = fields["metrics"], let fields = self.fields(of: node, .metrics, path: "metrics"),
            let label = fields["host_label"]
        {
            // There is only one value; the key documents it in the file.
            _ = word(of: label, .hostLabels, path: "metrics.host_label")
        }
        if let node = fields["serve"] { settings.serve = readServe(node) }
        return settings
    }

    private mutating func readVersion(_ entries: [ConfigurationNode.Entry], _ root: ConfigurationNode) -> Bool {
        guard let version = entries.first(where: { $0.key.text == "version" })?.value else {
            mistakes.add(
                "the key \"version\" is missing",
                at: root.position,
                hint: "write version: 1 as the first line"
            )
            return true
        }
        if version.text == "1" { return true }
        mistakes.add(
            "version: found \(version.found); this release reads version 1 only",
            at: version.position,
            hint: "write version: 1"
        )
        return version.isEmpty || version.text.flatMap(Int.init) == nil
    }
}

// MARK: - Parts that all sections are made of

extension SettingsReader {
    /// The values of a section with fixed keys.
    struct Fields {
        var values: [String: ConfigurationNode] = [:]
        subscript(key: String) -> ConfigurationNode? { values[key] }
    }

    /// Returns the fields of a mapping; nil when the node is none. Unknown keys are mistakes, with the most similar key as a
    /// hint.
    mutating func fields(of node: ConfigurationNode, _ table: KeyTable, path: String) -> Fields? {
        var fields = Fields()
        if node.isEmpty { return fields }
        guard let entries = entries(of: node, path: path, "the keys \(table.keys.joined(separator: ", "))") else {
            return nil
        }
        var lines: [String: Position] = [:]
        for (key, entry) in entries {
            if let first = lines[key] {
                mistakes.add(
                    "\(quoted(key)) is written twice: it is on line \(first.line) already",
                    at: entry.key.position,
                    hint: "keep one of them"
                )
                continue
            }
            lines[key] = entry.key.position
            if table.keys.contains(key) {
                fields.values[key] = entry.value
            } else {
                noteUnknown(key, entry, table)
            }
        }
        return fields
    }

    private mutating func noteUnknown(_ key: String, _ entry: ConfigurationNode.Entry, _ table: KeyTable) {
        let allowed = table.keys.joined(separator: ", ")
        if table.later.contains(key) {
            mistakes.add(
                "\(quoted(key)) comes in a later version; allowed now in \(table.name): \(allowed)",
                at: entry.key.position,
                hint: "leave it out until then"
            )
            return
        }
        var hint: String?
        if key == "<<" {
            hint = "merge keys are not supported: write the keys out"
        } else if entry.value.isEmpty, let colon = key.firstIndex(of: ":"), table.keys.contains(String(key[..<colon])) {
            hint = "put a space behind the colon: \(key[..<colon]): \(key[key.index(after: colon)...])"
        } else if table.name == KeyTable.top.name, key.contains(".") || key.contains("*") {
            hint = "a name belongs below mappings: or routes:, indented"
        } else if let home = KeyTable.all.first(where: { $0.keys.contains(key) }) {
            hint = "it is a key of \(home.name)"
        } else {
            hint = nearestWord(to: key, in: table.keys + table.later).map { "did you mean \"\($0)\"?" }
        }
        mistakes.add(
            "\(quoted(key)) is not a key of \(table.name); allowed: \(allowed)",
            at: entry.key.position,
            hint: hint
        )
    }

    /// Returns the entries of a mapping with their keys as text; nil when the node is no mapping.
    mutating func entries(
        of node: ConfigurationNode,
        path: String,
        _ allowed: String
    ) -> [(key: String, entry: ConfigurationNode.Entry)]? {
        guard case .mapping(let entries) = node.content else {
            let place = path.isEmpty ? "" : "\(path): "
            mistakes.add("\(place)found \(node.found); allowed: a mapping with \(allowed)", at: node.position)
            return nil
        }
        return entries.compactMap { entry in
            if let key = entry.key.text { return (key, entry) }
            mistakes.add(
                "\(path.isEmpty ? "" : "\(path): ")found \(entry.key.found) as a key; allowed: text",
                at: entry.key.position,
                hint: "put a key that begins with [ or { in quotes, such as \"[2001:db8::7]:8443\""
            )
            return nil
        }
    }

    /// Returns the elements of a list, or a single value as a list of one; nil when there is none.
    mutating func elements(of node: ConfigurationNode, path: String, _ allowed: String) -> [ConfigurationNode]? {
        switch node.content {
        case .sequence(let nodes) where !nodes.isEmpty:
            return nodes
        case .scalar where !node.isEmpty:
            return [node]
        case .sequence, .scalar, .mapping:
            mistakes.add("\(path): found \(node.found); allowed: \(allowed)", at: node.position)
            return nil
        }
    }

    /// Returns a scalar's value, read by `parse`; nil after a mistake.
    mutating func value<Value>(
        of node: ConfigurationNode,
        path: String,
        _ allowed: String,
        _ parse: (String) throws(ValueMistake) -> Value
    ) -> Value? {
        guard !node.isEmpty, let text = node.text else {
            mistakes.add("\(path): found \(node.found); allowed: \(allowed)", at: node.position)
            return nil
        }
        do {
            return try parse(text)
        } catch {
            mistakes.add("\(path): \(error.message)", at: node.position, hint: error.hint)
            return nil
        }
    }

    /// Returns one of a table's words; nil after a mistake.
    mutating func word(of node: ConfigurationNode, _ table: WordTable, path: String) -> String? {
        let allowed = table.words.joined(separator: ", ")
        return value(of: node, path: path, allowed) { text throws(ValueMistake) in
            if table.words.contains(text) { return text }
            if table.later.contains(text) {
                throw ValueMistake("\(quoted(text)) comes in a later version; allowed now: \(allowed)")
            }
            throw ValueMistake(
                "found \(quoted(text)); allowed: \(allowed)",
                hint: nearestWord(to: text, in: table.words + table.later).map { "did you mean \"\($0)\"?" }
            )
        }
    }

    /// Returns `true` or `false`; nil after a mistake.
    mutating func truth(of node: ConfigurationNode, path: String) -> Bool? {
        value(of: node, path: path, "true, false") { text throws(ValueMistake) in
            if text == "true" { return true }
            if text == "false" { return false }
            let meant = Self.otherTruths[text.lowercased()]
            throw ValueMistake("found \(quoted(text)); allowed: true, false", hint: meant.map { "write \($0)" })
        }
    }

    /// Other spellings of truth values and their meaning; YAML 1.1 read most of these as such.
    static let otherTruths = [
        "yes": "true", "on": "true", "y": "true", "1": "true", "true": "true",
        "no": "false", "off": "false", "n": "false", "0": "false", "false": "false",
    ]

    /// Returns one of `v4`, `v6` and `both`; nil after a mistake.
    mutating func families(of node: ConfigurationNode, path: String) -> HTTPDNSAddress.Families? {
        word(of: node, .families, path: path).flatMap { ["v4": .v4, "v6": .v6, "both": .both][$0] }
    }

    /// Returns blocks of addresses, one or a list, without invalid ones.
    mutating func blocks(of node: ConfigurationNode, path: String) -> [HTTPDNSAddressBlock] {
        var blocks: [HTTPDNSAddressBlock] = []
        let allowed = "blocks of addresses such as 10.0.0.0/8, one or a list"
        for node in elements(of: node, path: path, allowed) ?? [] {
            let block = value(of: node, path: path, "a block of addresses such as 10.0.0.0/8") {
                text throws(ValueMistake) in try AddressBlockText.parse(text)
            }
            guard let block else { continue }
            if blocks.contains(block) { mistakes.add("\(path): \(block) is listed twice", at: node.position) }
            blocks.append(block)
        }
        return blocks
    }

    /// Returns a duration; nil after a mistake.
    mutating func duration(of node: ConfigurationNode, in range: ClosedRange<Duration>, path: String) -> Duration? {
        value(of: node, path: path, "a duration such as 30s") { text throws(ValueMistake) in
            try DurationText.parse(text, in: range)
        }
    }

    /// Returns a whole number; nil after a mistake.
    mutating func number(of node: ConfigurationNode, in range: ClosedRange<Int>, path: String) -> Int? {
        value(of: node, path: path, "a whole number from \(range.lowerBound) to \(range.upperBound)") {
            text throws(ValueMistake) in try WholeNumberText.parse(text, in: range)
        }
    }

    /// Returns the path of a readable file, relative to the folder of the configuration file; nil after a mistake.
    mutating func readableFile(
        of node: ConfigurationNode,
        path: String,
        _ allowed: String = "the path of a PEM file"
    ) -> String? {
        let file = file
        return value(of: node, path: path, allowed) { text throws(ValueMistake) in
            guard !text.isEmpty else { throw ValueMistake("the path is empty; allowed: \(allowed)") }
            let resolved = FilePath.resolve(text, besideFile: file)
            guard let reason = FilePath.whyUnreadable(resolved) else { return resolved }
            throw ValueMistake(
                "\(quoted(resolved)) cannot be read: \(reason)",
                hint: text.hasPrefix("~")
                    ? "~ is not expanded: write the whole path"
                    : text.hasPrefix("/") ? nil : "a relative path begins at the folder of this file"
            )
        }
    }

    /// Returns the path of a file that the program writes, relative to the folder of the configuration file; nil after a
    /// mistake.
    mutating func writableFile(of node: ConfigurationNode, path: String) -> String? {
        let file = file
        let allowed = "the path of a file that may be written"
        return value(of: node, path: path, allowed) { text throws(ValueMistake) in
            guard !text.isEmpty else { throw ValueMistake("the path is empty; allowed: \(allowed)") }
            let path = FilePath.resolve(text, besideFile: file)
            guard let reason = FilePath.whyNoFile(path) else { return path }
            throw ValueMistake("\(quoted(path)) cannot be written: \(reason)", hint: "name a file inside it")
        }
    }

    /// Returns the position of a setting, as `explain` shows it.
    func location(_ node: ConfigurationNode) -> HTTPDNSSourceLocation {
        var location = HTTPDNSSourceLocation(file, node.position)
        location.column = nil
        return location
    }
}

extension SettingsReader {
    mutating func readPolicy(_ node: ConfigurationNode, into settings: inout FileSettings) {
        guard let fields = fields(of: node, .policy, path: "policy") else { return }
        if let node = fields["providers_may_answer"], let scope = scope(of: node, path: "policy.providers_may_answer") {
            settings.answerScope = scope
        }
        if let node = fields["allow"] { settings.policy.allowed = blocks(of: node, path: "policy.allow") }
        if let node = fields["deny"] { settings.policy.denied = blocks(of: node, path: "policy.deny") }
    }

    /// Reads the most private scope of addresses that answers may have; nil after a mistake.
    mutating func scope(of node: ConfigurationNode, path: String) -> HTTPDNSAddressPolicy.Scope? {
        word(of: node, .scopes, path: path).flatMap {
            ["public": .public, "private": .private, "loopback": .loopback][$0]
        }
    }
}
