// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

internal import HTTPDNSPrimitives

/// The replacement of secrets in free text: the values of `name=value`, of `"name": value`, of header lines and of markup, the
/// user information of URLs, and secrets that ``SecretForm`` recognizes.
struct SecretScan: Sendable {
    /// The ends of a value in a text that may have several URLs. A comma or a semicolon may belong to a value.
    static let textEnds = Set("& \t\r\n\"'<>".utf8)
    /// The ends of a value in a path.
    static let pathEnds = Set("/;".utf8)

    /// The names of `name=value`.
    let names: SecretNames
    /// The names in quotation marks before a colon, and those of markup.
    let members: SecretNames
    /// The names without quotation marks before a colon; nil for a text without header lines.
    let lines: SecretNames?
    let ends: Set<UInt8>
    /// Whether numbers, lists and objects of JSON stay what they are.
    private let keepsTypes: Bool
    /// Whether the user information of URLs is removed.
    private let removesUsers: Bool
    private var decodesValues = true

    init(
        names: SecretNames,
        members: SecretNames,
        lines: SecretNames? = nil,
        ends: Set<UInt8> = textEnds,
        keepsTypes: Bool = false,
        removesUsers: Bool = true
    ) {
        self.keepsTypes = keepsTypes
        self.removesUsers = removesUsers
        self.names = names
        self.members = members
        self.lines = lines
        self.ends = ends
    }

    /// Returns whether a text may have a secret: a short one has none without some of these bytes.
    func mayChange(_ text: String) -> Bool {
        // "Ntlm x" is the shortest of them without a name.
        text.utf8.count >= 6
            || text.utf8.contains { byte in
                byte == UInt8(ascii: "=") || byte == UInt8(ascii: ":") || byte == UInt8(ascii: "/")
            }
    }

    func redacted(_ text: String) -> String {
        guard mayChange(text), let redacted = changed(Array(text.utf8)) else { return text }
        return String(decoding: redacted, as: UTF8.self)
    }

    func redacted(_ bytes: [UInt8]) -> [UInt8] { changed(bytes) ?? bytes }

    /// Returns the bytes without secrets; nil when they have none.
    private func changed(_ bytes: [UInt8]) -> [UInt8]? {
        var result: [UInt8] = []
        var isChanged = false
        // The bytes before the first index are in the result. The values before the second one have been decoded.
        var (copied, decoded, index) = (0, 0, 0)
        var markup = MarkupSecretScan(members)
        var forms = SecretForm()
        while index < bytes.count {
            let byte = bytes[index]
            var found: Finding?
            switch byte {
            case UInt8(ascii: "="): found = valueOfItem(bytes, index, from: copied, &decoded)
            case UInt8(ascii: ":"):
                found = valueOfMember(bytes, index, from: copied) ?? valueOfLine(bytes, index, from: copied)
            case UInt8(ascii: "/"): found = userInformation(bytes, index)
            case UInt8(ascii: "<"): markup.readTag(bytes, at: index)
            default:
                if SecretForm.mayBegin(byte), let range = forms.secret(bytes, at: index) {
                    found = Finding(range: range)
                }
            }
            if found == nil, let range = markup.secret(at: index) { found = Finding(range: range) }
            index += 1
            guard let found else { continue }
            isChanged = true
            result += bytes[copied..<found.range.lowerBound]
            result += found.text.utf8
            copied = found.range.upperBound
            index = max(index, copied)
        }
        return isChanged ? result + bytes[copied...] : nil
    }

    /// Returns whether a value has a secret, as it is or behind percent-encoding.
    func hasSecret(_ value: String) -> Bool {
        var scan = SecretScan(names: names, members: members, lines: lines)
        scan.decodesValues = false
        var text = value
        for _ in 0...SecretNames.maximumDecodings {
            let bytes = Array(text.utf8)
            if scan.redacted(bytes) != bytes { return true }
            if bytes.contains(UInt8(ascii: "\"")) {
                if JSONSecretScan(bytes, names: members, texts: scan).redacted() != bytes { return true }
            }
            let decoded = FormItems.decoded(text[...])
            if decoded == text { return false }
            text = decoded
        }
        return true
    }

    // MARK: values

    /// The bytes of a secret, and the text in their place.
    private struct Finding {
        var range: Range<Int>
        var text = HTTPDNSClient.Redaction.mark
    }

    /// Returns the value of `name=value`, if it is or has a secret.
    private func valueOfItem(_ bytes: [UInt8], _ sign: Int, from lower: Int, _ decoded: inout Int) -> Finding? {
        if names.containsEncoded(bytes[Self.name(bytes, before: sign, from: lower)]) {
            let start = Self.afterBlanks(bytes, sign + 1)
            if let content = Self.quotedContent(bytes, start) { return Finding(range: content) }
            return Self.isMarked(bytes, start) ? nil : Finding(range: start..<valueEnd(bytes, start))
        }
        guard decodesValues, sign >= decoded else { return nil }
        let end = valueEnd(bytes, sign + 1)
        // Its inner values are part of it.
        decoded = end
        let value = bytes[(sign + 1)..<end]
        guard value.contains(UInt8(ascii: "%")), hasSecret(String(decoding: value, as: UTF8.self)) else { return nil }
        return Finding(range: (sign + 1)..<end)
    }

    /// Returns the value of `"name": value` outside of JSON, also with escaped quotation marks.
    private func valueOfMember(_ bytes: [UInt8], _ colon: Int, from lower: Int) -> Finding? {
        let nameEnd = Self.beforeBlanks(bytes, colon, from: lower)
        guard nameEnd > lower, Self.isQuote(bytes[nameEnd - 1]) else { return nil }
        let quote = bytes[nameEnd - 1]
        let closing = Self.beforeBackslashes(bytes, nameEnd - 1, from: lower)
        let name = Self.name(bytes, before: closing, from: lower)
        guard name.lowerBound > lower, bytes[name.lowerBound - 1] == quote, members.contains(bytes[name]) else {
            return nil
        }
        let start = bytes[(colon + 1)...].firstIndex { $0 > 0x20 } ?? bytes.count
        guard start < bytes.count, !JSONSecretScan.isNoSecret(bytes, start) else { return nil }
        if let content = Self.quotedContent(bytes, start) { return Finding(range: content) }
        if JSONSecretScan.isCount(bytes[name], bytes[start]) { return nil }
        // They have been read as JSON.
        if keepsTypes, bytes[start] == UInt8(ascii: "{") || bytes[start] == UInt8(ascii: "[") { return nil }
        let end = JSONSecretScan.valueEnd(bytes, from: start)
        if keepsTypes, JSONSecretScan.isNumber(bytes[start]) { return Finding(range: start..<end, text: "0") }
        let mark = String(decoding: bytes[closing..<nameEnd], as: UTF8.self)
        return end == start ? nil : Finding(range: start..<end, text: mark + HTTPDNSClient.Redaction.mark + mark)
    }

    /// Returns the value of a header line, which ends with the line, or of `name:value` inside a line, such as an argument in
    /// GraphQL. The line may be in quotation marks, and begin before the name.
    private func valueOfLine(_ bytes: [UInt8], _ colon: Int, from lower: Int) -> Finding? {
        guard let lines else { return nil }
        let name = Self.name(bytes, before: colon, from: lower)
        guard !name.isEmpty, lines.containsWhole(bytes[name]) else { return nil }
        let start = Self.afterBlanks(bytes, colon + 1)
        guard start < bytes.count else { return nil }
        if let content = Self.blockContent(bytes, start) ?? Self.quotedContent(bytes, start) {
            return Finding(range: content)
        }
        guard !Self.isMarked(bytes, start) else { return nil }
        // The types of variables, such as `[String!]`, are no values.
        if bytes[start] == UInt8(ascii: "["), let first = bytes[(start + 1)...].first(where: { $0 > 0x20 }),
            Self.isQuote(first) || first.isDigit
        {
            let mark = Self.isQuote(first) ? "\"\(HTTPDNSClient.Redaction.mark)\"" : HTTPDNSClient.Redaction.mark
            return Finding(range: start..<JSONSecretScan.valueEnd(bytes, from: start), text: mark)
        }
        var limit = bytes.count
        if name.lowerBound > lower, Self.isQuote(bytes[name.lowerBound - 1]) {
            let quote = name.lowerBound - 1
            let escapes = quote - Self.beforeBackslashes(bytes, quote, from: lower)
            limit = Self.closing(bytes, bytes[quote], escapes: escapes, from: start)
        } else if start == colon + 1 {
            // Such as an argument, or a member in a script, unless it is the first name of its line.
            let before = bytes[lower..<name.lowerBound].last { $0 == 0x0a || $0 == 0x0d || Self.isPartOfName($0) }
            guard before.map({ $0 < 0x20 }) ?? (lower == 0) else { return argument(bytes, start) }
        }
        guard start < limit else { return nil }
        let end = bytes[start..<limit].firstIndex { $0 == 0x0a || $0 == 0x0d } ?? limit
        return end == start ? nil : Finding(range: start..<end)
    }

    /// Returns a value without blanks and quotation marks. Short words are the variables of scripts; a dollar sign begins those
    /// of GraphQL, and its types are no values.
    private func argument(_ bytes: [UInt8], _ start: Int) -> Finding? {
        let end = bytes[start...].firstIndex(where: Self.argumentEnds.contains) ?? bytes.count
        let value = bytes[start..<end]
        guard let first = value.first, first != UInt8(ascii: "$") else { return nil }
        let word = value.last == UInt8(ascii: "!") ? value.dropLast() : value
        guard first.isDigit || word.count >= 4, !Self.words.contains(Array(word)) else { return nil }
        return Finding(range: start..<end)
    }

    private static let argumentEnds = Set(",;(){}[] \t\r\n\"'`&<>".utf8)
    private static let words = Set(
        ["Boolean", "Float", "ID", "Int", "String", "false", "null", "true", "undefined"].map { Array($0.utf8) }
    )

    /// Returns the user information of an authority behind two slashes, with its sign.
    private func userInformation(_ bytes: [UInt8], _ slash: Int) -> Finding? {
        guard removesUsers, slash > 0, bytes[slash - 1] == UInt8(ascii: "/") else { return nil }
        let authority = bytes[(slash + 1)...].prefix { byte in
            byte > 0x20 && byte != UInt8(ascii: "/") && byte != UInt8(ascii: "?") && byte != UInt8(ascii: "#")
                && byte != UInt8(ascii: "\"")
        }
        return authority.lastIndex(of: UInt8(ascii: "@")).map { Finding(range: (slash + 1)..<($0 + 1), text: "") }
    }

    // MARK: bytes

    /// Returns the end of a value without quotation marks. Backslashes before the mark that ends it belong to this mark.
    private func valueEnd(_ bytes: [UInt8], _ start: Int) -> Int {
        guard let end = bytes[start...].firstIndex(where: ends.contains) else { return bytes.count }
        return Self.isQuote(bytes[end]) ? Self.beforeBackslashes(bytes, end, from: start) : end
    }

    /// Returns whether a value has been replaced before.
    private static func isMarked(_ bytes: [UInt8], _ start: Int) -> Bool {
        guard bytes[start...].starts(with: HTTPDNSClient.Redaction.mark.utf8) else { return false }
        let next = start + HTTPDNSClient.Redaction.mark.utf8.count
        return next == bytes.count || bytes[next] == UInt8(ascii: "\\") || textEnds.contains(bytes[next])
            || argumentEnds.contains(bytes[next])
    }

    /// Returns the indices of a block string of GraphQL, `"""..."""`, that begins at an index.
    private static func blockContent(_ bytes: [UInt8], _ start: Int) -> Range<Int>? {
        let marks = [UInt8](repeating: UInt8(ascii: "\""), count: 3)
        guard bytes[start...].starts(with: marks) else { return nil }
        let content = start + 3
        let end = bytes[content...].firstRange(of: marks)?.lowerBound ?? bytes.count
        return content..<end
    }

    /// Returns the indices between quotation marks, of which the first is at an index, perhaps behind backslashes.
    private static func quotedContent(_ bytes: [UInt8], _ start: Int) -> Range<Int>? {
        guard let quote = bytes[start...].firstIndex(where: { $0 != UInt8(ascii: "\\") }), isQuote(bytes[quote]) else {
            return nil
        }
        return (quote + 1)..<closing(bytes, bytes[quote], escapes: quote - start, from: quote + 1)
    }

    /// Returns the index of the end of a quoted text: that of its closing mark with its backslashes.
    /// - Parameter escapes: The number of backslashes before the opening mark.
    private static func closing(_ bytes: [UInt8], _ quote: UInt8, escapes: Int, from start: Int) -> Int {
        var backslashes = 0
        for index in start..<max(start, bytes.count) {
            if bytes[index] == quote, backslashes <= escapes { return index - backslashes }
            backslashes = bytes[index] == UInt8(ascii: "\\") ? backslashes + 1 : 0
        }
        return bytes.count
    }

    /// Returns the indices of the name before an index, which blanks may follow.
    private static func name(_ bytes: [UInt8], before index: Int, from lower: Int) -> Range<Int> {
        let end = beforeBlanks(bytes, index, from: lower)
        var start = end
        while start > lower, isPartOfName(bytes[start - 1]) { start -= 1 }
        return start..<end
    }

    private static func afterBlanks(_ bytes: [UInt8], _ start: Int) -> Int {
        bytes[start...].firstIndex { $0 != UInt8(ascii: " ") && $0 != UInt8(ascii: "\t") } ?? bytes.count
    }

    private static func beforeBlanks(_ bytes: [UInt8], _ end: Int, from lower: Int) -> Int {
        let last = bytes[lower..<end].lastIndex { $0 != UInt8(ascii: " ") && $0 != UInt8(ascii: "\t") }
        return last.map { $0 + 1 } ?? lower
    }

    private static func beforeBackslashes(_ bytes: [UInt8], _ end: Int, from lower: Int) -> Int {
        bytes[lower..<end].lastIndex { $0 != UInt8(ascii: "\\") }.map { $0 + 1 } ?? lower
    }

    private static func isQuote(_ byte: UInt8) -> Bool { byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "'") }

    private static func isPartOfName(_ byte: UInt8) -> Bool {
        byte >= 0x80 || byte.isLetterOrDigit(or: "_-.%[]")
    }
}
