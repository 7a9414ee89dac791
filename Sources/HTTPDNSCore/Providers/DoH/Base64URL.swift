/// base64url without padding (RFC 4648 sections 3.2 and 5), as RFC 8484 section 6 requires for the query in a URL.
enum Base64URL {
    private static let alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_".utf8)

    static func encode(_ octets: [UInt8]) -> String {
        var text: [UInt8] = []
        text.reserveCapacity((octets.count * 8 + 5) / 6)
        var buffer = 0
        var bits = 0
        for octet in octets {
            buffer = (buffer << 8 | Int(octet)) & 0xffff
            bits += 8
            while bits >= 6 {
                bits -= 6
                text.append(alphabet[buffer >> bits & 0x3f])
            }
        }
        if bits > 0 { text.append(alphabet[buffer << (6 - bits) & 0x3f]) }
        return String(decoding: text, as: UTF8.self)
    }
}
