#if YAML
internal import Yams

/// Builds the tree of a text that may hold a key twice.
///
/// Yams refuses a mapping with equal keys and tells the place of one of them only. To report both, together with all other
/// mistakes, the first letter of the key that Yams names is replaced by a private one and the text is read again; the
/// tree then has all keys, and `renamed` knows what they were. No column changes, because one scalar takes another's place.
struct UniqueKeys {
    /// How many keys are changed at most: as many as there are places for mistakes, but fewer in a large text, which
    /// would take long to read as often. 32 MiB are read in a few seconds.
    private var limit: Int { max(1, min(MistakeList.listed, (32 << 20) / max(1, text.utf8.count))) }
    /// The first of the supplementary private-use scalars, which no host name, address or word of the file contains.
    private static let firstLetter: UInt32 = 0xf0000

    private var text: String
    /// The keys that were changed, with the text that they had.
    private(set) var renamed: [Position: String] = [:]

    /// The nodes know their anchors only as long as the parser lives.
    private var parser: Parser?

    init(_ text: String) { self.text = text }

    /// The root of the only document; nil when there is none.
    /// - Throws: `YamlError`.
    mutating func compose() throws -> Node? {
        while true {
            do {
                // The basic resolver looks at no text, so that each scalar stays what was written; UTF-8 is said because
                // the default would ask an environment variable.
                let parser = try Parser(yaml: text, resolver: .basic, encoding: .utf8)
                self.parser = parser
                return try parser.singleRoot()
            } catch YamlError.duplicatedKeysInMapping(let duplicates, let context)
                where renamed.count < limit
            {
                guard let key = duplicates.first, rename(key, at: Position(context.mark)) else {
                    throw YamlError.duplicatedKeysInMapping(duplicates: duplicates, context: context)
                }
            }
        }
    }

    private mutating func rename(_ key: String, at position: Position) -> Bool {
        guard renamed[position] == nil, var index = index(of: position) else { return false }
        let scalars = text.unicodeScalars
        if scalars[index] == "\"" || scalars[index] == "'" {
            let quote = scalars[index]
            index = scalars.index(after: index)
            guard index < scalars.endIndex, scalars[index] != quote else { return false }
        }
        guard index < scalars.endIndex, !scalars[index].properties.isWhitespace, scalars[index] != ":",
            let letter = Unicode.Scalar(Self.firstLetter + UInt32(renamed.count))
        else { return false }
        text.unicodeScalars.replaceSubrange(index...index, with: CollectionOfOne(letter))
        renamed[position] = key
        return true
    }

    private func index(of position: Position) -> String.Index? {
        var line = 1
        var column = 1
        var previous: Unicode.Scalar?
        for index in text.unicodeScalars.indices {
            let scalar = text.unicodeScalars[index]
            if !(scalar == "\n" && previous == "\r") {
                if line == position.line, column == position.column, scalar != "\u{feff}" { return index }
                switch scalar {
                case "\n", "\r", "\u{85}", "\u{2028}", "\u{2029}": (line, column) = (line + 1, 1)
                default: column += 1
                }
            }
            previous = scalar
        }
        return nil
    }
}
#endif
