/// Looks for anchors and aliases before the tree is built.
///
/// Yams hashes every key while it builds the tree, and a key made of nested aliases takes exponential time (the "billion
/// laughs"). So a text in which some `*name` could refer to an `&name` is refused before Yams sees it.
enum AliasScan {
    /// The place of an alias for which there is an anchor of the same name, or nil.
    static func firstAlias(in text: String) -> (name: String, position: Position)? {
        var text = text
        return text.withUTF8 { bytes in
            var anchors: Set<String> = []
            forEachMark(UInt8(ascii: "&"), in: bytes) { name, _ in anchors.insert(name) }
            guard !anchors.isEmpty else { return nil }
            var found: (String, Int)?
            forEachMark(UInt8(ascii: "*"), in: bytes) { name, offset in
                if found == nil, anchors.contains(name) { found = (name, offset) }
            }
            return found.map { name, offset in
                let before = String(decoding: bytes[..<offset], as: UTF8.self)
                return (name, Position(of: before.endIndex, in: before))
            }
        }
    }

    /// Calls `body` for each mark with a name behind it, where YAML could see an anchor or alias: not inside a word, and
    /// not on a line that is only a comment. Quoted text may be seen too; then both marks must be there to be refused.
    private static func forEachMark(_ mark: UInt8, in bytes: UnsafeBufferPointer<UInt8>, _ body: (String, Int) -> Void)
    {
        var isComment = false
        var isLineStart = true
        for (offset, byte) in bytes.enumerated() {
            if byte == UInt8(ascii: "\n") || byte == UInt8(ascii: "\r") {
                (isComment, isLineStart) = (false, true)
                continue
            }
            if byte == mark, !isComment, offset == 0 || !isWord(bytes[offset - 1]) {
                let name = bytes[(offset + 1)...].prefix(while: isWord)
                if !name.isEmpty { body(String(decoding: name, as: UTF8.self), offset) }
            }
            if isLineStart, byte != UInt8(ascii: " "), byte != UInt8(ascii: "\t") {
                isComment = byte == UInt8(ascii: "#")
                isLineStart = false
            }
        }
    }

    /// The bytes of an anchor's name in libyaml.
    private static func isWord(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "_"), UInt8(ascii: "-"):
            true
        default: false
        }
    }
}
