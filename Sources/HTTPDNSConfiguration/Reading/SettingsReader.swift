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
    /// Those of them that are of kind `dns`.
    private(set) var nameServers: Set<String> = []
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
        let table = KeyTable(FileSettings.topName, FileSettings.settings)
        guard case .mapping(let entries) = root.content else {
            mistakes.add(
                "the file holds \(root.found), not keys with values; allowed: \(table.keys.joined(separator: ", "))",
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
            nameServers = Set(providers.filter { $0.value.text(of: "kind") == "dns" }.compactMap(\.key.text))
        }
        if var fields = fields(of: root, table, path: "") {
            read(FileSettings.settings, &fields, path: "", into: &settings)
        }
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

// MARK: - Sections

extension SettingsReader {
    /// The values of a section with fixed keys.
    struct Fields {
        /// The position of errors about missing keys.
        var position: Position
        fileprivate(set) var values: [String: ConfigurationNode] = [:]
        /// The declared settings with mistakes.
        fileprivate(set) var bad: Set<String> = []
        subscript(key: String) -> ConfigurationNode? { values[key] }
    }

    /// Reads settings of a section, those whose form depends on others last.
    /// - Returns: Whether all required ones were there, and none was wrong that the others depend on.
    @discardableResult
    mutating func read<Root>(
        _ settings: some Collection<Setting<Root>>,
        _ fields: inout Fields,
        path: String,
        into root: inout Root
    ) -> Bool {
        var isComplete = true
        for setting in settings.filter({ !$0.isDependent }) + settings.filter(\.isDependent) {
            guard let node = fields[setting.key] else {
                guard let requirement = setting.requirement else { continue }
                missing(setting.key, path, at: fields.position, hint: requirement.hint)
                if requirement.end != .none { return false }
                isComplete = false
                continue
            }
            let before = mistakes.count
            setting.read(&self, node, path.isEmpty ? setting.key : "\(path).\(setting.key)", &root)
            guard mistakes.count > before else { continue }
            fields.bad.insert(setting.key)
            if setting.requirement?.end == .missingOrWrong { return false }
        }
        return isComplete
    }

    /// Returns the fields of a mapping; nil when the node is none. Unknown keys are mistakes, with the most similar key as a
    /// hint.
    /// - Parameter hint: The correction of a node that is no mapping.
    mutating func fields(
        of node: ConfigurationNode,
        _ table: KeyTable,
        path: String,
        hint: String? = nil
    ) -> Fields? {
        var fields = Fields(position: node.position)
        if node.isEmpty { return fields }
        guard let entries = entries(of: node, path: path, table.allowed, hint: hint) else { return nil }
        var lines: [String: Position] = [:]
        for entry in entries {
            if let first = lines[entry.name] {
                mistakes.add(
                    "\(quoted(entry.name)) is written twice: it is on line \(first.line) already",
                    at: entry.key.position,
                    hint: "keep one of them"
                )
                continue
            }
            lines[entry.name] = entry.key.position
            if table.keys.contains(entry.name) {
                fields.values[entry.name] = entry.value
            } else {
                noteUnknown(entry, table)
            }
        }
        return fields
    }

    private mutating func noteUnknown(_ entry: NamedEntry, _ table: KeyTable) {
        let key = entry.name
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
        } else if table.name == FileSettings.topName, key.contains(".") || key.contains("*") {
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

    /// Adds the mistake of a key that is required.
    mutating func missing(_ key: String, _ path: String, at position: Position, hint: String) {
        mistakes.add("\(path): the key \"\(key)\" is missing", at: position, hint: hint)
    }
}

// MARK: - Mappings, lists and values

extension SettingsReader {
    /// An entry of a mapping.
    struct NamedEntry {
        /// The path of the mapping.
        let path: String
        let name: String
        let key: ConfigurationNode
        let value: ConfigurationNode
        /// The path of the entry in errors.
        var place: String { "\(path)[\(quoted(name))]" }
    }

    /// Returns the entries of a mapping with their keys as text; nil when the node is no mapping.
    mutating func entries(
        of node: ConfigurationNode,
        path: String,
        _ allowed: String,
        hint: String? = nil
    ) -> [NamedEntry]? {
        let place = path.isEmpty ? "" : "\(path): "
        guard case .mapping(let entries) = node.content else {
            mistakes.add(
                "\(place)found \(node.found); allowed: a mapping with \(allowed)",
                at: node.position,
                hint: hint
            )
            return nil
        }
        return entries.compactMap { entry in
            if let name = entry.key.text {
                return NamedEntry(path: path, name: name, key: entry.key, value: entry.value)
            }
            mistakes.add(
                "\(place)found \(entry.key.found) as a key; allowed: text",
                at: entry.key.position,
                hint: "put a key that begins with [ or { in quotes, such as \"[2001:db8::7]:8443\""
            )
            return nil
        }
    }

    /// Adds a mistake when an earlier entry has the same key.
    /// - Returns: Whether there is none.
    mutating func isFirst<Key: Hashable>(_ key: Key, _ entry: NamedEntry, in lines: inout [Key: Position]) -> Bool {
        guard let first = lines[key] else {
            lines[key] = entry.key.position
            return true
        }
        mistakes.add(
            "\(entry.place) is the same name as on line \(first.line): \(key)",
            at: entry.key.position,
            hint: "keep one of them"
        )
        return false
    }

    /// Returns the name or suffix that is the key of an entry.
    /// - Parameter ofAll: The key for settings of all hosts.
    mutating func pattern(_ entry: NamedEntry, ofAll: String) -> HTTPDNSRoute.Pattern? {
        do throws(HTTPDNSName.Error) {
            let pattern = try HTTPDNSRoute.Pattern(entry.name)
            if pattern != .any { return pattern }
            mistakes.add(
                "\(entry.place): \"*\" stands for all hosts; allowed: a name or *.suffix",
                at: entry.key.position,
                hint: "what holds for all hosts belongs to \(ofAll)"
            )
        } catch {
            mistakes.add("\(entry.place): \(error)", at: entry.key.position)
        }
        return nil
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

    /// Reads a single value; nil without it, and after a mistake.
    mutating func read<Value>(_ form: SettingForm<Value>, of node: ConfigurationNode?, path: String) -> Value? {
        node.flatMap { form.read(&self, $0, path, nil) }
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
