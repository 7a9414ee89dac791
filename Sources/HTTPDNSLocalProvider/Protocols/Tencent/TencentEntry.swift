#if LocalProvider
internal import HTTPDNSCore
internal import HTTPDNSConfiguration
internal import HTTPDNSPrimitives
internal import HTTPTypes

/// The account of a query, and its protection: by a token over TLS, by AES, or none.
struct TencentEntry {
    /// The cipher of an encrypted query.
    let cipher: BlockCipher?
    /// Whether it is the free service, which accepts no batches.
    let isFree: Bool

    /// Returns a refusal with status 401 for a bad number, token or time.
    ///
    /// This is UNCONFIRMED: the vendor documents no status for any of them.
    static func unauthorized(_ code: Refusal.Code, _ advice: String) -> Refusal {
        var refusal = Refusal(code, advice)
        refusal.status = 401
        return refusal
    }

    init(_ parameters: QueryParameters, _ inquiry: inout ServedQuery) throws(Refusal) {
        let settings = inquiry.zone.settings.tencent
        if let token = parameters["token"] {
            guard let expected = try inquiry.secret(settings.token), SignatureCheck.isSame(token, expected) else {
                throw Self.unauthorized(.invalidAccount, "the token is not that of serve.tencent")
            }
            inquiry.record.isSigned = true
            (cipher, isFree) = (nil, false)
            return
        }
        guard let identifier = parameters["id"] else {
            guard settings.token == nil, settings.encryptionKey == nil else {
                throw Self.unauthorized(.missingArgument, "a token, or id with alg=aes, is missing")
            }
            (cipher, isFree) = (nil, true)
            return
        }
        guard settings.identifier.map({ $0 == identifier }) ?? true else {
            throw Self.unauthorized(.invalidAccount, "id is not that of serve.tencent")
        }
        guard parameters["alg"] == "aes" else {
            throw Refusal(.invalidEncryption, "alg is not aes; DES hides nothing any more, and is not served")
        }
        guard let key = try inquiry.secret(settings.encryptionKey), key.utf8.count <= 16 else {
            throw Refusal(.invalidEncryption, "serve.tencent has no encryption_key of at most 16 characters")
        }
        // The vendor's clients pad a short key with the character 0 (UNCONFIRMED in its documents).
        let octets = Array(key.utf8) + Array(repeating: UInt8(ascii: "0"), count: 16 - key.utf8.count)
        inquiry.record.encryption = "cbc"
        (cipher, isFree) = (BlockCipher(.cbc, key: octets), false)
    }

    /// Returns a parameter's text, decrypted for an account with encryption.
    func opened(_ text: String, _ name: String) throws(Refusal) -> String {
        guard let cipher else { return text }
        guard let octets = Hexadecimal.lowerCaseOctets(text) else {
            throw Refusal(.invalidEncryption, "\(name) is not lower-case hexadecimal with two digits for each octet")
        }
        guard let opened = cipher.opened(octets), let text = String(validating: opened, as: UTF8.self) else {
            throw Refusal(.invalidEncryption, "\(name) cannot be decrypted with this key")
        }
        return text
    }

    /// Returns a reply with a text, encrypted for an account with encryption, with the failures that the file injects.
    func reply(_ text: String, _ inquiry: ServedQuery) throws(Refusal) -> ServedReply {
        guard let cipher else { return ServedReply(status: 200, text: text) }
        guard var octets = try? cipher.sealed(Array(text.utf8)) else {
            throw Refusal(.internalError, "the answer cannot be encrypted")
        }
        if inquiry.fault.garbage == .cipher { octets.removeLast(octets.count / 2 + 1) }
        var hexadecimal = Hexadecimal.text(octets)
        if inquiry.fault.garbage == .oddHex { hexadecimal.removeLast() }
        return ServedReply(status: 200, text: hexadecimal)
    }

    /// Returns the parameters of a GET, or of a POST with a form.
    static func parameters(_ request: ServedRequest) throws(Refusal) -> QueryParameters {
        switch request.method {
        case .get: return try QueryParameters(request.query).unique()
        case .post:
            let form = String(decoding: request.body, as: UTF8.self)
            return try QueryParameters([request.query, form].joined(separator: "&")).unique()
        default:
            var refusal = Refusal(.methodNotAllowed, "the methods are GET and POST")
            refusal.status = 501
            throw refusal
        }
    }
}
#endif
