// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

internal import HTTPDNSPrimitives

/// The replacement of secrets in JSON: the values of members, and the secrets of texts in strings.
///
/// It reads tokens and not values, so it also finds the secrets of a JSON text that ends too early or has errors. Everything
/// else stays byte for byte. `true`, `false`, `null`, the empty string, and numbers that count tokens are no secrets.
struct JSONSecretScan {
    /// The most levels of JSON texts in strings of JSON texts that are read. A deeper one is replaced.
    private static let maximumDepth = 4
    private static let mark = Array("\"\(HTTPDNSClient.Redaction.mark)\"".utf8)

    private let bytes: [UInt8]
    private let names: SecretNames
    private let texts: SecretScan
    private let depth: Int
    private let keepsTypes: Bool

    /// - Parameters:
    ///   - names: The names of members.
    ///   - texts: The scan of strings.
    ///   - keepsTypes: Whether the numbers, lists and objects of a secret stay numbers, lists and objects.
    init(_ bytes: [UInt8], names: SecretNames, texts: SecretScan, keepsTypes: Bool = false, depth: Int = 0) {
        self.bytes = bytes
        self.names = names
        self.texts = texts
        self.keepsTypes = keepsTypes
        self.depth = depth
    }

    /// An object or a list that is open.
    private struct Level {
        let isList: Bool
        /// Whether it is an element of a list.
        let isInList: Bool
        /// The number of the element.
        var element = 0
        /// Whether a member has said that the value beside it is a secret: `{"name": "password", "value": "..."}`, or the
        /// first element of a pair in a list: `[["password", "..."]]`.
        var isSecret = false
        /// The value of a member such as `value`, in the result.
        var start: Int?
        var end: Int?
    }

    func redacted() -> [UInt8] {
        var result: [UInt8] = []
        result.reserveCapacity(bytes.count)
        var levels: [Level] = []
        var index = 0
        while index < bytes.count {
            let byte = bytes[index]
            guard byte == UInt8(ascii: "\"") else {
                Self.follow(byte, &levels, result.count)
                result.append(byte)
                index += 1
                continue
            }
            let end = Self.stringEnd(bytes, from: index)
            let content = unescaped(index + 1, end)
            let colon = afterBlanks(end)
            guard colon < bytes.count, bytes[colon] == UInt8(ascii: ":") else {
                let isPair = levels.last.map { $0.isList && $0.isInList } ?? false
                if isPair, levels[levels.count - 1].element == 0 {
                    levels[levels.count - 1].isSecret = names.contains(content)
                }
                if isPair, levels[levels.count - 1].isSecret, levels[levels.count - 1].element == 1 {
                    result += Self.mark
                } else {
                    result += string(index, end, content)
                }
                index = end
                continue
            }
            let value = afterBlanks(colon + 1)
            result += bytes[index..<value]
            index = value
            guard value < bytes.count else { break }
            let role = levels.isEmpty ? nil : Role(content)
            if role == .name, let end = addName(to: &result, at: value, &levels[levels.count - 1]) {
                index = end
            } else if names.contains(content) || role == .value && levels[levels.count - 1].isSecret {
                index = addMask(to: &result, at: value, of: content)
            } else if role == .value {
                levels[levels.count - 1].start = result.count
                levels[levels.count - 1].end = nil
            }
        }
        return result
    }

    /// Notes a byte outside of strings.
    private static func follow(_ byte: UInt8, _ levels: inout [Level], _ count: Int) {
        switch byte {
        case UInt8(ascii: "{"), UInt8(ascii: "["):
            levels.append(Level(isList: byte == UInt8(ascii: "["), isInList: levels.last?.isList ?? false))
        case UInt8(ascii: "}"), UInt8(ascii: "]"):
            levels.removeLast(levels.isEmpty ? 0 : 1)
        case UInt8(ascii: ","):
            guard !levels.isEmpty else { return }
            levels[levels.count - 1].element += 1
            if levels[levels.count - 1].start != nil, levels[levels.count - 1].end == nil {
                levels[levels.count - 1].end = count
            }
        default: break
        }
    }

    /// The part of a member in a pair of a name and a value, as lists of header fields and variables have it.
    private enum Role {
        case name, value

        private static let nameMembers = Set(
            [
                "attribute", "field", "fieldname", "header", "headername", "id", "k", "key", "label", "name", "param",
                "parameter", "paramname", "property", "setting", "variable",
            ].map { Array($0.utf8) }
        )
        private static let valueEnds = ["value", "values", "val"].map { Array($0.utf8) }

        init?(_ content: [UInt8]) {
            guard content.count <= 32 else { return nil }
            let name = SecretNames.normalized(content)
            if Self.nameMembers.contains(name) {
                self = .name
            } else if name == [UInt8(ascii: "v")]
                || Self.valueEnds.contains(where: { name.suffix($0.count) == $0[...] })
            {
                self = .value
            } else {
                return nil
            }
        }
    }

    /// Adds the name of a pair, a string at an index, if it is that of a secret, and returns the index behind it. A value that
    /// came before is replaced.
    private func addName(to result: inout [UInt8], at index: Int, _ level: inout Level) -> Int? {
        guard bytes[index] == UInt8(ascii: "\"") else { return nil }
        let end = Self.stringEnd(bytes, from: index)
        let content = unescaped(index + 1, end)
        guard names.contains(content) else { return nil }
        level.isSecret = true
        if let start = level.start, let last = level.end, start < last {
            let value = JSONSecretScan(Array(result[start..<last]), names: names, texts: texts, keepsTypes: keepsTypes)
            var masked: [UInt8] = []
            _ = value.addMask(to: &masked, at: 0, of: [])
            result.replaceSubrange(start..<last, with: masked)
        }
        (level.start, level.end) = (nil, nil)
        result += string(index, end, content)
        return end
    }

    /// Adds the text in the place of a secret value, and returns the index behind the value.
    /// - Parameter name: The name of its member.
    private func addMask(to result: inout [UInt8], at start: Int, of name: [UInt8]) -> Int {
        let end = Self.valueEnd(bytes, from: start)
        let value = bytes[start..<end]
        if Self.isNoSecret(bytes, start) {
            result += value
            return end
        }
        switch bytes[start] {
        case UInt8(ascii: "-"), UInt8(ascii: "0")...UInt8(ascii: "9"):
            if Self.isCount(name, bytes[start]) {
                result += value
                return end
            }
            if keepsTypes {
                result.append(UInt8(ascii: "0"))
                return end
            }
        case UInt8(ascii: "{"), UInt8(ascii: "["):
            if keepsTypes {
                addMasked(value, to: &result)
                return end
            }
        default: break
        }
        result += Self.mark
        return end
    }

    /// Returns whether the value at an index is `true`, `false`, `null` or an empty string.
    static func isNoSecret(_ bytes: [UInt8], _ start: Int) -> Bool {
        let rest = bytes[start...].prefix(6)
        guard let word = words.first(where: { rest.starts(with: $0) }) else { return false }
        return rest.count == word.count || valueEnds.contains(rest[start + word.count])
    }

    private static let words = ["true", "false", "null", "\"\"", "''"].map { Array($0.utf8) }
    /// Returns whether a byte begins a number.
    static func isNumber(_ byte: UInt8) -> Bool {
        byte == UInt8(ascii: "-") || byte.isDigit
    }

    /// Returns whether a value is a number of tokens.
    /// - Parameter first: Its first byte.
    static func isCount(_ name: some Sequence<UInt8>, _ first: UInt8) -> Bool {
        guard isNumber(first) else { return false }
        let name = SecretNames.normalized(name)
        return counts.contains { name.suffix($0.count) == $0[...] }
    }

    /// The ends of names of numbers of tokens.
    private static let counts = ["tokens", "tokencount"].map { Array($0.utf8) }

    /// Adds a list or an object with all its strings and numbers replaced.
    private func addMasked(_ value: ArraySlice<UInt8>, to result: inout [UInt8]) {
        var index = value.startIndex
        while index < value.endIndex {
            switch bytes[index] {
            case UInt8(ascii: "\""):
                let end = min(Self.stringEnd(bytes, from: index), value.endIndex)
                let colon = afterBlanks(end)
                let isName = colon < value.endIndex && bytes[colon] == UInt8(ascii: ":")
                result += isName || end - index == 2 ? Array(bytes[index..<end]) : Self.mark
                index = end
            case UInt8(ascii: "-"), UInt8(ascii: "0")...UInt8(ascii: "9"):
                let end = value[index...].firstIndex { !Self.numberBytes.contains($0) } ?? value.endIndex
                result.append(UInt8(ascii: "0"))
                index = end
            default:
                result.append(bytes[index])
                index += 1
            }
        }
    }

    private static let numberBytes = Set("+-.0123456789Ee".utf8)

    /// Returns a string that is no name, with its quotation marks.
    private func string(_ start: Int, _ end: Int, _ content: [UInt8]) -> [UInt8] {
        let redacted: [UInt8]
        if let first = content.first(where: { $0 > 0x20 }), first == UInt8(ascii: "{") || first == UInt8(ascii: "[") {
            guard depth < Self.maximumDepth else { return Self.mark }
            let (types, level) = (keepsTypes, depth + 1)
            let inner = JSONSecretScan(content, names: names, texts: texts, keepsTypes: types, depth: level)
            redacted = texts.redacted(inner.redacted())
        } else {
            redacted = texts.redacted(content)
        }
        return redacted == content ? Array(bytes[start..<end]) : quoted(redacted)
    }

    private func afterBlanks(_ start: Int) -> Int {
        var index = start
        while index < bytes.count, bytes[index] <= 0x20 { index += 1 }
        return index
    }

    /// Returns the index behind a string that begins at an index.
    private static func stringEnd(_ bytes: [UInt8], from start: Int) -> Int {
        var index = start + 1
        while index < bytes.count, bytes[index] != UInt8(ascii: "\"") {
            index += bytes[index] == UInt8(ascii: "\\") ? 2 : 1
        }
        return min(index + 1, bytes.count)
    }

    /// Returns the index behind a value that begins at an index.
    static func valueEnd(_ bytes: [UInt8], from start: Int) -> Int {
        switch bytes[start] {
        case UInt8(ascii: "\""): return stringEnd(bytes, from: start)
        case UInt8(ascii: "{"), UInt8(ascii: "["):
            var index = start
            var open = 0
            repeat {
                switch bytes[index] {
                case UInt8(ascii: "\""):
                    index = stringEnd(bytes, from: index)
                    continue
                case UInt8(ascii: "{"), UInt8(ascii: "["): open += 1
                case UInt8(ascii: "}"), UInt8(ascii: "]"): open -= 1
                default: break
                }
                index += 1
            } while open > 0 && index < bytes.count
            return index
        default:
            return bytes[start...].firstIndex { valueEnds.contains($0) } ?? bytes.count
        }
    }

    private static let valueEnds = Set(",}] \t\r\n".utf8)

    /// Returns the content of a string between two indices, without escapes. What is no escape stays.
    private func unescaped(_ start: Int, _ end: Int) -> [UInt8] {
        var rest = bytes[start..<max(start, end)]
        if end > start, rest.last == UInt8(ascii: "\"") { rest = rest.dropLast() }
        guard rest.contains(UInt8(ascii: "\\")) else { return Array(rest) }
        var units: [UInt16] = []
        var text: [UInt8] = []
        func flush() {
            text += String(decoding: units, as: UTF16.self).utf8
            units = []
        }
        while let byte = rest.popFirst() {
            guard byte == UInt8(ascii: "\\"), let escape = rest.popFirst() else {
                flush()
                text.append(byte)
                continue
            }
            if escape == UInt8(ascii: "u"), rest.count >= 4,
                let unit = UInt16(digits: String(decoding: rest.prefix(4), as: UTF8.self), radix: 16)
            {
                units.append(unit)
                rest = rest.dropFirst(4)
                continue
            }
            flush()
            switch escape {
            case UInt8(ascii: "n"): text.append(0x0a)
            case UInt8(ascii: "r"): text.append(0x0d)
            case UInt8(ascii: "t"): text.append(0x09)
            default: text.append(escape)
            }
        }
        flush()
        return text
    }

    /// Returns a JSON string (RFC 8259 section 7).
    private func quoted(_ content: [UInt8]) -> [UInt8] {
        var result = [UInt8(ascii: "\"")]
        for byte in content {
            switch byte {
            case UInt8(ascii: "\""), UInt8(ascii: "\\"): result += [UInt8(ascii: "\\"), byte]
            case 0..<0x20:
                let digits = String(byte, radix: 16)
                result += "\\u\(String(repeating: "0", count: 4 - digits.count))\(digits)".utf8
            default: result.append(byte)
            }
        }
        return result + [UInt8(ascii: "\"")]
    }
}
