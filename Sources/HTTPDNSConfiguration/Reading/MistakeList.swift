// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

internal import HTTPDNS
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
    private var mistakes: [(position: Position?, mistake: HTTPDNSConfigurationFileError.Issue)] = []
    private var uncounted = 0

    init(file: String) { self.file = file }

    var count: Int { mistakes.count + uncounted }

    mutating func add(_ message: String, at position: Position?, hint: String? = nil) {
        guard mistakes.count < Self.kept else {
            uncounted += 1
            return
        }
        let location = HTTPDNSSourceLocation(file, position)
        let mistake = HTTPDNSConfigurationFileError.Issue(location: location, message: message, hint: hint.map(oneLine))
        mistakes.append((position, mistake))
    }

    /// The error with all mistakes, in the order of the file; nil when there is none.
    var error: HTTPDNSConfigurationFileError? {
        guard !mistakes.isEmpty else { return nil }
        let start = Position(line: 0, column: 0)
        let sorted = mistakes.enumerated().sorted { left, right in
            (left.element.position ?? start, left.offset) < (right.element.position ?? start, right.offset)
        }
        return HTTPDNSConfigurationFileError(
            issues: sorted.prefix(Self.listed).map(\.element.mistake),
            omitted: max(0, sorted.count - Self.listed) + uncounted
        )
    }
}

/// Returns the word of `words` that `text` probably meant, or nil when none is similar.
func nearestWord(to text: String, in words: [String]) -> String? {
    let simplified = Array(text.utf8.prefix(64)).map(simplify)
    let ranked = words.map { ($0, EditDistance.between(simplified, $0.utf8.map(simplify))) }
    guard let (word, distance) = ranked.min(by: { $0.1 < $1.1 }) else { return nil }
    // A third of the word may be wrong: a higher limit leads to absurd suggestions.
    return distance <= max(1, min(word.utf8.count, simplified.count) / 3) ? word : nil
}

/// Returns the byte without differences of case and of the separators `-`, `_` and none, which are never significant here.
private func simplify(_ byte: UInt8) -> UInt8 {
    switch byte {
    case UInt8(ascii: "A")...UInt8(ascii: "Z"): byte | 0x20
    case UInt8(ascii: "-"): UInt8(ascii: "_")
    default: byte
    }
}

/// Returns the text in quotation marks for errors.
///
/// It is cut to 80 characters, invisible characters are escaped, and the user information of a URL is removed, which may
/// contain a password.
func quoted(_ text: some StringProtocol) -> String {
    let text = String(text)
    let isSecret = text.utf8.contains(UInt8(ascii: "@")) && text.contains("://")
    return "\"\(isSecret ? URLText.forErrors(text) : text.escaped(limit: 80))\""
}

/// Returns the text on one line, cut to 240 characters: hints repeat parts of the file, which may be unreadable.
func oneLine(_ text: String) -> String {
    var result = ""
    for scalar in text.unicodeScalars.prefix(240) {
        // Quotation marks and backslashes belong to the hint.
        result += scalar == "\"" || scalar == "\\" ? String(scalar) : scalar.displayText
    }
    return text.unicodeScalars.count > 240 ? result + "..." : result
}

/// Returns a number with its noun: `1 line`, `2 lines`.
func counted(_ number: Int, _ noun: String) -> String { "\(number) \(noun)\(number == 1 ? "" : "s")" }
