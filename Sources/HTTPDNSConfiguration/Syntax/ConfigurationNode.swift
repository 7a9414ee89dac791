// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

internal import HTTPDNSPrimitives

/// A part of a configuration file: its text and its position.
///
/// Scalars are text: `no`, `1:30` and `1.10` are not converted to a truth value, a number of minutes or a fraction.
package struct ConfigurationNode: Sendable {
    /// One key of a mapping with its value.
    package struct Entry: Sendable {
        package var key: ConfigurationNode
        package var value: ConfigurationNode
    }

    package enum Content: Sendable {
        /// Text; `isPlain` is true when it was written without quotes.
        case scalar(String, isPlain: Bool)
        case sequence([ConfigurationNode])
        case mapping([Entry])
    }

    package var content: Content
    package var position: Position

    package init(_ content: Content, at position: Position) {
        self.content = content
        self.position = position
    }

    /// The text of a scalar.
    package var text: String? {
        if case .scalar(let text, _) = content { text } else { nil }
    }

    /// Whether the value is empty: no value after the colon, or YAML's words for nothing.
    package var isEmpty: Bool {
        guard case .scalar(let text, isPlain: true) = content, text.utf8.count <= 4 else { return false }
        return text == "" || text == "~" || text == "null"
    }

    var isMapping: Bool {
        if case .mapping = content { true } else { false }
    }

    /// A description of the node, for errors.
    package var found: String {
        switch content {
        case .scalar(let text, _): isEmpty ? "nothing" : quoted(text)
        case .sequence(let nodes): nodes.isEmpty ? "an empty list" : "a list"
        case .mapping(let entries): entries.isEmpty ? "an empty mapping" : "a mapping"
        }
    }
}

extension HTTPDNSSourceLocation {
    /// Creates the location of a position in a file, without a line for a value that comes from no file.
    init(_ file: String, _ position: Position?) {
        let position = position == Position.none ? nil : position
        self.init(file: file, line: position?.line, column: position?.column)
    }
}

/// A position in a file.
package struct Position: Hashable, Comparable, Sendable {
    /// The line, from 1.
    package var line: Int
    /// The column, from 1, in Unicode scalars.
    package var column: Int

    /// The position of a value that comes from no file.
    static let none = Position(line: 0, column: 0)

    package init(line: Int, column: Int) {
        self.line = line
        self.column = column
    }

    package static func < (left: Position, right: Position) -> Bool {
        (left.line, left.column) < (right.line, right.column)
    }

    /// Creates the position of the scalar at `index` in `text`. Lines end as in libyaml: LF, CR, CR LF, NEL, LS, PS.
    package init(of index: String.Index, in text: String) {
        self.init(line: 1, column: 1)
        var previous: Unicode.Scalar?
        for scalar in text[..<index].unicodeScalars {
            switch scalar {
            case "\n" where previous == "\r":
                break
            case "\n", "\r", "\u{85}", "\u{2028}", "\u{2029}":
                line += 1
                column = 1
            default:
                column += 1
            }
            previous = scalar
        }
    }
}
