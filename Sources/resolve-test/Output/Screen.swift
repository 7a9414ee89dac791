// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

/// The width and style of a report's output.
struct Screen: Sendable {
    /// The number of columns; `.max` where lines are not folded, as in a file.
    var width: Int
    var style: Style
    /// Whether characters beyond ASCII can be shown.
    var isUnicode = false

    /// A file: no color, no folding.
    static let plain = Screen(width: .max, style: .plain)
}

/// Colors, or none.
struct Style: Sendable {
    var isColoured: Bool

    static let plain = Style(isColoured: false)

    init(isColoured: Bool) { self.isColoured = isColoured }

    /// Creates a style. Color is for terminals, and never with `NO_COLOR` (no-color.org: set and not empty) or `TERM=dumb`.
    init(terminal: Bool, environment: [String: String]) {
        isColoured = terminal && (environment["NO_COLOR"] ?? "").isEmpty && environment["TERM"] != "dumb"
    }

    func good(_ text: String) -> String { paint(text, "32") }
    func bad(_ text: String) -> String { paint(text, "31") }
    func bar(_ text: String) -> String { paint(text, "36") }
    func quiet(_ text: String) -> String { paint(text, "2") }

    /// Returns text with SGR parameters of ECMA-48 section 8.3.117.
    private func paint(_ text: String, _ parameter: String) -> String {
        isColoured && !text.isEmpty ? "\u{1B}[\(parameter)m\(text)\u{1B}[0m" : text
    }
}

/// Rows of cells, each column as wide as its widest cell.
struct Columns {
    private var rows: [[String]] = []

    mutating func append(_ row: [String]) { rows.append(row) }

    /// Returns one line for each row, columns `gap` blanks apart, without blanks at the ends.
    func lines(gap: Int = 2) -> [String] {
        let count = rows.map(\.count).max() ?? 0
        let widths = (0..<count).map { column in
            rows.map { $0.indices.contains(column) ? $0[column].count : 0 }.max() ?? 0
        }
        return rows.map { row in
            let padded = row.enumerated().map { $1.padded(to: widths[$0]) }
            return padded.joined(separator: String(repeating: " ", count: gap)).trimmingTrailingBlanks()
        }
    }
}

/// A label and its text, folded between segments if the screen is narrow.
enum LabelledLine {
    static func text(_ label: String, _ segments: [String], labelWidth: Int, screen: Screen) -> String {
        var lines: [String] = []
        var line = label.padded(to: labelWidth)
        var isFirst = true
        for segment in segments where !segment.isEmpty {
            let extended = isFirst ? line + segment : line + "   " + segment
            if !isFirst, extended.count > screen.width {
                lines.append(line)
                line = String(repeating: " ", count: labelWidth) + segment
            } else {
                line = extended
            }
            isFirst = false
        }
        return (lines + [line]).map { $0.trimmingTrailingBlanks() + "\n" }.joined()
    }
}

extension String {
    func padded(to width: Int) -> String { count < width ? self + String(repeating: " ", count: width - count) : self }

    func paddedLeft(to width: Int) -> String {
        count < width ? String(repeating: " ", count: width - count) + self : self
    }

    func trimmingTrailingBlanks() -> String {
        guard let end = lastIndex(where: { $0 != " " }) else { return "" }
        return String(self[...end])
    }
}
