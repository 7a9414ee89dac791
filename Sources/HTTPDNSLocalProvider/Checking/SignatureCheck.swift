#if LocalProvider
internal import Crypto
internal import Foundation

/// Verification of query signatures, with code that shares nothing with the clients' signing.
enum SignatureCheck {
    /// Returns whether `signature` is the HMAC-SHA256 of `text` in lower-case hexadecimal. Compared in constant time.
    static func isHMAC(_ signature: String, of text: String, key: [UInt8]) -> Bool {
        guard let code = Hexadecimal.lowerCaseOctets(signature) else { return false }
        return HMAC<SHA256>.isValidAuthenticationCode(
            code,
            authenticating: Data(text.utf8),
            using: SymmetricKey(data: key)
        )
    }

    /// Returns whether `signature` is the MD5 of `text` in lower-case hexadecimal.
    static func isMD5(_ signature: String, of text: String) -> Bool {
        isSame(signature, Hexadecimal.text(Insecure.MD5.hash(data: Data(text.utf8))))
    }

    /// Returns whether `signature` is the SHA-256 of `text` in lower-case hexadecimal.
    static func isSHA256(_ signature: String, of text: String) -> Bool {
        isSame(signature, Hexadecimal.text(SHA256.hash(data: Data(text.utf8))))
    }

    /// Returns whether two texts are equal, in a time that does not depend on the position of a difference.
    static func isSame(_ left: String, _ right: String) -> Bool {
        let (left, right) = (Array(left.utf8), Array(right.utf8))
        guard left.count == right.count else { return false }
        return zip(left, right).reduce(0) { $0 | ($1.0 ^ $1.1) } == 0
    }
}
#endif
