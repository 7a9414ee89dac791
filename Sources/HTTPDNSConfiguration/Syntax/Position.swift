/// A position in a file.
package struct Position: Hashable, Comparable, Sendable {
    /// The line, from 1.
    package var line: Int
    /// The column, from 1, in Unicode scalars.
    package var column: Int

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
