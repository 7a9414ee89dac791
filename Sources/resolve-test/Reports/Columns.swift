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
