// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

#if YAML
internal import HTTPDNSCore

/// A reader of YAML, and so JSON, which builds its own tree in one pass over libyaml's events.
///
/// Scalars keep the text of the file, and a mapping keeps duplicate keys. The first alias ends the pass, so that nothing is
/// ever expanded.
package enum YAMLDocument {
    /// The maximum nesting of keys and lists; the deepest setting is at level five.
    private static let maximumDepth = 20

    /// Returns the root of the only document in a text.
    /// - Throws: ``HTTPDNSConfigurationFileError`` for text that is not YAML, for empty text, and for anchors, tags and the like.
    package static func read(_ text: String, file: String) throws(HTTPDNSConfigurationFileError) -> ConfigurationNode {
        var text = text
        // libyaml counts a byte order mark as a column, so that the lines below it seem to be indented less.
        if text.unicodeScalars.first == "\u{feff}" { text.unicodeScalars.removeFirst() }
        let outcome = text.withUTF8 { bytes -> Result<ConfigurationNode?, Walk.Stop> in
            var walk = Walk(bytes, file: file)
            do throws(Walk.Stop) { return .success(try walk.document()) } catch { return .failure(error) }
        }
        switch outcome {
        case .success(let node?) where !node.isEmpty: return node
        case .success:
            throw HTTPDNSConfigurationFileError(
                file,
                "the file is empty or holds only comments",
                at: Position(line: 1, column: 1),
                hint: "the smallest configuration is: version: 1"
            )
        case .failure(.syntax(let failure)): throw YAMLSyntax.error(failure, text: text, file: file)
        case .failure(.undefinedAlias(let position)):
            throw YAMLSyntax.undefinedAlias(at: position, text: text, file: file)
        case .failure(.unsupported(let error)): throw error
        }
    }

    /// The pass over one text.
    private struct Walk {
        /// The end of a pass before the end of the text.
        enum Stop: Error {
            case syntax(YAMLParser.Failure)
            case undefinedAlias(Position)
            case unsupported(HTTPDNSConfigurationFileError)
        }

        let file: String
        let parser: YAMLParser
        var mistakes: MistakeList
        var anchors: Set<String> = []

        init(_ bytes: UnsafeBufferPointer<UInt8>, file: String) {
            self.file = file
            parser = YAMLParser(bytes)
            mistakes = MistakeList(file: file)
        }

        /// Returns the root; nil when there is none.
        mutating func document() throws(Stop) -> ConfigurationNode? {
            guard case .documentStart = try next().kind else { return nil }
            let root = try node(at: try next(), depth: 0)
            let behind = try next()
            guard case .streamEnd = behind.kind else {
                throw .unsupported(YAMLSyntax.secondDocument(at: behind.position, file: file))
            }
            if let error = mistakes.error { throw .unsupported(error) }
            return root
        }

        private func next() throws(Stop) -> YAMLParser.Event {
            WorkPace.pauseIfDue()
            do throws(YAMLParser.Failure) { return try parser.next() } catch { throw .syntax(error) }
        }

        private mutating func node(at event: YAMLParser.Event, depth: Int) throws(Stop) -> ConfigurationNode {
            let position = event.position
            guard depth <= YAMLDocument.maximumDepth else {
                mistakes.add("keys and lists are nested more than \(YAMLDocument.maximumDepth) deep", at: position)
                throw stop(mistakes)
            }
            if let anchor = event.anchor {
                anchors.insert(anchor)
                mistakes.add(
                    "found a YAML anchor (&); anchors and aliases are not supported",
                    at: position,
                    hint: "remove it, or put the text in quotes"
                )
            }
            switch event.kind {
            case .scalar(let text, let isPlain):
                checkTag(event.tag, "tag:yaml.org,2002:str", at: position)
                return ConfigurationNode(.scalar(text, isPlain: isPlain), at: position)
            case .sequenceStart:
                checkTag(event.tag, "tag:yaml.org,2002:seq", at: position)
                var nodes: [ConfigurationNode] = []
                while let event = try element() { nodes.append(try node(at: event, depth: depth + 1)) }
                return ConfigurationNode(.sequence(nodes), at: position)
            case .mappingStart:
                checkTag(event.tag, "tag:yaml.org,2002:map", at: position)
                var entries: [ConfigurationNode.Entry] = []
                while let event = try element() {
                    let key = try node(at: event, depth: depth + 1)
                    entries.append(.init(key: key, value: try node(at: try next(), depth: depth + 1)))
                }
                return ConfigurationNode(.mapping(entries), at: position)
            case .alias(let name):
                guard anchors.contains(name) else { throw .undefinedAlias(position) }
                throw .unsupported(YAMLSyntax.alias(name, at: position, file: file))
            case .end, .documentStart, .streamEnd:
                // The parser reports an error before it would end an element too early.
                return ConfigurationNode(.scalar("", isPlain: true), at: position)
            }
        }

        /// Returns the event that begins the next element of the innermost sequence or mapping; nil at its end.
        private func element() throws(Stop) -> YAMLParser.Event? {
            let event = try next()
            if case .end = event.kind { return nil }
            return event
        }

        private func stop(_ mistakes: MistakeList) -> Stop {
            .unsupported(mistakes.error ?? HTTPDNSConfigurationFileError(file, "the file cannot be read as YAML"))
        }

        /// Checks a tag. Text is used unchanged, whatever its tag. A tag for another type would be ignored, so it is refused.
        private mutating func checkTag(_ tag: String?, _ expected: String, at position: Position) {
            guard let tag, !tag.isEmpty, tag != expected else { return }
            let short = tag.hasPrefix("tag:yaml.org,2002:") ? "!!" + tag.dropFirst("tag:yaml.org,2002:".count) : tag
            mistakes.add(
                "found the YAML tag \(quoted(short)); tags are not supported",
                at: position,
                hint: "remove it, or put the text in quotes"
            )
        }
    }
}
#endif
