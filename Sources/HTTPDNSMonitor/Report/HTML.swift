// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

internal import HTTPDNSPrimitives

/// A piece of HTML. Literals are markup, and all values in them are escaped: this is the only place where text becomes markup.
struct HTML: ExpressibleByStringInterpolation, Sendable {
    /// The most scalars of one value.
    static let maximumScalars = 4096

    private(set) var text: String

    init(stringLiteral literal: String) { text = literal }

    init(stringInterpolation interpolation: StringInterpolation) { text = interpolation.text }

    /// Joins pieces.
    init(_ pieces: some Sequence<HTML>) { text = pieces.map(\.text).joined() }

    static func += (left: inout HTML, right: HTML) { left.text += right.text }

    /// The values of a literal.
    struct StringInterpolation: StringInterpolationProtocol {
        fileprivate var text = ""

        init(literalCapacity: Int, interpolationCount: Int) { text.reserveCapacity(literalCapacity) }

        mutating func appendLiteral(_ literal: String) { text += literal }

        /// Appends markup.
        mutating func appendInterpolation(_ html: HTML) { text += html.text }

        /// Appends escaped text, for content and for attributes in quotation marks. It is cut above ``HTML/maximumScalars``.
        mutating func appendInterpolation(_ value: String) {
            text += HTML.escaped(value, limit: HTML.maximumScalars, keepsLines: false)
        }

        /// Appends escaped text with its tabs and line feeds, for preformatted content.
        mutating func appendInterpolation(lines value: String, limit: Int) {
            text += HTML.escaped(value, limit: limit, keepsLines: true)
        }

        mutating func appendInterpolation(_ number: Int) { text += String(number) }

        /// Appends a share as a percentage with two decimal places, from 0 to 100, for a style.
        mutating func appendInterpolation(percent share: Double) {
            let hundredths = Int((min(max(share, 0), 1) * 10_000).rounded())
            let fraction = hundredths % 100
            text += "\(hundredths / 100).\(fraction < 10 ? "0" : "")\(fraction)%"
        }
    }

    /// Returns text without markup: the characters of markup as references, and those that are hidden, that control a screen or
    /// that change the reading direction as `\u{202e}`.
    private static func escaped(_ text: String, limit: Int, keepsLines: Bool) -> String {
        var result = ""
        for (count, scalar) in text.unicodeScalars.enumerated() {
            guard count < limit else { return result + "…" }
            switch scalar {
            case "<": result += "&lt;"
            case ">": result += "&gt;"
            case "&": result += "&amp;"
            case "\"": result += "&quot;"
            case "'": result += "&#39;"
            case "`": result += "&#96;"
            case "\\": result += "\\"
            case "\n" where keepsLines, "\t" where keepsLines: result.unicodeScalars.append(scalar)
            case " "..."~": result.unicodeScalars.append(scalar)
            default: result += scalar.displayText
            }
        }
        return result
    }
}
