// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

#if LocalProvider
internal import HTTPDNSMessages
internal import HTTPDNSCore
internal import HTTPDNSConfiguration
internal import HTTPDNSPrimitives
internal import HTTPTypes

/// Version 1 of Alibaba's protocol: `/{account}/d` and `/{account}/resolve`, and both signed by MD5.
struct AlibabaV1Served: AlibabaProtocol {
    let account: String
    let isBatch: Bool
    let isSigned: Bool

    let name = "alibaba-v1"

    /// - Parameter command: The second part of the path; nil for one that version 1 does not have.
    init?(account: some StringProtocol, command: some StringProtocol) {
        switch command {
        case "d": (isBatch, isSigned) = (false, false)
        case "sign_d": (isBatch, isSigned) = (false, true)
        case "resolve": (isBatch, isSigned) = (true, false)
        case "sign_resolve": (isBatch, isSigned) = (true, true)
        default: return nil
        }
        self.account = String(account)
    }

    func reply(to request: ServedRequest, _ inquiry: inout ServedQuery) throws(Refusal) -> ServedReply {
        guard request.method == .get else { throw Refusal(.methodNotAllowed, "the method is GET") }
        let parameters = try QueryParameters(request.query).unique()
        try Self.checkAccount(account, inquiry.zone.settings.alibaba)
        let text = try parameters.required("host")
        try checkSignature(parameters, hosts: text, &inquiry)
        let hosts = try Self.hosts(text)
        guard isBatch || hosts.count == 1 else { throw Refusal(.tooManyHosts, "several names are for resolve") }
        let families = try Self.families(parameters["query"])
        let clients = try clients(parameters["ip"], hosts: hosts.count, request)
        let answers = try inquiry.answers(about: hosts, families)
        guard isBatch else {
            return try ServedReply(json: AlibabaV1Row(answers[0], families, client: clients[0]))
        }
        let rows = answers.flatMap { answer in
            clients.flatMap { client in
                inquiry.zone.settings.alibaba.hasRowsByType
                    ? AlibabaV1Row.byType(answer, families, client: client)
                    : [AlibabaV1Row(answer, families, client: client)]
            }
        }
        return try ServedReply(json: ["dns": rows])
    }

    private func checkSignature(
        _ parameters: QueryParameters,
        hosts: String,
        _ inquiry: inout ServedQuery
    ) throws(Refusal) {
        let settings = inquiry.zone.settings.alibaba
        let secret = try inquiry.secret(settings.secret)
        guard isSigned else {
            guard secret == nil || settings.takesUnsigned else {
                throw Refusal(
                    .unsignedInterfaceDisabled,
                    "the account takes signed queries alone (sign_d, sign_resolve)"
                )
            }
            return
        }
        inquiry.record.isSigned = true
        guard let secret else { throw Refusal(.invalidSignature, "serve.alibaba has no secret to check it by") }
        let time = try parameters.required("t")
        guard SignatureCheck.isMD5(try parameters.required("s"), of: "\(hosts)-\(secret)-\(time)") else {
            throw Refusal(.invalidSignature, "s is not the MD5 of host-secret-t")
        }
        try Self.checkTime(time, at: inquiry.seconds)
    }

    /// Returns the clients that the answers are for: a batch may query one name for several.
    private func clients(_ text: String?, hosts: Int, _ request: ServedRequest) throws(Refusal) -> [String] {
        guard let text else { return [try Self.client(nil, request)] }
        let texts = text.split(separator: ",", omittingEmptySubsequences: false).map(String.init)
        guard texts.count == 1 || isBatch && hosts == 1 && texts.count <= Self.batchLimit else {
            throw Refusal(.invalidIP, "several addresses are for resolve with one name, at most \(Self.batchLimit)")
        }
        var clients: [String] = []
        for text in texts { clients.append(try Self.client(text, request)) }
        return clients
    }
}

/// A row of an answer of version 1, with the vendor's names for its members.
struct AlibabaV1Row: Encodable {
    /// The factor by which `origin_ttl` exceeds the lifetime: a client that uses it by mistake becomes visible.
    private static let originFactor = 10

    var host: String
    var client: String
    var ips: [String]
    var ipsv6: [String]?
    var type: UInt16?
    var timeToLive: Int
    var originTimeToLive: Int

    enum CodingKeys: String, CodingKey {
        case host, ips, ipsv6, type
        case client = "client_ip"
        case timeToLive = "ttl"
        case originTimeToLive = "origin_ttl"
    }

    init(_ answer: ZoneAnswer, _ families: HTTPDNSAddress.Families, client: String) {
        host = "\(answer.host)"
        self.client = client
        ips = families.contains(.v4) ? answer.v4.map { "\($0)" } : []
        ipsv6 = families.contains(.v6) ? answer.v6.map { "\($0)" } : nil
        timeToLive = ips.isEmpty && ipsv6?.isEmpty != false ? answer.absence : answer.timeToLive
        originTimeToLive = timeToLive * Self.originFactor
    }

    /// Returns a row for each family, both with their addresses in `ips`.
    static func byType(_ answer: ZoneAnswer, _ families: HTTPDNSAddress.Families, client: String) -> [AlibabaV1Row] {
        [HTTPDNSAddress.Family.v4, .v6].filter { families.contains($0) }.map { family in
            var row = AlibabaV1Row(answer, families, client: client)
            row.ips = answer.addresses(family).map { "\($0)" }
            row.ipsv6 = nil
            row.type = DNSRecordType(of: family).number
            return row
        }
    }
}
#endif
