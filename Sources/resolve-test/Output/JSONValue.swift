// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

#if CommandLine
internal import Foundation
internal import HTTPDNS
internal import HTTPDNSPrimitives

/// A JSON value of a report. An object always has the same keys: a member without a value is null.
typealias JSONValue = CodableJSON

extension CodableJSON {
    static func integer(_ number: Int) -> CodableJSON { .integer(Int64(number)) }

    static func array(_ values: [CodableJSON]) -> CodableJSON { .list(values) }

    /// Returns a number, rounded to that many decimal places; null when it is infinite or not a number.
    static func decimal(_ value: Double, places: Int) -> CodableJSON {
        let scale = (0..<places).reduce(1.0) { scale, _ in scale * 10 }
        // Adding zero turns -0 into 0.
        let rounded = (value * scale).rounded() / scale + 0
        return rounded.isFinite ? .number(rounded) : .null
    }

    static func optional(_ text: String?) -> CodableJSON { text.map(CodableJSON.text) ?? .null }

    static func optional(_ number: Int?) -> CodableJSON { number.map { .integer($0) } ?? .null }

    /// Returns seconds to the microsecond, or null.
    static func seconds(_ duration: Duration?) -> CodableJSON {
        duration.map { .decimal($0.inSeconds, places: 6) } ?? .null
    }

    // Encoding cannot fail: it refuses only numbers that are not finite, and these are null already.

    /// The value without line breaks.
    var oneLine: String { (try? JSONText.text(of: self, isIndented: false)) ?? "null" }

    /// The value with a line for each member, two spaces deeper for each level.
    var indented: String { (try? JSONText.text(of: self, isIndented: true)) ?? "null" }
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
#endif
