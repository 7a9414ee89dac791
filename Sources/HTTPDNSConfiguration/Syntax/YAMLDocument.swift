#if YAML
internal import Yams

/// Reads YAML, and so JSON, into our own tree.
package enum YAMLDocument {
    /// How deep keys and lists may stand inside each other; the deepest setting stands five deep.
    private static let maximumDepth = 20

    /// The root of the only document in a text.
    /// - Throws: ``ConfigurationFileError`` for text that is not YAML, for nothing, and for anchors, tags and the like.
    package static func read(_ text: String, file: String) throws(ConfigurationFileError) -> ConfigurationNode {
        var text = text
        // libyaml counts a byte order mark as a column, so that the lines below it seem to be indented less.
        if text.unicodeScalars.first == "\u{feff}" { text.unicodeScalars.removeFirst() }
        if let alias = AliasScan.firstAlias(in: text) {
            throw ConfigurationFileError(
                file,
                "\"*\(alias.name)\" is a YAML alias; anchors and aliases are not supported",
                at: alias.position,
                hint: "write the value out, or put the text in quotes if no alias was meant"
            )
        }
        var keys = UniqueKeys(text)
        let root: Node?
        do {
            root = try keys.compose()
        } catch let error as YamlError {
            throw YAMLSyntax.error(error, text: text, file: file, duplicates: keys.renamed)
        } catch {
            throw ConfigurationFileError(file, "the file is not valid YAML: \(error)")
        }
        var conversion = Conversion(file: file, keys: keys)
        let node = root.map { conversion.convert($0, depth: 0) }
        if let error = conversion.mistakes.error { throw error }
        guard let node, !node.isEmpty else {
            throw ConfigurationFileError(
                file,
                "the file is empty or holds only comments",
                at: Position(line: 1, column: 1),
                hint: "the smallest configuration is: version: 1"
            )
        }
        return node
    }

    private struct Conversion {
        var mistakes: MistakeList
        let keys: UniqueKeys
        private var isTooDeep = false

        init(file: String, keys: UniqueKeys) {
            mistakes = MistakeList(file: file)
            self.keys = keys
        }

        mutating func convert(_ node: Node, depth: Int) -> ConfigurationNode {
            let position = Position(node.mark)
            if node.anchor != nil {
                mistakes.add(
                    "found a YAML anchor (&); anchors and aliases are not supported",
                    at: position,
                    hint: "remove it, or put the text in quotes"
                )
            }
            guard depth <= YAMLDocument.maximumDepth else {
                if !isTooDeep {
                    mistakes.add(
                        "keys and lists are nested more than \(YAMLDocument.maximumDepth) deep",
                        at: position
                    )
                }
                isTooDeep = true
                return ConfigurationNode(.scalar("", isPlain: true), at: position)
            }
            switch node {
            case .scalar(let scalar):
                checkTag(node.tag.rawValue, "tag:yaml.org,2002:str", at: position)
                let original = keys.renamed[position] ?? scalar.string
                return ConfigurationNode(
                    .scalar(original, isPlain: scalar.style == .plain || scalar.style == .any),
                    at: position
                )
            case .sequence(let sequence):
                checkTag(node.tag.rawValue, "tag:yaml.org,2002:seq", at: position)
                return ConfigurationNode(.sequence(sequence.map { convert($0, depth: depth + 1) }), at: position)
            case .mapping(let mapping):
                checkTag(node.tag.rawValue, "tag:yaml.org,2002:map", at: position)
                let entries = mapping.map { key, value in
                    ConfigurationNode.Entry(
                        key: convert(key, depth: depth + 1),
                        value: convert(value, depth: depth + 1)
                    )
                }
                return ConfigurationNode(.mapping(entries), at: position)
            case .alias:
                mistakes.add("found a YAML alias (*); anchors and aliases are not supported", at: position)
                return ConfigurationNode(.scalar("", isPlain: true), at: position)
            }
        }

        /// Text is taken as it stands, whatever its tag says; a tag that says something else would be ignored, so it is refused.
        private mutating func checkTag(_ tag: String, _ expected: String, at position: Position) {
            guard tag != expected else { return }
            let short = tag.hasPrefix("tag:yaml.org,2002:") ? "!!" + tag.dropFirst("tag:yaml.org,2002:".count) : tag
            mistakes.add(
                "found the YAML tag \(quoted(short)); tags are not supported",
                at: position,
                hint: "remove it, or put the text in quotes"
            )
        }
    }
}

extension Position {
    init(_ mark: Mark?) { self.init(line: mark?.line ?? 1, column: mark?.column ?? 1) }
}
#endif
