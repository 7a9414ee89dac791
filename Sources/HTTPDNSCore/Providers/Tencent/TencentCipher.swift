/// The cipher of encrypted queries: AES-128-CBC under the key's text, in hexadecimal with the initialization vector in front,
/// in both directions.
///
/// Source: the vendor's clients, which pad a short key with the character `0`. The vendor publishes no test vectors.
struct TencentCipher: Sendable {
    private let cipher: AESCipher
    private let randomOctets: @Sendable (Int) -> [UInt8]

    /// - Parameters:
    ///   - key: The key's text.
    ///   - randomOctets: Returns the given number of unpredictable bytes.
    /// - Throws: ``HTTPDNSProviderError`` when the key is missing or malformed. The error does not contain the key.
    init(key: String?, randomOctets: @escaping @Sendable (Int) -> [UInt8]) throws(HTTPDNSProviderError) {
        var octets = Array((key ?? "").utf8)
        let missing = AESCipher.keyOctets - octets.count
        guard !octets.isEmpty, missing >= 0 else { throw Self.noKey }
        octets += [UInt8](repeating: UInt8(ascii: "0"), count: missing)
        guard let cipher = AESCipher(.cbc, key: octets) else { throw Self.noKey }
        self.cipher = cipher
        self.randomOctets = randomOctets
    }

    private static let noKey = HTTPDNSProviderError(
        code: .notConfigured,
        message:
            "the encryption key has not 1 to \(AESCipher.keyOctets) octets; copy the AES key from the vendor's console"
    )

    /// Returns the encrypted text as it is in a URL, with an initialization vector of its own.
    func encrypted(_ text: String) throws(HTTPDNSProviderError) -> String {
        do throws(AESCipher.Failure) {
            let vector = randomOctets(cipher.mode.vectorOctets)
            return Hexadecimal.text(try cipher.encrypt(Array(text.utf8), vector: vector))
        } catch {
            throw HTTPDNSProviderError(code: .notConfigured, message: error.description)
        }
    }

    /// Returns the plain text of a body.
    func decrypted(_ body: [UInt8]) throws(VendorAnswerError) -> [UInt8] {
        let digits = TencentText.withoutLineEnd(body[...])
        guard let octets = Hexadecimal.octets(String(decoding: digits, as: UTF8.self)) else {
            throw VendorAnswerError(
                "it is not hexadecimal, or has an odd number of digits; answers to encrypted queries are encrypted",
                isText: false
            )
        }
        do throws(AESCipher.Failure) {
            return try cipher.decrypt(octets)
        } catch {
            throw VendorAnswerError("it cannot be read: \(error.description)")
        }
    }
}
