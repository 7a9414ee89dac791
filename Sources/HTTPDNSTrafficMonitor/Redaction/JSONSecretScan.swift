// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

internal import HTTPDNS

/// The replacement of secrets in JSON: the values of members, and the secrets of texts in strings.
///
/// It reads tokens and not values, so it also finds the secrets of a JSON text that ends too early or has errors. Everything
/// else stays byte for byte.
struct JSONSecretScan {
    /// The most levels of JSON texts in strings of JSON texts that are read. A deeper one is replaced.
    private static let maximumDepth = 4

    private let bytes: [UInt8]
    private let names: SecretNames
    private let texts: SecretScan
    private let depth: Int

    /// - Parameters:
    ///   - names: The names of members.
    ///   - texts: The scan of strings.
    init(_ bytes: [UInt8], names: SecretNames, texts: SecretScan, depth: Int = 0) {
        self.bytes = bytes
        self.names = names
        self.texts = texts
        self.depth = depth
    }

    func redacted() -> [UInt8] {
        var result: [UInt8] = []
        result.reserveCapacity(bytes.count)
        var index = 0
        while index < bytes.count {
            guard bytes[index] == UInt8(ascii: "\"") else {
                result.append(bytes[index])
                index += 1
                continue
            }
            let end = Self.stringEnd(bytes, from: index)
            let content = unescaped(index + 1, end)
            let colon = afterBlanks(end)
            guard colon < bytes.count, bytes[colon] == UInt8(ascii: ":") else {
                result += string(index, end, content)
                index = end
                continue
            }
            let value = afterBlanks(colon + 1)
            result += bytes[index..<value]
            index = value
            if names.contains(content), value < bytes.count {
                result += "\"\(Redactor.mark)\"".utf8
                index = Self.valueEnd(bytes, from: value)
            }
        }
        return result
    }

    /// Returns a string that is no name, with its quotation marks.
    private func string(_ start: Int, _ end: Int, _ content: [UInt8]) -> [UInt8] {
        let redacted: [UInt8]
        if let first = content.first(where: { $0 > 0x20 }), first == UInt8(ascii: "{") || first == UInt8(ascii: "[") {
            guard depth < Self.maximumDepth else { return Array("\"\(Redactor.mark)\"".utf8) }
            redacted = JSONSecretScan(content, names: names, texts: texts, depth: depth + 1).redacted()
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
            let ends = Set(",}] \t\r\n".utf8)
            return bytes[start...].firstIndex(where: ends.contains) ?? bytes.count
        }
    }

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
                let unit = UInt16(String(decoding: rest.prefix(4), as: UTF8.self), radix: 16)
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
