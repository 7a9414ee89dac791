/// The encryption of version 2: the query as a JSON object in hexadecimal, the answer in Base64.
struct AlibabaV2Payload: Sendable {
    let encryption: AlibabaProvider.Encryption
    private let cipher: AESCipher

    /// - Parameters:
    ///   - encryption: The mode; `nil` makes the initializer return `nil`.
    ///   - key: The key in hexadecimal.
    /// - Throws: ``HTTPDNSProviderError`` when the key is missing or malformed. The error does not contain the key.
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

    /// Returns the number of a mode, as in `m` and `mode`.
    static func mode(_ encryption: AlibabaProvider.Encryption?) -> UInt16 {
        switch encryption {
        case nil: 0
        case .cbc?: 1
        case .gcm?: 2
        }
    }

    /// Returns the value of `enc`.
    /// - Parameter parameters: Their characters have no meaning in JSON.
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

    /// Returns the plain text of an encrypted `data`.
    func decrypted(_ data: String) throws(VendorAnswerError) -> [UInt8] {
        guard let octets = Base64Text.octets(data) else { throw VendorAnswerError("\"data\" is not Base64") }
        do throws(AESCipher.Failure) {
            return try cipher.decrypt(octets)
        } catch {
            throw VendorAnswerError("\"data\" cannot be read: \(error.description)")
        }
    }
}
