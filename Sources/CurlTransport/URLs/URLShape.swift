/// What can be said of a URL's text before libcurl parses it, in one pass over its bytes.
///
/// It finds no parts of its own; it only refuses what libcurl would guess about, and remembers which parts may exist.
struct URLShape {
    let scheme: ParsedURL.Scheme
    let hasUserInformation: Bool
    let mayHavePort: Bool
    let hasQuery: Bool
    let hasFragment: Bool
    /// The host as it was written, without port; for comparing and for errors.
    let hostText: Substring

    init(of text: String) throws(URLFailure) {
        let bytes = text.utf8
        for byte in bytes where byte <= 0x20 || byte == 0x7f {
            throw URLFailure(
                .forbiddenByte,
                "the URL holds the byte 0x\(byte < 16 ? "0" : "")\(String(byte, radix: 16)); write spaces and control characters percent-encoded"
            )
        }
        guard let colon = bytes.firstIndex(of: UInt8(ascii: ":")) else {
            throw URLFailure(.unsupportedScheme, "the URL has no scheme; it must begin with http:// or https://")
        }
        switch text[..<colon].lowercased() {
        case "http": scheme = .http
        case "https": scheme = .https
        default:
            throw URLFailure(.unsupportedScheme, "the URL does not begin with http:// or https://")
        }
        let authorityStart = bytes.index(colon, offsetBy: 3, limitedBy: bytes.endIndex) ?? bytes.endIndex
        guard text[colon..<authorityStart] == "://" else {
            throw URLFailure(.malformed, "the scheme is not followed by //")
        }
        let rest = bytes[authorityStart...]
        let authorityEnd =
            rest.firstIndex { $0 == UInt8(ascii: "/") || $0 == UInt8(ascii: "?") || $0 == UInt8(ascii: "#") }
            ?? bytes.endIndex
        let authority = rest[..<authorityEnd]
        guard !authority.isEmpty else { throw URLFailure(.missingHost, "the URL has no host") }
        guard !authority.contains(UInt8(ascii: "\\")) else {
            throw URLFailure(
                .forbiddenByte,
                "the URL has a backslash before its path; programs disagree about its host"
            )
        }
        let at = authority.lastIndex(of: UInt8(ascii: "@"))
        hasUserInformation = at != nil
        let hostAndPort = authority[(at.map { bytes.index(after: $0) } ?? authorityStart)...]
        let hostEnd: String.Index
        if hostAndPort.first == UInt8(ascii: "[") {
            hostEnd = hostAndPort.firstIndex(of: UInt8(ascii: "]")).map { bytes.index(after: $0) } ?? authorityEnd
        } else {
            hostEnd = hostAndPort.firstIndex(of: UInt8(ascii: ":")) ?? authorityEnd
        }
        hostText = text[hostAndPort.startIndex..<hostEnd]
        mayHavePort = hostEnd < authorityEnd
        let tail = bytes[authorityEnd...]
        hasQuery = tail.contains(UInt8(ascii: "?"))
        hasFragment = tail.contains(UInt8(ascii: "#"))
    }
}
