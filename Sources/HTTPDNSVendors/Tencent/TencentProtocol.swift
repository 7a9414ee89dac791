// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

internal import HTTPDNSCore
internal import HTTPDNSCurl
internal import HTTPDNSMessages
internal import HTTPDNSPrimitives
internal import HTTPTypes

/// The protocol: `/d` for one name or several, with a token or encrypted, and `/conf`.
struct TencentProtocol: VendorProtocol {
    /// The seconds from now until a query expires, as in the vendor's iOS client.
    static let validity: Int64 = 600

    let batchLimit = 8
    let location: UpstreamLocation
    let account: String
    /// Whether names and answers are encrypted; otherwise a token is sent with them.
    let isEncrypted: Bool
    let sendsExpiry: Bool
    let encryptsClientSubnet: Bool
    let errors: TencentErrors
    let randomOctets: @Sendable (Int) -> [UInt8]

    func request(
        for question: VendorQuery,
        secrets: VendorSecrets,
        at seconds: Int64
    ) throws(HTTPDNSProviderError) -> ServiceRequest {
        let cipher = try cipher(secrets)
        let hosts = question.hosts.map(\.description).joined(separator: ",")
        let names = sendsExpiry ? "\(hosts);\(seconds + Self.validity)" : hosts
        var parameters = [(name: "dn", value: try cipher?.encrypted(names) ?? names)]
        parameters += try account(secrets)
        if let type = question.families.tencentType { parameters.append((name: "type", value: type)) }
        if let subnet = question.clientSubnet.map({ DNSClientSubnet($0).network }) {
            let address = "\(subnet.address)"
            let value = encryptsClientSubnet ? try cipher?.encrypted(address) : nil
            parameters.append((name: "ip", value: value ?? address))
        }
        // Requests times to live, the client's address at the end, and names also in the answer about a single name.
        parameters += ["ttl", "clientip", "query"].map { (name: $0, value: "1") }
        return ServiceRequest(method: .get, url: try location.url(path: "/d", parameters), headerFields: [:])
    }

    func refusal(in reply: UpstreamReply) -> VendorRefusal? { errors.refusal(in: reply) }

    func answers(
        in reply: UpstreamReply,
        to question: VendorQuery,
        secrets: VendorSecrets
    ) throws -> [HTTPDNSName: HTTPDNSProviderAnswer] {
        let cipher = try cipher(secrets)
        guard reply.body.contains(where: { $0 != 0x0a && $0 != 0x0d }) else {
            throw reply.badResponse("an empty answer: \(isEncrypted ? "account or key" : "account or token") refused?")
        }
        return try TencentAnswer.read(try cipher?.decrypted(reply.body) ?? reply.body, question: question)
    }

    func discoveryRequest(secrets: VendorSecrets, at seconds: Int64) throws(HTTPDNSProviderError) -> ServiceRequest? {
        let url = try location.url(path: "/conf", try account(secrets))
        return ServiceRequest(method: .get, url: url, headerFields: [:])
    }

    func discovery(in reply: UpstreamReply, secrets: VendorSecrets) throws -> ServiceDiscovery {
        let cipher = try cipher(secrets)
        let body = try cipher?.decrypted(reply.body) ?? reply.body
        var discovery = try TencentServiceList.read(body, port: location.url.port)
        // A plain-text service on this machine never leads to a plain-text service elsewhere.
        if location.url.scheme == .http {
            discovery.endpoints.removeAll { HTTPDNSAddressPolicy.Scope(of: $0.address) != .loopback }
        }
        return discovery
    }

    /// Returns the request for `endpoint`: a URL with an address as its host gets the endpoint's own address.
    func addressed(_ request: ServiceRequest, to endpoint: HTTPDNSEndpoint) -> ServiceRequest {
        guard case .address = request.url.host else { return request }
        var request = request
        request.url = ParsedURL(request.url, host: .address(endpoint.address))
        return request
    }

    private func cipher(_ secrets: VendorSecrets) throws(HTTPDNSProviderError) -> TencentCipher? {
        isEncrypted ? try TencentCipher(key: secrets.encryptionKey, randomOctets: randomOctets) : nil
    }

    /// Returns the parameters that identify the account.
    private func account(_ secrets: VendorSecrets) throws(HTTPDNSProviderError) -> [(name: String, value: String)] {
        if isEncrypted { return [(name: "id", value: account), (name: "alg", value: "aes")] }
        guard let token = secrets.secret, HTTPDNSVendorCredential.isPlain(token) else {
            throw HTTPDNSProviderError(
                code: .notConfigured,
                message: "the token is not of 1 to 128 of a-z, A-Z, 0-9, -, _ and .; copy it from the vendor's console"
            )
        }
        return [(name: "token", value: token)]
    }
}

extension HTTPDNSAddress.Families {
    /// The families in the service's notation; `nil` for IPv4, the service's default.
    fileprivate var tencentType: String? {
        switch self {
        case .v4: nil
        case .v6: "aaaa"
        default: "addrs"
        }
    }
}

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
    /// - Throws: `HTTPDNSProviderError` when the key is missing or malformed. The error does not contain the key.
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
            "the encryption key does not have 1 to \(AESCipher.keyOctets) bytes; copy the AES key from the vendor's console"
    )

    /// Returns the encrypted text as it is in a URL, with an initialization vector of its own.
    func encrypted(_ text: String) throws(HTTPDNSProviderError) -> String {
        do throws(AESCipher.Failure) {
            let vector = randomOctets(cipher.mode.vectorOctets)
            return try cipher.encrypt(Array(text.utf8), vector: vector).hexadecimal
        } catch {
            throw HTTPDNSProviderError(code: .notConfigured, message: error.description)
        }
    }

    /// Returns the plain text of a body.
    func decrypted(_ body: [UInt8]) throws(VendorAnswerError) -> [UInt8] {
        let digits = TencentText.withoutLineEnd(body[...])
        guard let octets = [UInt8](hexadecimal: String(decoding: digits, as: UTF8.self)) else {
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

/// The errors of Tencent's HTTPDNS. The service has no codes of its own: only the status distinguishes them, and 200 also
/// covers a name that was not found.
struct TencentErrors: Sendable {
    static let words = VendorVocabulary(
        service: "Tencent HTTPDNS service",
        answer: "answer of Tencent HTTPDNS",
        mediaType: "text/plain",
        methodAdvice: "check that the url is that of Tencent HTTPDNS"
    )

    private let table: VendorErrorTable

    /// - Parameter accountRefusals: The statuses that permanently refuse the account. The vendor documents none.
    init(accountRefusals: Set<Int>) {
        // The meaning of 401 and 403 is not documented either. They may be due to a wrong clock of this machine.
        let notAllowed = VendorErrorTable.Row(
            .clock,
            "the service does not let this account ask; check the account, its token or key, and the clock of this machine"
        )
        let refused = VendorErrorTable.Row(.account, "the account is refused; check its number, and its token or key")
        var rows = ["HTTP 401": notAllowed, "HTTP 403": notAllowed]
        rows["HTTP 501"] = .init(
            .question,
            "the service does not take GET; check that the url is that of Tencent HTTPDNS"
        )
        for status in accountRefusals { rows[Self.code(status)] = refused }
        table = VendorErrorTable(rows: rows, words: Self.words)
    }

    /// Returns the refusal in a reply, by its status.
    func refusal(in reply: UpstreamReply) -> VendorRefusal? {
        let code = Self.code(reply.status)
        return table.refusal(code: table.rows[code] == nil ? nil : code, in: reply)
    }

    private static func code(_ status: Int) -> String { "HTTP \(status)" }
}

/// The parser for the service's description of itself (`/conf`): `log:1|domain:0|ip:192.0.2.53;192.0.2.54|ttl:60`.
enum TencentServiceList {
    /// The life of a list without a usable time to live. It is the default of the vendor's clients.
    private static let defaultMinutes: Int64 = 60
    private static let allowedMinutes: ClosedRange<Int64> = 1...1440

    /// - Parameters:
    ///   - body: The body, decrypted if it was encrypted.
    ///   - port: The port of the service's URL; the list has none.
    static func read(_ body: [UInt8], port: UInt16) throws(VendorAnswerError) -> ServiceDiscovery {
        let text = try TencentText.text(body)
        var fields: [Substring: Substring] = [:]
        for field in text.split(separator: "|", omittingEmptySubsequences: false) {
            guard let colon = field.firstIndex(of: ":"),
                fields.updateValue(field[field.index(after: colon)...], forKey: field[..<colon]) == nil
            else { throw VendorAnswerError("it is no list of fields with a name each", isText: false) }
        }
        // The last field proves that the others are complete.
        guard let list = fields["ip"], let life = fields["ttl"] else {
            throw VendorAnswerError("it has no field \"ip\" or no \"ttl\": it was cut off, or is something else")
        }
        // The vendor's clients keep only IPv4.
        let addresses = list.split(separator: ";").compactMap { HTTPDNSAddress(String($0)) }.filter { $0.family == .v4 }
        let minutes = TencentText.number(life).flatMap { allowedMinutes.contains($0) ? $0 : nil } ?? defaultMinutes
        return ServiceDiscovery(
            endpoints: addresses.map { HTTPDNSEndpoint(address: $0, port: port) },
            lifetime: .seconds(60 * minutes)
        )
    }
}
