internal import HTTPDNSPrimitives

/// The printable form of a URL, without user information.
package enum URLText {
    /// Returns the text of a parsed URL without its user information.
    package static func withoutUserInformation(_ text: String) -> String {
        guard let scheme = text.firstIndex(of: ":"),
            let start = text.utf8.index(scheme, offsetBy: 3, limitedBy: text.utf8.endIndex)
        else { return text }
        let rest = text[start...]
        let end = rest.utf8.firstIndex { $0 == UInt8(ascii: "/") || $0 == UInt8(ascii: "?") || $0 == UInt8(ascii: "#") }
        guard let at = rest[..<(end ?? rest.endIndex)].utf8.lastIndex(of: UInt8(ascii: "@")) else { return text }
        return String(text[..<start] + text[text.utf8.index(after: at)...])
    }

    /// Returns the printable form of a text that may not even be a URL. It is on one line, truncated, and without its
    /// query. Anything that could be user information is left out, wherever a broken URL may have it.
    package static func forErrors(_ text: String) -> String {
        var shown = text[...]
        if let query = shown.firstIndex(of: "?") { shown = shown[..<query] }
        var result = ""
        // The at-sign is searched in the whole text: a password may contain a question mark.
        if let at = text.utf8.lastIndex(of: UInt8(ascii: "@")) {
            let slashes = text.utf8.firstIndex(of: UInt8(ascii: "/"))
            if let slashes, slashes < at, text[slashes...].hasPrefix("//") { result = text[...slashes] + "/" }
            result += "..."
            shown = text[at...]
            if let query = shown.firstIndex(of: "?") { shown = shown[..<query] }
        }
        result += shown
        return result.escaped(limit: 120)
    }
}
