/// What version 2 encrypts: the question as a JSON object in hexadecimal, the answer in Base64.
struct AlibabaV2Payload: Sendable {
    let encryption: AlibabaProvider.Encryption
    private let cipher: AESCipher

    /// - Parameters:
    ///   - encryption: Nil gives nil.
    ///   - key: The key in hexadecimal.
    /// - Throws: ``HTTPDNSProviderError`` when the key is missing, or not one. It is not repeated.
    init?(_ encryption: AlibabaProvider.Encryption?, key: String?) throws(HTTPDNSProviderError) {
        guard let encryption else { return nil }
        let mode: AESCipher.Mode = encryption == .cbc ? .cbc : .gcm
        guard let octets = key.flatMap({ Hexadecimal.octets($0) }), let cipher = AESCipher(mode, key: octets) else {
            throw HTTPDNSProviderError(
                code: .notConfigured,
                message: "the encryption key is not \(2 * AESCipher.keyOctets) hexadecimal digits; "
                    + "copy it from the vendor's console"
            )
        }
        self.encryption = encryption
        self.cipher = cipher
    }

    /// The number of a mode in `m` and `mode`.
    static func mode(_ encryption: AlibabaProvider.Encryption?) -> UInt16 {
        switch encryption {
        case nil: 0
        case .cbc?: 1
        case .gcm?: 2
        }
    }

    /// The value of `enc`.
    /// - Parameter parameters: In characters that mean nothing in JSON.
    func encrypted(
        _ parameters: [(name: String, value: String)],
        randomOctets: (Int) -> [UInt8]
    ) throws(HTTPDNSProviderError) -> String {
        let members = parameters.map { "\"\($0.name)\":\"\($0.value)\"" }.joined(separator: ",")
        do throws(AESCipher.Failure) {
            let vector = randomOctets(cipher.mode.vectorOctets)
            return Hexadecimal.text(try cipher.encrypt(Array("{\(members)}".utf8), vector: vector))
        } catch {
            throw HTTPDNSProviderError(code: .notConfigured, message: error.description)
        }
    }

    /// The text of an encrypted `data`.
    func decrypted(_ data: String) throws(VendorAnswerError) -> [UInt8] {
        guard let octets = Base64Text.octets(data) else { throw VendorAnswerError("\"data\" is not Base64") }
        do throws(AESCipher.Failure) {
            return try cipher.decrypt(octets)
        } catch {
            throw VendorAnswerError("\"data\" cannot be read: \(error.description)")
        }
    }
}
