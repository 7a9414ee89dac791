internal import HTTPDNSMessages
internal import HTTPDNSPrimitives
internal import HTTPTypes

/// Version 2 of the protocol: `/v2/d` for one name or several, signed and encrypted as the account requires.
struct AlibabaV2: VendorProtocol {
    /// The seconds from now until a signature expires, as in the vendor's Android and iOS clients.
    static let validity: Int64 = 600

    let batchLimit = 5
    let schedule: AlibabaSchedule
    let encryption: AlibabaProvider.Encryption?
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

    func refusal(in reply: UpstreamReply) -> VendorRefusal? { AlibabaErrors.refusal(in: reply) }

    func answers(
        in reply: UpstreamReply,
        to question: VendorQuery,
        secrets: VendorSecrets
    ) throws(HTTPDNSProviderError) -> [HTTPDNSName: HTTPDNSProviderAnswer] {
        let payload = try AlibabaV2Payload(encryption, key: secrets.encryptionKey)
        do throws(VendorAnswerError) {
            return try AlibabaV2Answer.read(reply.body, question: question, payload: payload)
        } catch {
            throw reply.badResponse(error)
        }
    }

    func discoveryRequest(secrets: VendorSecrets, at seconds: Int64) throws(HTTPDNSProviderError) -> ServiceRequest? {
        try schedule.request(secret: secrets.secret, at: seconds)
    }

    func discovery(in reply: UpstreamReply, secrets: VendorSecrets) throws(HTTPDNSProviderError) -> ServiceDiscovery {
        try schedule.discovery(in: reply)
    }
}
