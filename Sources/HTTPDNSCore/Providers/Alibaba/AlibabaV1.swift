internal import HTTPDNSMessages
internal import HTTPDNSPrimitives
internal import HTTPTypes

/// Version 1 of the protocol: `/{account}/d` for one name and `/{account}/resolve` for several, both also signed.
struct AlibabaV1: VendorProtocol {
    /// The seconds from now until a signature expires, as in the vendor's Android client. The service allows a day.
    static let validity: Int64 = 600

    let batchLimit = 5
    let schedule: AlibabaSchedule
    let customParameters: AlibabaCustomParameters

    func request(
        for question: VendorQuery,
        secrets: VendorSecrets,
        at seconds: Int64
    ) throws(HTTPDNSProviderError) -> ServiceRequest {
        let hosts = question.hosts.map(\.description).joined(separator: ",")
        var parameters = [(name: "host", value: hosts), (name: "query", value: question.families.alibabaQuery)]
        if let subnet = question.clientSubnet.map({ DNSClientSubnet($0).network }) {
            parameters.append((name: "ip", value: "\(subnet.address)"))
        }
        parameters += customParameters.sorted
        var path = question.hosts.count == 1 ? "d" : "resolve"
        if let secret = secrets.secret {
            path = "sign_\(path)"
            let time = "\(seconds + Self.validity)"
            let signature = try Self.signature(hosts: hosts, secret: secret, time: time)
            parameters += [(name: "t", value: time), (name: "s", value: signature)]
        }
        let url = try schedule.location.url(path: "/\(schedule.account)/\(path)", parameters)
        return ServiceRequest(method: .get, url: url, headerFields: [.accept: "application/json"])
    }

    /// - Parameter hosts: The names as they are in the URL.
    static func signature(hosts: String, secret: String, time: String) throws(HTTPDNSProviderError) -> String {
        try VendorSigning.md5("\(hosts)-\(secret)-\(time)")
    }

    func refusal(in reply: UpstreamReply) -> VendorRefusal? { AlibabaErrors.refusal(in: reply) }

    func answers(
        in reply: UpstreamReply,
        to question: VendorQuery,
        secrets: VendorSecrets
    ) throws(HTTPDNSProviderError) -> [HTTPDNSName: HTTPDNSProviderAnswer] {
        do throws(VendorAnswerError) {
            return try AlibabaV1Answer.read(reply.body, question: question)
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

extension HTTPDNSAddress.Families {
    /// The families in the notation of both versions.
    var alibabaQuery: String {
        switch self {
        case .v4: "4"
        case .v6: "6"
        default: "4,6"
        }
    }
}
