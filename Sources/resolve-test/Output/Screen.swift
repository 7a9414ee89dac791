/// The width and style of a report's output.
struct Screen: Sendable {
    /// The number of columns; `.max` where lines are not folded, as in a file.
    var width: Int
    var style: Style

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
