internal import HTTPDNSClient
internal import HTTPDNSPrimitives

/// The text in quotation marks as errors show it: cut to 80 characters, characters without a shape escaped, and without
/// the user information of a URL, which may hold a password.
func quoted(_ text: some StringProtocol) -> String {
    let text = String(text)
    let isSecret = text.contains("://") && text.contains("@")
    return "\"\(isSecret ? URLText.forErrors(text) : text.escaped(limit: 80))\""
}

/// `1 line`, `2 lines`.
func counted(_ number: Int, _ noun: String) -> String { "\(number) \(noun)\(number == 1 ? "" : "s")" }
