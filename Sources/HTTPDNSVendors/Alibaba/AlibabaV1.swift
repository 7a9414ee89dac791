// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

internal import HTTPDNSCore
internal import HTTPDNSMessages
internal import HTTPDNSPrimitives
internal import HTTPTypes

/// Version 1 of the protocol: `/{account}/d` for one name and `/{account}/resolve` for several, both also signed.
struct AlibabaV1: AlibabaProtocol {
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

    func answers(
        in reply: UpstreamReply,
        to question: VendorQuery,
        secrets: VendorSecrets
    ) throws -> [HTTPDNSName: HTTPDNSProviderAnswer] {
        try AlibabaV1Answer.read(reply.body, question: question)
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

/// The parser for answers of version 1: an object about one name, or a list of them under `dns`.
///
/// The list has two forms: one element for each name, with `ips` and `ipsv6`; or one element for each name and record `type`,
/// where elements of type 28 have IPv6 addresses in `ips`. Both forms are read, also mixed: the elements of one name are
/// merged.
///
/// `ttl` is the remaining life of the vendor's answer. `origin_ttl`, its original life, is never used: it would keep an
/// answer beyond its time.
enum AlibabaV1Answer {
    /// The lists found for one name so far; `nil` for a list that is missing.
    private struct Lists {
        var v4: [String]?
        var v6: [String]?
        var seconds: Double?

        mutating func add(_ element: JSONValue) {
            let isV6Row = element["type"]?.uint16 == DNSRecordType.aaaa.number
            if let texts = element["ips"]?.texts {
                if isV6Row { v6 = (v6 ?? []) + texts } else { v4 = (v4 ?? []) + texts }
            }
            if let texts = element["ipsv6"]?.texts { v6 = (v6 ?? []) + texts }
            if let life = element["ttl"]?.finiteNumber { seconds = min(seconds ?? life, life) }
        }

        /// Returns the answer. A list that is missing beside another one counts as empty; with no list at all there is no
        /// answer.
        func answer(_ families: HTTPDNSAddress.Families) -> HTTPDNSProviderAnswer? {
            guard v4 != nil || v6 != nil else { return nil }
            var answer = HTTPDNSProviderAnswer()
            for (family, list) in [(HTTPDNSAddress.Family.v4, v4), (.v6, v6)] where families.contains(family) {
                answer[family] = HTTPDNSProviderAnswer.Family(family, list: list ?? [], seconds: seconds)
            }
            return answer
        }
    }

    /// Returns the answers in a body for the names of the query.
    static func read(
        _ body: [UInt8],
        question: VendorQuery
    ) throws(VendorAnswerError) -> [HTTPDNSName: HTTPDNSProviderAnswer] {
        let root = try JSONValue(objectIn: body)
        let elements: [JSONValue]
        switch root["dns"] {
        case .array(let list)?: elements = list
        case nil: elements = [root]
        case .some(let other): throw VendorAnswerError("\"dns\" is \(other.kind); it must be a list")
        }
        let asked = Set(question.hosts)
        var lists: [HTTPDNSName: Lists] = [:]
        for element in elements {
            guard let host = element["host"]?.text.flatMap({ try? HTTPDNSName($0) }), asked.contains(host) else {
                continue
            }
            lists[host, default: Lists()].add(element)
        }
        let answers = lists.compactMapValues { $0.answer(question.families) }
        guard !answers.isEmpty else {
            throw VendorAnswerError("it says nothing about the names that were asked for")
        }
        return answers
    }
}
