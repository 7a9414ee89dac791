// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

internal import HTTPDNSPrimitives

/// A parser for JSON texts (RFC 8259) of services: untrusted bytes.
///
/// Total: every sequence of bytes gives a value or a ``JSONError``, in time and memory linear in its length, with at most
/// ``maximumDepth`` calls on the stack. Decisions where RFC 8259 leaves room:
///
/// - a duplicate key in one object makes the text invalid: parsers differ in which value they use (section 4), and an answer
///   must not be ambiguous;
/// - only UTF-8 without a byte order mark, and no lone surrogates in `\u` escapes (section 8);
/// - lists and objects at most ``maximumDepth`` deep, numbers of at most ``maximumNumberOctets``.
///
/// The project has its own parser because FoundationEssentials' `JSONDecoder` would add Foundation to a module without it. It
/// also recurses hundreds of calls deep, and silently accepts duplicate keys.
package struct JSONReader {
    /// The maximum nesting of lists and objects. JSON DNS needs 3, vendors' answers 5.
    package static let maximumDepth = 16
    /// The maximum length of a number. Those of answers have 10 digits; a `Double` has 17 significant ones.
    package static let maximumNumberOctets = 64

    private let octets: [UInt8]
    private var offset = 0

    private init(_ octets: [UInt8]) { self.octets = octets }

    /// Returns the value of the JSON text in `octets`, from the first to the last.
    package static func read(_ octets: [UInt8]) throws(JSONError) -> JSONValue {
        guard String(validating: octets, as: UTF8.self) != nil else { throw JSONError(at: nil, "it is not UTF-8") }
        var reader = JSONReader(octets)
        let value = try reader.value(depth: 0)
        reader.skipBlanks()
        guard reader.offset == octets.count else { throw reader.error("something is left behind the value") }
        return value
    }

    private func error(_ reason: String) -> JSONError { JSONError(at: offset, reason) }

    private var current: UInt8? { offset < octets.count ? octets[offset] : nil }

    private mutating func skipBlanks() {
        while let octet = current, octet == 0x20 || octet == 0x09 || octet == 0x0a || octet == 0x0d { offset += 1 }
    }

    /// Skips `octet` if it is the next one.
    private mutating func take(_ octet: UInt8) -> Bool {
        guard current == octet else { return false }
        offset += 1
        return true
    }

    private mutating func value(depth: Int) throws(JSONError) -> JSONValue {
        skipBlanks()
        switch current {
        case nil: throw error("the text ends where a value belongs")
        case UInt8(ascii: "{"): return try object(depth: depth + 1)
        case UInt8(ascii: "["): return try array(depth: depth + 1)
        case UInt8(ascii: "\""): return .string(try string())
        case UInt8(ascii: "t"): return try word("true", .bool(true))
        case UInt8(ascii: "f"): return try word("false", .bool(false))
        case UInt8(ascii: "n"): return try word("null", .null)
        default: return .number(try number())
        }
    }

    private mutating func word(_ word: String, _ value: JSONValue) throws(JSONError) -> JSONValue {
        guard octets[offset...].starts(with: word.utf8) else { throw error("no value begins like this") }
        offset += word.utf8.count
        return value
    }

    private func checkDepth(_ depth: Int) throws(JSONError) {
        guard depth <= Self.maximumDepth else {
            throw error("lists and objects are more than \(Self.maximumDepth) deep")
        }
    }

    private mutating func array(depth: Int) throws(JSONError) -> JSONValue {
        try checkDepth(depth)
        offset += 1
        var elements: [JSONValue] = []
        skipBlanks()
        if take(UInt8(ascii: "]")) { return .array(elements) }
        while true {
            elements.append(try value(depth: depth))
            skipBlanks()
            if take(UInt8(ascii: "]")) { return .array(elements) }
            guard take(UInt8(ascii: ",")) else { throw error("a comma or ] belongs here") }
        }
    }

    private mutating func object(depth: Int) throws(JSONError) -> JSONValue {
        try checkDepth(depth)
        offset += 1
        var members: [String: JSONValue] = [:]
        skipBlanks()
        if take(UInt8(ascii: "}")) { return .object(members) }
        while true {
            skipBlanks()
            guard current == UInt8(ascii: "\"") else { throw error("a key in quotes belongs here") }
            let start = offset
            let key = try string()
            skipBlanks()
            guard take(UInt8(ascii: ":")) else { throw error("a colon belongs here") }
            let value = try value(depth: depth)
            guard members.updateValue(value, forKey: key) == nil else {
                throw JSONError(at: start, "a key is there twice")
            }
            skipBlanks()
            if take(UInt8(ascii: "}")) { return .object(members) }
            guard take(UInt8(ascii: ",")) else { throw error("a comma or } belongs here") }
        }
    }
}

/// The reason why bytes are rejected as JSON.
package struct JSONError: Error, Hashable, Sendable, CustomStringConvertible {
    /// The offset in the text, in bytes; `nil` for an error of the text as a whole.
    package let offset: Int?
    /// The reason, without any part of the text.
    package let reason: String

    package init(at offset: Int?, _ reason: String) {
        self.offset = offset
        self.reason = reason
    }

    package var description: String { "not JSON" + (offset.map { " at byte \($0)" } ?? "") + ": \(reason)" }
}

// MARK: - Numbers and strings

extension JSONReader {
    /// Reads `-12.5e3` and the like (RFC 8259 section 6).
    private mutating func number() throws(JSONError) -> Double {
        let start = offset
        _ = take(UInt8(ascii: "-"))
        let first = current
        let digits = skipDigits()
        guard digits > 0 else {
            offset = start
            throw error("no value begins like this")
        }
        guard digits == 1 || first != UInt8(ascii: "0") else { throw error("a number with a leading zero") }
        if take(UInt8(ascii: ".")) {
            guard skipDigits() > 0 else { throw error("a digit belongs behind the point") }
        }
        if take(UInt8(ascii: "e")) || take(UInt8(ascii: "E")) {
            if !take(UInt8(ascii: "+")) { _ = take(UInt8(ascii: "-")) }
            guard skipDigits() > 0 else { throw error("a digit belongs into the exponent") }
        }
        guard offset - start <= Self.maximumNumberOctets,
            let number = Double(String(decoding: octets[start..<offset], as: UTF8.self))
        else { throw JSONError(at: start, "a number of more than \(Self.maximumNumberOctets) bytes") }
        return number
    }

    private mutating func skipDigits() -> Int {
        let start = offset
        while let octet = current, octet.isDigit { offset += 1 }
        return offset - start
    }

    private mutating func string() throws(JSONError) -> String {
        offset += 1
        var text: [UInt8] = []
        while let octet = current {
            offset += 1
            switch octet {
            case UInt8(ascii: "\""): return String(decoding: text, as: UTF8.self)
            case UInt8(ascii: "\\"): try escape(into: &text)
            case 0..<0x20: throw JSONError(at: offset - 1, "a control character in a string")
            default: text.append(octet)
            }
        }
        throw error("the text ends inside a string")
    }

    private mutating func escape(into text: inout [UInt8]) throws(JSONError) {
        guard let letter = current else { throw error("the text ends inside a string") }
        offset += 1
        switch letter {
        case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"): text.append(letter)
        case UInt8(ascii: "b"): text.append(0x08)
        case UInt8(ascii: "f"): text.append(0x0c)
        case UInt8(ascii: "n"): text.append(0x0a)
        case UInt8(ascii: "r"): text.append(0x0d)
        case UInt8(ascii: "t"): text.append(0x09)
        case UInt8(ascii: "u"): text.append(contentsOf: String(try escapedScalar()).utf8)
        default: throw JSONError(at: offset - 2, "an escape that JSON does not know")
        }
    }

    /// Returns the scalar after `\u`, of one code unit or of a surrogate pair.
    private mutating func escapedScalar() throws(JSONError) -> Unicode.Scalar {
        let start = offset - 2
        let first = try hexadecimalUnit()
        if let scalar = Unicode.Scalar(first) { return scalar }
        guard (0xd800...0xdbff).contains(first), take(UInt8(ascii: "\\")), take(UInt8(ascii: "u")) else {
            throw JSONError(at: start, "half of a surrogate pair")
        }
        let second = try hexadecimalUnit()
        guard (0xdc00...0xdfff).contains(second),
            let scalar = Unicode.Scalar(0x10000 + (first - 0xd800) << 10 + (second - 0xdc00))
        else { throw JSONError(at: start, "half of a surrogate pair") }
        return scalar
    }

    private mutating func hexadecimalUnit() throws(JSONError) -> UInt32 {
        var unit: UInt32 = 0
        for _ in 0..<4 {
            guard let octet = current, let digit = Character(Unicode.Scalar(octet)).hexDigitValue else {
                throw error("four hexadecimal digits belong behind \\u")
            }
            unit = unit << 4 | UInt32(digit)
            offset += 1
        }
        return unit
    }
}

/// A JSON value (RFC 8259), read by ``JSONReader``.
package enum JSONValue: Hashable, Sendable {
    case null
    case bool(Bool)
    /// A number; infinite beyond the range of a `Double`.
    case number(Double)
    case string(String)
    case array([JSONValue])
    case object([String: JSONValue])

    /// Returns the value of a key; `nil` when this is not an object, or has no such key.
    package subscript(key: String) -> JSONValue? {
        guard case .object(let members) = self else { return nil }
        return members[key]
    }

    /// The text; `nil` when this is not a string.
    package var text: String? {
        guard case .string(let text) = self else { return nil }
        return text
    }

    /// The number as a `UInt16`; `nil` when this is not a whole number from 0 to 65,535.
    package var uint16: UInt16? {
        guard case .number(let number) = self else { return nil }
        return UInt16(exactly: number)
    }

    /// The kind of the value, for messages, without its content.
    package var kind: String {
        switch self {
        case .null: "null"
        case .bool: "a truth value"
        case .number: "a number"
        case .string: "a string"
        case .array: "a list"
        case .object: "an object"
        }
    }
}
