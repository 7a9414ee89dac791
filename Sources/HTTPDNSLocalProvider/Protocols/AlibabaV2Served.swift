// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

#if LocalProvider
internal import Foundation
internal import HTTPDNSConfiguration
internal import HTTPDNSCore
internal import HTTPDNSPrimitives
internal import HTTPTypes

/// Version 2 of Alibaba's protocol (`/v2/d`): plain, AES-128-CBC and AES-128-GCM, signed by HMAC-SHA256.
struct AlibabaV2Served: AlibabaProtocol {
    /// The parameters that a signature covers, in addition to every `sdns-` parameter.
    private static let signed: Set<String> = ["id", "m", "dn", "cip", "q", "enc", "exp", "tags", "v"]
    /// The parameters that must be in the cipher text, and not outside of it.
    private static let encrypted: Set<String> = ["dn", "cip", "q", "tags"]

    let name = "alibaba-v2"

    func reply(to request: ServedRequest, _ inquiry: inout ServedQuery) throws(Refusal) -> ServedReply {
        guard request.method == .get else { throw Refusal(.methodNotAllowed, "the method is GET") }
        let parameters = try QueryParameters(request.query).unique()
        let settings = inquiry.zone.settings.alibaba
        try Self.checkAccount(try parameters.required("id"), settings)
        guard let number = Int(digits: parameters["m"] ?? "0"), (0...2).contains(number) else {
            throw Refusal(.missingArgument, "m is none of 0, 1 and 2")
        }
        try checkSignature(parameters, &inquiry)
        let mode = BlockCipher.Mode(rawValue: number)
        let cipher = try mode.map { mode throws(Refusal) in try Self.cipher(mode, inquiry) }
        let question = try cipher.map { cipher throws(Refusal) in try Self.opened(parameters, cipher) } ?? parameters
        inquiry.record.encryption = mode.map { "\($0)" }
        let hosts = try Self.hosts(try question.required("dn"))
        let families = try Self.families(question["q"])
        let client = try Self.client(question["cip"], request)
        let answers = try inquiry.answers(about: hosts, families)
        let data = AlibabaV2Body.Data(
            cip: client,
            answers: answers.map { AlibabaV2Body.Answer($0, families) }
        )
        guard let mode, let cipher else { return try ServedReply(json: AlibabaV2Body(data: .plain(data))) }
        return try Self.sealed(data, mode, cipher, inquiry)
    }

    private func checkSignature(_ parameters: QueryParameters, _ inquiry: inout ServedQuery) throws(Refusal) {
        let settings = inquiry.zone.settings.alibaba
        let secret = try inquiry.secret(settings.secret)
        guard let signature = parameters["s"] else {
            guard secret == nil || settings.takesUnsigned else {
                throw Refusal(.unsignedInterfaceDisabled, "the account takes signed queries alone")
            }
            return
        }
        inquiry.record.isSigned = true
        guard let key = secret.flatMap({ [UInt8](hexadecimal: $0) }) else {
            throw Refusal(.invalidSignature, "serve.alibaba has no secret in hexadecimal to check the signature by")
        }
        let end = try parameters.required("exp")
        let text = parameters.pairs
            .filter { (Self.signed.contains($0.name) || $0.name.hasPrefix("sdns-")) && !$0.value.isEmpty }
            .sorted { $0.name.utf8.lexicographicallyPrecedes($1.name.utf8) }
            .map { "\($0.name)=\($0.value)" }
            .joined(separator: "&")
        guard SignatureCheck.isHMAC(signature, of: text, key: key) else {
            throw Refusal(.invalidSignature, "s is not the HMAC-SHA256 of the sorted parameters")
        }
        try Self.checkTime(end, at: inquiry.seconds)
    }

    private static func cipher(_ mode: BlockCipher.Mode, _ inquiry: ServedQuery) throws(Refusal) -> BlockCipher {
        let key = try inquiry.secret(inquiry.zone.settings.alibaba.encryptionKey)
        guard let octets = key.flatMap({ [UInt8](hexadecimal: $0) }), let cipher = BlockCipher(mode, key: octets) else {
            throw Refusal(.invalidEncryption, "serve.alibaba has no encryption_key of 32 hexadecimal digits")
        }
        return cipher
    }

    /// Returns the parameters in the cipher text.
    private static func opened(_ parameters: QueryParameters, _ cipher: BlockCipher) throws(Refusal) -> QueryParameters
    {
        guard !parameters.pairs.contains(where: { encrypted.contains($0.name) || $0.name.hasPrefix("sdns-") }) else {
            throw Refusal(.invalidEncryption, "what belongs into enc is beside it, in clear")
        }
        guard let octets = [UInt8](lowerCaseHexadecimal: try parameters.required("enc")) else {
            throw Refusal(.invalidEncryption, "enc is not lower-case hexadecimal with two digits for each byte")
        }
        guard let text = cipher.opened(octets) else {
            throw Refusal(.invalidEncryption, "enc cannot be decrypted as \(cipher.mode) with this key")
        }
        guard let members = try? JSONDecoder().decode([String: String].self, from: Foundation.Data(text)) else {
            throw Refusal(.invalidEncryption, "the text in enc is not a JSON object of texts")
        }
        return QueryParameters(members)
    }

    /// Returns the encrypted answer, with the failures that the file injects.
    private static func sealed(
        _ data: AlibabaV2Body.Data,
        _ mode: BlockCipher.Mode,
        _ cipher: BlockCipher,
        _ inquiry: ServedQuery
    ) throws(Refusal) -> ServedReply {
        let isOther = inquiry.fault.garbage == .mode
        let cipher = isOther ? try Self.cipher(mode.other, inquiry) : cipher
        do {
            var octets = try cipher.sealed(try ServedReply.json(data))
            if inquiry.fault.garbage == .cipher { octets.removeLast(octets.count / 2 + 1) }
            var text = Foundation.Data(octets).base64EncodedString()
            if inquiry.fault.garbage == .oddHex { text.removeLast() }
            return try ServedReply(json: AlibabaV2Body(mode: cipher.mode.rawValue, data: .sealed(text)))
        } catch {
            throw (error as? Refusal) ?? Refusal(.internalError, "the answer cannot be encrypted")
        }
    }
}

extension QueryParameters {
    fileprivate init(_ members: [String: String]) {
        self.init(pairs: members.map { (name: $0.key, value: $0.value) })
    }
}

/// An answer of version 2, with the vendor's names for its members.
struct AlibabaV2Body: Encodable {
    struct Data: Encodable {
        var cip: String
        var answers: [Answer]
    }

    struct Answer: Encodable {
        var dn: String
        var v4: Family?
        var v6: Family?

        init(_ answer: ZoneAnswer, _ families: HTTPDNSAddress.Families) {
            dn = "\(answer.host)"
            if families.contains(.v4) { v4 = Family(answer, .v4) }
            if families.contains(.v6) { v6 = Family(answer, .v6) }
        }
    }

    struct Family: Encodable {
        var ips: [String]
        var ttl: Int
        /// The two known codes of the vendor; the full list is UNCONFIRMED.
        var absenceCode: String?

        enum CodingKeys: String, CodingKey {
            case ips, ttl
            case absenceCode = "no_ip_code"
        }

        init(_ answer: ZoneAnswer, _ family: HTTPDNSAddress.Family) {
            ips = answer.addresses(family).map { "\($0)" }
            ttl = ips.isEmpty ? answer.absence : answer.timeToLive
            if ips.isEmpty { absenceCode = answer.exists ? "RRNotExist" : "DomainNotExist" }
        }
    }

    /// The value of `data`: an object, or a text that contains one.
    enum Content: Encodable {
        case plain(Data)
        case sealed(String)

        func encode(to encoder: any Encoder) throws {
            switch self {
            case .plain(let data): try data.encode(to: encoder)
            case .sealed(let text): try text.encode(to: encoder)
            }
        }
    }

    var code = "success"
    var mode = 0
    var data: Content
}
#endif
