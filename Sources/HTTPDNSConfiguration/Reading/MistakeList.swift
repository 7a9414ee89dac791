internal import HTTPDNSPrimitives

/// A mistake in a value, before its position is known.
package struct ValueMistake: Error, Hashable {
    /// The value that was found, and the values that are allowed.
    package var message: String
    /// The correction, where one is known.
    package var hint: String?

    init(_ message: String, hint: String? = nil) {
        self.message = message
        self.hint = hint
    }
}

/// The mistakes found in one file.
struct MistakeList {
    /// The maximum number of mistakes in an error: as many as fit on a screen.
    static let listed = 20
    /// The maximum number kept for sorting; a file of 16 MiB can contain a million.
    private static let kept = 1000

    private let file: String
    private var mistakes: [(position: Position?, mistake: ConfigurationFileError.Mistake)] = []
    private var uncounted = 0

    init(file: String) { self.file = file }

    var isEmpty: Bool { mistakes.isEmpty }

    mutating func add(_ message: String, at position: Position?, hint: String? = nil) {
        guard mistakes.count < Self.kept else {
            uncounted += 1
            return
        }
        let location = HTTPDNSSourceLocation(file: file, line: position?.line, column: position?.column)
        let mistake = ConfigurationFileError.Mistake(location: location, message: message, hint: hint.map(oneLine))
        mistakes.append((position, mistake))
    }

    /// The error with all mistakes, in the order of the file; nil when there is none.
    var error: ConfigurationFileError? {
        guard !mistakes.isEmpty else { return nil }
        let start = Position(line: 0, column: 0)
        let sorted = mistakes.enumerated().sorted { left, right in
            (left.element.position ?? start, left.offset) < (right.element.position ?? start, right.offset)
        }
        return ConfigurationFileError(
            mistakes: sorted.prefix(Self.listed).map(\.element.mistake),
            omitted: max(0, sorted.count - Self.listed) + uncounted
        )
    }
}
