// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

internal import HTTPDNSCore
internal import HTTPDNSCurl
internal import HTTPDNSPrimitives
internal import HTTPTypes

/// The parts that both versions of the protocol share.
protocol AlibabaProtocol: VendorProtocol {
    var schedule: AlibabaSchedule { get }
}

extension AlibabaProtocol {
    func refusal(in reply: UpstreamReply) -> VendorRefusal? { AlibabaErrors.refusal(in: reply) }

    func discoveryRequest(secrets: VendorSecrets, at seconds: Int64) throws(HTTPDNSProviderError) -> ServiceRequest? {
        try schedule.request(secret: secrets.secret, at: seconds)
    }

    func discovery(in reply: UpstreamReply, secrets: VendorSecrets) throws -> ServiceDiscovery {
        try schedule.discovery(parsing: reply.body)
    }
}

/// The discovery request for the service's addresses (`/ss`), the same for both versions.
struct AlibabaSchedule: Sendable {
    /// The seconds from now until a signature expires. The vendor's newer documents require 30 to 300 s; its older ones allow
    /// a difference of 150 s either way.
    private static let validity: Int64 = 60
    /// The vendor takes 8 to 16 hexadecimal digits; its C client sends 12.
    private static let nonceOctets = 6

    let location: UpstreamLocation
    let account: String
    let region: HTTPDNSAlibabaProvider.Region
    let randomOctets: @Sendable (Int) -> [UInt8]

    /// - Parameter secret: As text, in both versions; `nil` for an unsigned request.
    func request(secret: String?, at seconds: Int64) throws(HTTPDNSProviderError) -> ServiceRequest {
        var parameters = [
            (name: "region", value: region.identifier), (name: "platform", value: "linux"),
            (name: "sdk_version", value: "swift-httpdns"),
        ]
        if let secret {
            let nonce = randomOctets(Self.nonceOctets).hexadecimal
            let time = "\(seconds + Self.validity)"
            parameters += [
                (name: "n", value: nonce), (name: "t", value: time),
                (name: "s", value: try Self.signature(nonce: nonce, secret: secret, time: time)),
            ]
        }
        let url = try location.url(path: "/\(account)/ss", parameters)
        return ServiceRequest(method: .get, url: url, headerFields: [.accept: "application/json"])
    }

    /// Returns the signature. The vendor's documents call it HMAC-MD5, but their example is plain MD5.
    static func signature(nonce: String, secret: String, time: String) throws(HTTPDNSProviderError) -> String {
        try VendorSigning.md5("\(nonce)-\(secret)-\(time)")
    }

    func discovery(parsing body: [UInt8]) throws(VendorAnswerError) -> ServiceDiscovery {
        let root = try JSONValue(objectIn: body)
        if root["service_status"]?.text == "disable" { return ServiceDiscovery(isDisabled: true) }
        guard root["service_ip"]?.texts != nil || root["service_ipv6"]?.texts != nil else {
            throw VendorAnswerError("it has no list of addresses")
        }
        let v4 = endpoints(root["service_ip"], ports: root["service_ip_port"], .v4)
        let v6 = endpoints(root["service_ipv6"], ports: root["service_ipv6_port"], .v6)
        return ServiceDiscovery(endpoints: v4 + v6)
    }

    /// Returns the addresses of one list, with the ports at the same indexes of another list.
    private func endpoints(_ list: JSONValue?, ports: JSONValue?, _ family: HTTPDNSAddress.Family) -> [HTTPDNSEndpoint]
    {
        guard case .array(let elements)? = list else { return [] }
        var numbers: [JSONValue] = []
        if case .array(let values)? = ports { numbers = values }
        return elements.enumerated().compactMap { index, element in
            guard let address = element.text.flatMap({ HTTPDNSAddress($0) }), address.family == family else {
                return nil
            }
            guard index < numbers.count else { return HTTPDNSEndpoint(address: address, port: location.url.port) }
            guard let port = numbers[index].uint16, port > 0 else { return nil }
            return HTTPDNSEndpoint(address: address, port: port)
        }
    }
}
