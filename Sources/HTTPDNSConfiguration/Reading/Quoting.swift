internal import HTTPDNS
internal import HTTPDNSPrimitives

/// The text in quotation marks as errors show it: cut to 80 characters, characters without a shape escaped, and without
/// the user information of a URL, which may hold a password.
func quoted(_ text: some StringProtocol) -> String {
    let text = String(text)
    let isSecret = text.utf8.contains(UInt8(ascii: "@")) && text.contains("://")
    return "\"\(isSecret ? URLText.forErrors(text) : text.escaped(limit: 80))\""
}

/// The text on one line, cut to 240 characters: hints repeat what is in the file, also parts that are no text to anybody.
func oneLine(_ text: String) -> String {
    var result = ""
    for scalar in text.unicodeScalars.prefix(240) {
        // Quotation marks and backslashes are the hint's own.
        result += scalar == "\"" || scalar == "\\" ? String(scalar) : scalar.displayText
    }
    return text.unicodeScalars.count > 240 ? result + "..." : result
}

/// `1 line`, `2 lines`.
func counted(_ number: Int, _ noun: String) -> String { "\(number) \(noun)\(number == 1 ? "" : "s")" }
