// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

#if CommandLine
internal import HTTPDNSCore
internal import HTTPTypes

/// Text of arguments and header fields, whose bytes need not be UTF-8.
///
/// A byte that is no part of UTF-8 is one of the characters U+10FF80 to U+10FFFF, which have no meaning, until the text is
/// written or sent: then it is that byte again. Python does the same with surrogates (PEP 383), which a Swift text cannot have.
/// These characters themselves are kept as bytes, so no two values have the same text.
enum RawText {
    private static let first: UInt32 = 0x10_ff80

    static func text(_ bytes: [UInt8]) -> String {
        if let text = String(validating: bytes, as: UTF8.self), !isRaw(text) { return text }
        var text = String.UnicodeScalarView()
        var rest = bytes[...]
        while let byte = rest.first {
            let character = (1...min(4, rest.count)).lazy.compactMap { count in
                String(validating: rest.prefix(count), as: UTF8.self)?.unicodeScalars.first
            }.first
            if let character, character.value < first {
                text.append(character)
                rest = rest.dropFirst(UTF8.width(character))
            } else {
                text.append(Unicode.Scalar(first + UInt32(byte & 0x7f)) ?? " ")
                rest = rest.dropFirst()
            }
        }
        return String(text)
    }

    static func text(_ field: HTTPField) -> String { text(field.withUnsafeBytesOfValue { Array($0) }) }

    static func bytes(_ text: String) -> [UInt8] {
        guard isRaw(text) else { return Array(text.utf8) }
        return text.unicodeScalars.flatMap { scalar in
            scalar.value >= first ? [UInt8(truncatingIfNeeded: scalar.value)] : Array(UTF8.encode(scalar) ?? .init())
        }
    }

    /// Whether a text has bytes that are no UTF-8.
    static func isRaw(_ text: String) -> Bool {
        // Each of the characters has this first byte.
        text.utf8.contains(0xf4) && text.unicodeScalars.contains { $0.value >= first }
    }

    /// Returns the text of a field's value for JSON, and whether it is in ISO-8859-1: a character for each byte, for a value
    /// that is not UTF-8.
    static func json(_ field: HTTPField) -> (text: String, isLatin1: Bool) {
        field.latin1Text.map { ($0, true) } ?? (field.value, false)
    }

    /// Returns the texts of the arguments of a command line, and the position, from 1, of the first that is not UTF-8 and no
    /// value of a header field: other values are texts.
    static func arguments(_ all: [[UInt8]]) -> (texts: [String], unreadable: Int?) {
        var texts: [String] = []
        var unreadable: Int?
        for (index, bytes) in all.enumerated() {
            let isField = isField(bytes, after: texts.last)
            texts.append(isField ? text(bytes) : String(decoding: bytes, as: UTF8.self))
            if !isField, unreadable == nil, String(validating: bytes, as: UTF8.self) == nil { unreadable = index + 1 }
        }
        return (texts, unreadable)
    }

    /// The options whose values are those of header fields.
    private static let options = ["-H", "-A", "-b", "-e", "--header", "--user-agent", "--cookie", "--referer"]
    /// Options without a value that may stand in front of one of them in one argument.
    private static let flags: Set<Character> = ["f", "g", "G", "i", "I", "k", "L", "s", "S", "v"]

    private static func isField(_ bytes: [UInt8], after previous: String?) -> Bool {
        if let previous, options.contains(previous) { return true }
        if let previous, previous.count > 2, previous.hasPrefix("-"), let last = previous.last,
            options.contains("-\(last)"), previous.dropFirst().dropLast().allSatisfy(flags.contains)
        {
            return true
        }
        return options.contains { option in
            bytes.starts(with: (option.hasPrefix("--") ? "\(option)=" : option).utf8)
        }
    }
}
#endif
