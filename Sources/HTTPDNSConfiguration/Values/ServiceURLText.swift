/// The check of provider URLs. Only mistakes with a specific hint are found here; the provider parses the URL in full.
enum ServiceURLText {
    /// - Parameter example: A URL of this kind of service, for errors.
    static func check(_ text: String, hasBootstrap: Bool, example: String) throws(ValueMistake) {
        let allowed = "allowed: an https URL such as \(example)"
        let authority = (text.firstRange(of: "://").map { text[$0.upperBound...] } ?? text[...])
            .prefix { $0 != "/" && $0 != "?" && $0 != "#" }
        // The text before @ may be a secret: it is not repeated.
        guard !authority.contains("@") else {
            throw ValueMistake("the URL holds a user name or password; \(allowed)")
        }
        if text.hasSuffix("{?dns}") {
            throw ValueMistake("\(quoted(text)) is a URI template; \(allowed)", hint: "write \(text.dropLast(6))")
        }
        let scheme = text.firstRange(of: "://").map { text[..<$0.lowerBound].lowercased() }
        guard let scheme, scheme == "https" || scheme == "http", !authority.isEmpty else {
            throw ValueMistake(
                "\(quoted(text)) is not an https URL; \(allowed)",
                hint: scheme == nil && !text.isEmpty ? "did you mean https://\(text)?" : nil
            )
        }
        let isLiteral = TargetText.isAddress(String(authority))
        if scheme == "http", !isLiteral {
            throw ValueMistake(
                "\(quoted(text)) is not encrypted; \(allowed)",
                hint: "http is for loopback addresses only"
            )
        }
        guard isLiteral || hasBootstrap else {
            throw ValueMistake(
                "\(quoted(text)) is by name, and the service's own name is never looked up",
                hint: "add bootstrap: [ADDRESS] with the service's addresses"
            )
        }
    }
}
