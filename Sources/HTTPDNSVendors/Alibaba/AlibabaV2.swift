// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

internal import HTTPDNSCore
internal import HTTPDNSMessages
internal import HTTPDNSPrimitives
internal import HTTPTypes

/// Version 2 of the protocol: `/v2/d` for one name or several, signed and encrypted as the account requires.
struct AlibabaV2: AlibabaProtocol {
    /// The seconds from now until a signature expires, as in the vendor's Android and iOS clients.
    static let validity: Int64 = 600

    let batchLimit = 5
    let schedule: AlibabaSchedule
    let encryption: HTTPDNSAlibabaProvider.Encryption?
    let customParameters: AlibabaCustomParameters

    func request(
        for question: VendorQuery,
        secrets: VendorSecrets,
        at seconds: Int64
    ) throws(HTTPDNSProviderError) -> ServiceRequest {
        var parameters = [
            (name: "id", value: schedule.account), (name: "m", value: "\(AlibabaV2Payload.mode(encryption))"),
        ]
        let inner = innerParameters(question)
        if let payload = try AlibabaV2Payload(encryption, key: secrets.encryptionKey) {
            parameters.append((name: "enc", value: try payload.encrypted(inner, randomOctets: schedule.randomOctets)))
        } else {
            parameters += inner
        }
        if let secret = secrets.secret {
            parameters += [(name: "exp", value: "\(seconds + Self.validity)"), (name: "v", value: "1.0")]
            let signature = try AlibabaV2Signature(secret: secret).signature(over: parameters)
            parameters.append((name: "s", value: signature))
        }
        let url = try schedule.location.url(path: "/v2/d", parameters)
        return ServiceRequest(method: .get, url: url, headerFields: [.accept: "application/json"])
    }

    /// Returns the parameters that are encrypted.
    private func innerParameters(_ question: VendorQuery) -> [(name: String, value: String)] {
        let hosts = question.hosts.map(\.description).joined(separator: ",")
        var parameters = [(name: "dn", value: hosts), (name: "q", value: question.families.alibabaQuery)]
        if let subnet = question.clientSubnet.map({ DNSClientSubnet($0).network }) {
            parameters.append((name: "cip", value: "\(subnet.address)"))
        }
        return parameters + customParameters.sorted
    }

    func answers(
        in reply: UpstreamReply,
        to question: VendorQuery,
        secrets: VendorSecrets
    ) throws -> [HTTPDNSName: HTTPDNSProviderAnswer] {
        let payload = try AlibabaV2Payload(encryption, key: secrets.encryptionKey)
        return try AlibabaV2Answer.read(reply.body, question: question, payload: payload)
    }
}

/// The encryption of version 2: the query as a JSON object in hexadecimal, the answer in Base64.
struct AlibabaV2Payload: Sendable {
    let encryption: HTTPDNSAlibabaProvider.Encryption
    private let cipher: AESCipher

    /// - Parameters:
    ///   - encryption: The mode; `nil` makes the initializer return `nil`.
    ///   - key: The key in hexadecimal.
    /// - Throws: `HTTPDNSProviderError` when the key is missing or malformed. The error does not contain the key.
    init?(_ encryption: HTTPDNSAlibabaProvider.Encryption?, key: String?) throws(HTTPDNSProviderError) {
        guard let encryption else { return nil }
        let mode: AESCipher.Mode = encryption == .cbc ? .cbc : .gcm
        guard let octets = key.flatMap({ [UInt8](hexadecimal: $0) }), let cipher = AESCipher(mode, key: octets) else {
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
    static func mode(_ encryption: HTTPDNSAlibabaProvider.Encryption?) -> UInt16 {
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
            return try cipher.encrypt(Array("{\(members)}".utf8), vector: vector).hexadecimal
        } catch {
            throw HTTPDNSProviderError(code: .notConfigured, message: error.description)
        }
    }

    /// Returns the plain text of an encrypted `data`.
    func decrypted(_ data: String) throws(VendorAnswerError) -> [UInt8] {
        guard let bytes = Base64.bytes(data) else { throw VendorAnswerError("\"data\" is not Base64") }
        do throws(AESCipher.Failure) {
            return try cipher.decrypt(bytes)
        } catch {
            throw VendorAnswerError("\"data\" cannot be read: \(error.description)")
        }
    }
}

/// The signature of version 2: HMAC-SHA256, keyed by the secret's bytes, over the parameters. They are sorted by name, with
/// their values before any escaping.
///
/// Source: three of the vendor's clients. The vendor publishes no test vectors.
struct AlibabaV2Signature {
    /// The parameters that the signature covers, in addition to those of custom resolution.
    private static let signed: Set<String> = ["id", "m", "dn", "cip", "q", "enc", "exp", "tags", "v"]

    private let key: [UInt8]

    /// - Throws: `HTTPDNSProviderError` when the secret is not hexadecimal. The error does not contain the secret.
    init(secret: String) throws(HTTPDNSProviderError) {
        guard let key = [UInt8](hexadecimal: secret), !key.isEmpty else {
            throw HTTPDNSProviderError(
                code: .notConfigured,
                message:
                    "the secret is not hexadecimal, or has an odd number of digits; copy it from the vendor's console"
            )
        }
        self.key = key
    }

    func signature(over parameters: [(name: String, value: String)]) throws(HTTPDNSProviderError) -> String {
        try VendorSigning.hmacSHA256(Self.text(of: parameters), key: key)
    }

    /// Returns the text that is signed.
    static func text(of parameters: [(name: String, value: String)]) -> String {
        parameters
            .filter { !$0.value.isEmpty }
            .filter { signed.contains($0.name) || $0.name.hasPrefix(AlibabaCustomParameters.prefix) }
            .sorted { $0.name.utf8.lexicographicallyPrecedes($1.name.utf8) }
            .map { "\($0.name)=\($0.value)" }
            .joined(separator: "&")
    }
}

/// The error codes of Alibaba's HTTPDNS, for both versions and `/ss`. Sources: the vendor's documents and its Android client.
enum AlibabaErrors {
    static let words = VendorVocabulary(
        service: "Alibaba HTTPDNS service",
        answer: "answer of Alibaba HTTPDNS",
        mediaType: "application/json",
        methodAdvice: "check that the url is that of Alibaba HTTPDNS"
    )

    static let table = VendorErrorTable(
        rows: [
            "InvalidAccount": .init(.account, "the account is wrong, or has no domain in the vendor's console"),
            "AccountNotExists": .init(.account, "there is no such account"),
            "UnsignedInterfaceDisabled": .init(
                .account,
                "the account takes signed queries alone; give its secret, or allow unsigned ones in the vendor's console"
            ),
            "InvalidSignature": .init(.account, "the signature is wrong; check the secret"),
            "SignatureExpired": .init(.clock, "the signature is out of its time; check the clock of this machine"),
            "InvalidDuration": .init(
                .clock,
                "the signature is good for longer than the service allows; check the clock of this machine"
            ),
            "InvalidHost": .init(.question, "the service takes no such name"),
            "TooManyHosts": .init(.question, "the service takes fewer names at once"),
            "SdnsNotSupported": .init(.question, "the region has no custom resolution; take its parameters out"),
            "InvalidIP": .init(.question, "the service does not take the client subnet"),
            "InvalidQuery": .init(.question, "the service does not take the families"),
            "UnsupportedType": .init(.question, "the service does not take the families"),
            "MethodNotAllowed": .init(.question, "the service does not take GET; check the url"),
            "MissingArgument": .init(.nextAddress, "the service misses a parameter"),
            "ServiceLevelDeny": .init(.address, "this address does not serve the account"),
            "InternalError": .init(.address, "the service failed"),
        ],
        words: words
    )

    /// Returns the refusal in a reply, by its status and the code in its body.
    static func refusal(in reply: UpstreamReply) -> VendorRefusal? {
        let code = (try? JSONReader.read(reply.body))?["code"]?.text
        return table.refusal(code: code == "success" ? nil : code, in: reply)
    }
}
