internal import CHTTPDNSCurl

extension ParsedURL {
    /// Returns the URL of a reference found in a response of this URL (RFC 3986 section 5.2, RFC 9110 section 10.2.2):
    /// absolute, or relative to scheme, host or path. Dot segments are removed, spaces and bytes outside ASCII percent-encoded.
    /// The fragment is inherited if the reference has none.
    ///
    /// The parser that splits the reference also determines the host to connect to. A number form of an address becomes that
    /// address, so that address policies see it.
    package func following(_ reference: String) throws(URLFailure) -> ParsedURL {
        try ParsedURL.checkReference(reference)
        // libcurl 7.88 reads a lone fragment as a path.
        if reference.utf8.first == UInt8(ascii: "#") { return try ParsedURL(byCurl: description + reference) }
        guard let handle = curl_url() else { throw URLFailure(.malformed, "out of memory") }
        defer { curl_url_cleanup(handle) }
        var code = curl_url_set(handle, CURLUPART_URL, description, UInt32(CURLU_PATH_AS_IS))
        // A relative reference inherits the trailing dot with the host.
        if code == CURLUE_OK, isAbsolute { code = curl_url_set(handle, CURLUPART_HOST, "\(hostText).", 0) }
        if code == CURLUE_OK { code = curl_url_set(handle, CURLUPART_URL, reference, UInt32(CURLU_URLENCODE)) }
        guard code == CURLUE_OK else { throw ParsedURL.failure(code) }
        var text: UnsafeMutablePointer<CChar>?
        guard curl_url_get(handle, CURLUPART_URL, &text, 0) == CURLUE_OK, let text else {
            throw URLFailure(.malformed, "the reference leads to no URL")
        }
        defer { curl_free(text) }
        let target = String(cString: text)
        let inherited = target.utf8.contains(UInt8(ascii: "#")) ? nil : fragment
        return try ParsedURL(byCurl: inherited.map { "\(target)#\($0)" } ?? target)
    }

    /// Refuses references that libcurl would guess about, and schemes that it knows and the client does not.
    private static func checkReference(_ reference: String) throws(URLFailure) {
        let bytes = reference.utf8
        if let byte = bytes.first(where: { $0 < 0x20 || $0 == 0x7f }) {
            throw URLFailure(.forbiddenByte, "it holds the control character 0x\(String(byte, radix: 16))")
        }
        let end = bytes.firstIndex { $0 == UInt8(ascii: "?") || $0 == UInt8(ascii: "#") } ?? bytes.endIndex
        if bytes[..<end].contains(UInt8(ascii: "\\")) {
            throw URLFailure(.forbiddenByte, "it has a backslash; programs disagree about where that leads")
        }
        guard let colon = bytes[..<end].firstIndex(of: UInt8(ascii: ":")), isScheme(bytes[..<colon]) else { return }
        let scheme = reference[..<colon].lowercased()
        guard scheme == "http" || scheme == "https" else {
            throw URLFailure(.unsupportedScheme, "its scheme is neither http nor https")
        }
        guard bytes[bytes.index(after: colon)...].starts(with: "//".utf8) else {
            throw URLFailure(.malformed, "its scheme is not followed by //")
        }
    }

    /// Returns whether the text before a colon is a scheme (RFC 3986 section 3.1), and not part of a path.
    private static func isScheme(_ text: Substring.UTF8View) -> Bool {
        func isLetter(_ byte: UInt8) -> Bool { (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(byte | 0x20) }
        guard let first = text.first, isLetter(first) else { return false }
        return text.allSatisfy { byte in
            isLetter(byte) || (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) || "+-.".utf8.contains(byte)
        }
    }
}
