// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

internal import Foundation
internal import HTTPDNSPrimitives

/// A JSON value of a report.
///
/// Synthesized encoding leaves out a member without a value. Here it is null, so that an object always has the same keys.
enum JSONValue: Encodable, Sendable {
    case null
    case bool(Bool)
    case integer(Int)
    /// A number, rounded to that many decimal places; null when it is infinite or not a number.
    case decimal(Double, places: Int)
    case text(String)
    case array([JSONValue])
    case object([String: JSONValue])

    /// Returns text, or null.
    static func optional(_ text: String?) -> JSONValue { text.map(JSONValue.text) ?? .null }

    /// Returns a whole number, or null.
    static func optional(_ number: Int?) -> JSONValue { number.map(JSONValue.integer) ?? .null }

    /// Returns seconds to the microsecond, or null.
    static func seconds(_ duration: Duration?) -> JSONValue {
        duration.map { .decimal($0.inSeconds, places: 6) } ?? .null
    }

    /// The value without line breaks.
    var oneLine: String { rendered(isIndented: false) }

    /// The value with a line for each member, two spaces deeper for each level.
    var indented: String { rendered(isIndented: true) }

    private func rendered(isIndented: Bool) -> String {
        // Encoding cannot fail: it refuses only numbers that are not finite, and these are null already.
        (try? JSONText.text(of: self, isIndented: isIndented)) ?? "null"
    }

    func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        switch self {
        case .null: try container.encodeNil()
        case .bool(let value): try container.encode(value)
        case .integer(let value): try container.encode(value)
        case .decimal(let value, let places): try container.encode(Self.rounded(value, places: places))
        case .text(let text): try container.encode(text)
        case .array(let values): try container.encode(values)
        case .object(let members): try container.encode(members)
        }
    }

    private static func rounded(_ value: Double, places: Int) -> Double? {
        let scale = (0..<places).reduce(1.0) { scale, _ in scale * 10 }
        // Adding zero turns -0 into 0.
        let rounded = (value * scale).rounded() / scale + 0
        return rounded.isFinite ? rounded : nil
    }
}

extension [String: JSONValue] {
    /// Returns the members of an object together with more of them.
    func adding(_ members: [String: JSONValue]) -> [String: JSONValue] { merging(members) { _, new in new } }
}

/// The JSON text of all output: keys in alphabetical order, so that the output of runs can be compared.
enum JSONText {
    static func text(of value: some Encodable, isIndented: Bool) throws -> String {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        if isIndented { encoder.outputFormatting.insert(.prettyPrinted) }
        return escaped(String(decoding: try encoder.encode(value), as: UTF8.self))
    }

    /// Escapes DEL and the C1 controls. JSON permits them in strings, but a terminal would obey them.
    ///
    /// They occur only inside strings (RFC 8259 section 2), where an escape means the same (section 7).
    private static func escaped(_ text: String) -> String {
        guard text.unicodeScalars.contains(where: isTerminalControl) else { return text }
        return text.unicodeScalars.reduce(into: "") { result, scalar in
            if isTerminalControl(scalar) {
                result += "\\u00\(String(scalar.value, radix: 16))"
            } else {
                result.unicodeScalars.append(scalar)
            }
        }
    }

    private static func isTerminalControl(_ scalar: Unicode.Scalar) -> Bool { (0x7f..<0xa0).contains(scalar.value) }
}
