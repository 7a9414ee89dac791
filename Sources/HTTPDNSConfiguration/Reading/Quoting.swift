internal import HTTPDNS
internal import HTTPDNSPrimitives

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
