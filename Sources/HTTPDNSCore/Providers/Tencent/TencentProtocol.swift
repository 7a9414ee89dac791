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
    ) throws(HTTPDNSProviderError) -> [HTTPDNSName: HTTPDNSProviderAnswer] {
        let cipher = try cipher(secrets)
        guard reply.body.contains(where: { $0 != 0x0a && $0 != 0x0d }) else {
            throw reply.badResponse("an empty answer: \(isEncrypted ? "account or key" : "account or token") refused?")
        }
        do throws(VendorAnswerError) {
            return try TencentAnswer.read(try cipher?.decrypted(reply.body) ?? reply.body, question: question)
        } catch {
            throw reply.badResponse(error)
        }
    }

    func discoveryRequest(secrets: VendorSecrets, at seconds: Int64) throws(HTTPDNSProviderError) -> ServiceRequest? {
        let url = try location.url(path: "/conf", try account(secrets))
        return ServiceRequest(method: .get, url: url, headerFields: [:])
    }

    func discovery(in reply: UpstreamReply, secrets: VendorSecrets) throws(HTTPDNSProviderError) -> ServiceDiscovery {
        let cipher = try cipher(secrets)
        do throws(VendorAnswerError) {
            let body = try cipher?.decrypted(reply.body) ?? reply.body
            var discovery = try TencentServiceList.read(body, port: location.url.port)
            // A plain-text service on this machine never leads to a plain-text service elsewhere.
            if location.url.scheme == .http {
                discovery.endpoints.removeAll { HTTPDNSAddressPolicy.Scope(of: $0.address) != .loopback }
            }
            return discovery
        } catch {
            throw reply.badResponse(error)
        }
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
        guard let token = secrets.secret, VendorCredential.isPlain(token) else {
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
