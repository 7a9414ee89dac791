/// The service's answers as text, in lines of printable ASCII.
enum TencentText {
    /// Returns the text of a body.
    /// - Throws: ``VendorAnswerError`` when it has other characters: the body is of another kind, or was decrypted with the
    ///   wrong key.
    static func text(_ body: [UInt8]) throws(VendorAnswerError) -> Substring {
        let octets = withoutLineEnd(body[...])
        guard octets.allSatisfy({ (0x20...0x7e).contains($0) || isLineEnd($0) }) else {
            throw VendorAnswerError("it has other characters than the vendor's answers have", isText: false)
        }
        return String(decoding: octets, as: UTF8.self)[...]
    }

    static func withoutLineEnd(_ octets: ArraySlice<UInt8>) -> ArraySlice<UInt8> {
        octets.dropLast(octets.reversed().prefix(while: isLineEnd).count)
    }

    private static func isLineEnd(_ octet: UInt8) -> Bool { octet == 0x0a || octet == 0x0d }

    /// Returns the number in `text`, of up to ten digits; `nil` for anything else.
    static func number(_ text: Substring) -> Int64? {
        let isNumber = text.utf8.count <= 10 && text.utf8.allSatisfy { (0x30...0x39).contains($0) }
        return isNumber ? Int64(text) : nil
    }
}
