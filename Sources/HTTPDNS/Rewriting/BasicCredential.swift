internal import HTTPDNSCurl
internal import HTTPTypes

/// The user information of a URL as an Authorization field (RFC 7617).
enum BasicCredential {
    /// - Throws: ``HTTPDNSClientError`` with code `invalidURL`, for a user or password that the scheme cannot carry.
    static func field(for credential: ParsedURL.Credential) throws(HTTPDNSClientError) -> HTTPField {
        guard !credential.user.utf8.contains(UInt8(ascii: ":")) else {
            throw refusal(
                "the user in the URL has a colon, which Basic authorization cannot carry (RFC 7617 section 2)"
            )
        }
        let bytes = Array("\(credential.user):\(credential.password)".utf8)
        guard !bytes.contains(where: { $0 < 0x20 || $0 == 0x7f }) else {
            throw refusal("the URL's user information has a control character, which RFC 7617 section 2 forbids")
        }
        var field = HTTPField(name: .authorization, value: "Basic \(base64(bytes))")
        field.indexingStrategy = .disallow
        return field
    }

    private static func refusal(_ message: String) -> HTTPDNSClientError {
        HTTPDNSClientError(
            code: .invalidURL,
            stage: .request,
            message: message,
            hint: "leave it out of the URL and set an Authorization header field"
        )
    }

    /// Returns Base64 with padding (RFC 4648 section 4).
    static func base64(_ bytes: [UInt8]) -> String {
        let alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/".utf8)
        var text: [UInt8] = []
        text.reserveCapacity((bytes.count + 2) / 3 * 4)
        for start in stride(from: 0, to: bytes.count, by: 3) {
            let group = bytes[start..<min(start + 3, bytes.count)]
            var bits: UInt32 = 0
            for offset in 0..<3 { bits = bits << 8 | (offset < group.count ? UInt32(group[start + offset]) : 0) }
            for position in 0..<4 {
                let digit = alphabet[Int(bits >> UInt32(18 - 6 * position) & 63)]
                text.append(position <= group.count ? digit : UInt8(ascii: "="))
            }
        }
        return String(decoding: text, as: UTF8.self)
    }
}
