// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

internal import HTTPDNSCore
internal import HTTPDNSPrimitives

/// A reader that creates settings from the tree of a file, and collects every mistake instead of stopping at the first.
struct SettingsReader {
    let file: String
    var mistakes: MistakeList
    /// The names of providers that routes may use, also of those with mistakes, so that each mistake is reported once.
    private(set) var providers: [String] = []
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
        if case .mapping(let providers)? = entries.first(where: { $0.key.text == "providers" })?.value.content {
            self.providers = providers.compactMap(\.key.text)
        }
        read(FileSettings.settings, of: root, path: "", name: KeyTable.top.name, into: &settings)
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
        /// The declared settings with mistakes.
        var bad: Set<String> = []
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

    /// Adds the mistake of a key that is required.
    mutating func missing(_ key: String, _ path: String, at position: Position, hint: String) {
        mistakes.add("\(path): the key \"\(key)\" is missing", at: position, hint: hint)
    }

    /// Returns the prefix of an error about the value of a key.
    func place(of node: ConfigurationNode, _ key: String) -> String {
        "\(HTTPDNSSourceLocation(file, node.position)): \(key)"
    }

    /// Returns the position of a setting, as `explain` shows it.
    func location(_ node: ConfigurationNode) -> HTTPDNSSourceLocation {
        var location = HTTPDNSSourceLocation(file, node.position)
        location.column = nil
        return location
    }
}
