// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

#if LocalProvider
internal import HTTPDNSConfiguration
internal import HTTPDNSCore
internal import HTTPDNSPrimitives
internal import HTTPTypes

/// Tencent's protocol (`/d`): names with a token, or encrypted by AES-128-CBC; answers in lines of text.
struct TencentServed: ServedProtocol {
    /// The maximum number of names in one query.
    private static let batchLimit = 8

    let name = "tencent"

    func reply(to request: ServedRequest, _ inquiry: inout ServedQuery) throws(Refusal) -> ServedReply {
        let parameters = try TencentEntry.parameters(request)
        let entry = try TencentEntry(parameters, &inquiry)
        let hosts = try names(try entry.opened(try parameters.required("dn"), "dn"), entry, inquiry)
        let families = try Self.families(parameters["type"])
        let client = try Self.client(parameters["ip"], entry, request)
        let answers = try inquiry.answers(about: hosts, families)
        let hasNames = hosts.count > 1 || parameters["query"] == "1"
        var text = answers.map { answer in
            let lists = Self.lists(answer, families, hasLife: parameters["ttl"] == "1", hasNames: hasNames)
            return hasNames ? "\(answer.host).:\(lists)" : lists
        }.joined(separator: "\n")
        if parameters["clientip"] == "1" { text += "|\(client)" }
        return try entry.reply(text, inquiry)
    }

    /// Parses `a,b` or `a,b;expiry`.
    private func names(_ text: String, _ entry: TencentEntry, _ inquiry: ServedQuery) throws(Refusal) -> [HTTPDNSName] {
        let parts = text.split(separator: ";", omittingEmptySubsequences: false)
        if parts.count > 1 {
            guard parts.count == 2, let end = ServedQuery.time(parts[1]) else {
                throw Refusal(.missingArgument, "what stands behind the names is no time")
            }
            // The vendor's tolerance is UNCONFIRMED: there is none here.
            guard end >= inquiry.seconds else {
                throw TencentEntry.unauthorized(.signatureExpired, "the query ended \(inquiry.seconds - end) s ago")
            }
        }
        let names = parts[0].split(separator: ",", omittingEmptySubsequences: false).map(String.init)
        guard names.count <= (entry.isFree ? 1 : Self.batchLimit) else {
            throw Refusal(
                .tooManyHosts,
                "\(names.count) names; the limit is \(Self.batchLimit), and 1 for the free service"
            )
        }
        return try ServedQuery.hosts(names)
    }

    private static func families(_ text: String?) throws(Refusal) -> HTTPDNSAddress.Families {
        switch text?.lowercased() {
        case nil: .v4
        case "aaaa": .v6
        case "addrs": .both
        default: throw Refusal(.invalidQuery, "type is neither aaaa nor addrs; without it A is meant")
        }
    }

    /// Returns the client that the answer is for.
    ///
    /// The vendor's documents encrypt the client's address in encrypted queries; its clients send it in clear text.
    private static func client(
        _ text: String?,
        _ entry: TencentEntry,
        _ request: ServedRequest
    ) throws(Refusal) -> String {
        guard let text else { return request.client.map { "\($0)" } ?? "" }
        let plain = HTTPDNSAddress(text) == nil ? try entry.opened(text, "ip") : text
        guard let address = HTTPDNSAddress(plain) else {
            throw Refusal(.invalidIP, "ip is no address")
        }
        return "\(address)"
    }

    /// Returns `v4;v4,ttl-v6,ttl`, with a missing family as `0`; an empty text for a query of a single name without addresses.
    private static func lists(
        _ answer: ZoneAnswer,
        _ families: HTTPDNSAddress.Families,
        hasLife: Bool,
        hasNames: Bool
    ) -> String {
        let lists = [HTTPDNSAddress.Family.v4, .v6].filter { families.contains($0) }.map { family in
            let addresses = answer.addresses(family).map { "\($0)" }
            guard !addresses.isEmpty else { return "0" }
            return addresses.joined(separator: ";") + (hasLife ? ",\(answer.timeToLive)" : "")
        }
        return !hasNames && lists.allSatisfy { $0 == "0" } ? "" : lists.joined(separator: "-")
    }
}

/// Tencent's list of service addresses (`/conf`), with this server's address.
struct TencentListServed: ServedProtocol {
    /// The validity of the list, in minutes, as in the documents' sample.
    private static let life = 60

    let name = "tencent-conf"

    func reply(to request: ServedRequest, _ inquiry: inout ServedQuery) throws(Refusal) -> ServedReply {
        let entry = try TencentEntry(try TencentEntry.parameters(request), &inquiry)
        // The vendor's clients use IPv4 addresses only.
        let address = request.service.address
        let list = address.family == .v4 ? "\(address)" : ""
        return try entry.reply("log:1|domain:0|ip:\(list)|ttl:\(Self.life)", inquiry)
    }
}

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
        guard let octets = [UInt8](lowerCaseHexadecimal: text) else {
            throw Refusal(.invalidEncryption, "\(name) is not lower-case hexadecimal with two digits for each byte")
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
        var hexadecimal = octets.hexadecimal
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
