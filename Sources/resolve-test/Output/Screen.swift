// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

#if CommandLine
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

struct Style: Sendable {
    var isColoured: Bool

    static let plain = Style(isColoured: false)

    init(isColoured: Bool) { self.isColoured = isColoured }

    /// Creates a style. Color is for terminals, and never with `NO_COLOR` (no-color.org: set and not empty) or `TERM=dumb`.
    init(terminal: Bool, environment: [String: String]) {
        isColoured = terminal && (environment["NO_COLOR"] ?? "").isEmpty && environment["TERM"] != "dumb"
    }

    /// The meaning of a color, with its SGR parameter of ECMA-48 section 8.3.117.
    enum Tone: String {
        case plain = "", good = "32", bad = "31", bar = "36", quiet = "2"
    }

    func good(_ text: String) -> String { paint(text, .good) }
    func bad(_ text: String) -> String { paint(text, .bad) }
    func bar(_ text: String) -> String { paint(text, .bar) }
    func quiet(_ text: String) -> String { paint(text, .quiet) }

    func paint(_ text: String, _ tone: Tone) -> String {
        isColoured && !text.isEmpty && tone != .plain ? "\u{1B}[\(tone.rawValue)m\(text)\u{1B}[0m" : text
    }
}

/// Rows of cells, each column as wide as its widest cell.
struct Columns {
    private var rows: [[String]]
    /// The columns whose cells end together, such as those of numbers.
    private let rightAligned: Set<Int>

    init(_ rows: [[String]] = [], rightAligned: Set<Int> = []) { (self.rows, self.rightAligned) = (rows, rightAligned) }

    mutating func append(_ row: [String]) { rows.append(row) }

    /// Returns one line for each row, columns `gap` blanks apart, without blanks at the ends.
    /// - Parameter width: The columns of the screen. A row that is wider is folded between its cells.
    func lines(gap: Int = 2, width: Int = .max) -> [String] {
        let count = rows.map(\.count).max() ?? 0
        let widths = (0..<count).map { column in
            rows.map { $0.indices.contains(column) ? $0[column].count : 0 }.max() ?? 0
        }
        let separator = String(repeating: " ", count: gap)
        return rows.flatMap { row in
            let padded = row.enumerated().map { column, cell in
                rightAligned.contains(column) ? cell.paddedLeft(to: widths[column]) : cell.padded(to: widths[column])
            }
            let line = padded.joined(separator: separator).trimmingTrailingBlanks()
            return line.count <= width ? [line] : Self.folded(padded, separator: separator, width: width)
        }
    }

    /// Returns the cells in as many lines as they need; those after the first one are indented by four columns.
    private static func folded(_ cells: [String], separator: String, width: Int) -> [String] {
        var lines: [String] = []
        var line = ""
        for cell in cells {
            let text = cell.trimmingTrailingBlanks()
            if line.count + text.count > width, !text.isEmpty, line.contains(where: { $0 != " " }) {
                lines.append(line.trimmingTrailingBlanks())
                line = String(repeating: " ", count: FoldedText.indentation)
            }
            line += (lines.isEmpty ? cell : text) + (lines.isEmpty || !text.isEmpty ? separator : "")
        }
        lines.append(line.trimmingTrailingBlanks())
        return lines.flatMap { FoldedText.text($0, width: width).split(separator: "\n").map(String.init) }
    }
}

/// Sentences, folded at blanks if the screen is narrow.
enum FoldedText {
    /// The least indentation of a line that continues another one.
    static let indentation = 4

    /// Returns the lines, each folded at the last blank that fits.
    static func text(_ text: String, width: Int) -> String {
        text.split(separator: "\n", omittingEmptySubsequences: false).flatMap { folded($0, width: width) }
            .joined(separator: "\n")
    }

    /// Returns the index after so many visible characters; nil when there are no more. Colors have no width.
    private static func index(after width: Int, in text: String) -> String.Index? {
        var count = 0
        var isColor = false
        for index in text.indices {
            if isColor {
                isColor = text[index] != "m"
            } else if text[index] == "\u{1B}" {
                isColor = true
            } else {
                if count == width { return index }
                count += 1
            }
        }
        return nil
    }

    /// Returns the words of a text in lines of this width; a word that is wider has its own line.
    static func parts(_ text: String, width: Int) -> [String] {
        guard text.visibleCount > width else { return [text] }
        var lines: [String] = []
        for word in text.split(separator: " ") {
            if let last = lines.last, last.visibleCount + 1 + String(word).visibleCount <= width {
                lines[lines.count - 1] = last + " " + word
            } else {
                lines.append(String(word))
            }
        }
        return lines
    }

    private static func folded(_ line: Substring, width: Int) -> [String] {
        var lines: [String] = []
        var rest = String(line)
        let indentation = String(repeating: " ", count: max(Self.indentation, line.prefix { $0 == " " }.count))
        while let end = Self.index(after: width, in: rest) {
            let start = rest.firstIndex { $0 != " " } ?? rest.endIndex
            let fits = start < end ? rest[start...end].lastIndex(of: " ") : nil
            guard let blank = fits ?? rest[start...].firstIndex(of: " ") else { break }
            lines.append(String(rest[..<blank]).trimmingTrailingBlanks())
            rest = indentation + rest[blank...].drop { $0 == " " }
        }
        return lines + [rest]
    }
}

/// A label and its text, folded between segments if the screen is narrow.
enum LabelledLine {
    /// - Parameter isVerbatim: Whether a segment is kept in one line, as a command that users paste. Any other segment that is wider
    ///   than the screen is folded at blanks.
    static func text(
        _ label: String,
        _ segments: [String],
        labelWidth: Int,
        screen: Screen,
        isVerbatim: Bool = false
    ) -> String {
        let room = screen.width - labelWidth
        let segments =
            isVerbatim || room < minimumRoom ? segments : segments.flatMap { FoldedText.parts($0, width: room) }
        var lines: [String] = []
        var line = label.padded(to: labelWidth)
        var isFirst = true
        for segment in segments where !segment.isEmpty {
            let extended = isFirst ? line + segment : line + "   " + segment
            if !isFirst, extended.visibleCount > screen.width {
                lines.append(line)
                line = String(repeating: " ", count: labelWidth) + segment
            } else {
                line = extended
            }
            isFirst = false
        }
        return (lines + [line]).map { $0.trimmingTrailingBlanks() + "\n" }.joined()
    }

    /// The columns beside the label from which on segments are folded.
    private static let minimumRoom = 10
}

extension String {
    /// The number of characters without those that set a color.
    fileprivate var visibleCount: Int {
        contains("\u{1B}") ? replacing(#/\u{1B}\[[0-9;]*m/#, with: "").count : count
    }

    func padded(to width: Int) -> String { count < width ? self + String(repeating: " ", count: width - count) : self }

    func paddedLeft(to width: Int) -> String {
        count < width ? String(repeating: " ", count: width - count) + self : self
    }

    func trimmingTrailingBlanks() -> String {
        guard let end = lastIndex(where: { $0 != " " }) else { return "" }
        return String(self[...end])
    }
}
#endif
