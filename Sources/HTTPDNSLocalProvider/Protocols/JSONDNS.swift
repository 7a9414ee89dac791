// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

#if LocalProvider
internal import HTTPDNSConfiguration
internal import HTTPDNSCore
internal import HTTPDNSMessages
internal import HTTPDNSPrimitives
internal import HTTPTypes

/// DNS answers as JSON, in the formats of Google, Cloudflare and Alidns.
struct JSONDNS: ServedProtocol {
    enum Shape: String, Sendable {
        case google, cloudflare, alidns
    }

    /// The maximum difference of a query's time from the server's. The vendor gives no figure.
    private static let timeTolerance: Int64 = 300

    let shape: Shape
    var name: String { "json-\(shape.rawValue)" }

    func reply(to request: ServedRequest, _ inquiry: inout ServedQuery) throws(Refusal) -> ServedReply {
        guard request.method == .get else { throw Refusal(.methodNotAllowed, "the method is GET") }
        // Google uses the first of repeated parameters.
        let parameters = try QueryParameters(request.query)
        let text = try parameters.required("name")
        let type = try Self.type(parameters["type"] ?? "1")
        if shape == .alidns { try check(parameters, name: text, inquiry: &inquiry) }
        guard let host = try ServedQuery.hosts([text]).first else { throw Refusal(.invalidHost, "a name is missing") }
        let answer: ZoneAnswer
        do throws(Refusal) {
            guard let found = try inquiry.answers(about: [host], type.families).first else {
                throw Refusal(.internalError, "")
            }
            answer = found
        } catch {
            guard error.code == .serverFailure || error.code == .refused else { throw error }
            let status = error.code == .refused ? DNSResponseCode.refused : .serverFailure
            return try Self.reply(JSONMessage(host, type, status: status, shape: shape))
        }
        inquiry.record.families = "\(type)"
        let message = JSONMessage(host, type, answer: answer, shape: shape)
        if shape == .alidns, parameters["short"] == "1" { return try Self.reply(message.values) }
        return try Self.reply(message)
    }

    private static func reply(_ value: some Encodable) throws(Refusal) -> ServedReply {
        try ServedReply(contentType: "application/dns-json", json: value)
    }

    private static func type(_ text: String) throws(Refusal) -> DNSRecordType {
        let words: [String: DNSRecordType] = ["A": .a, "AAAA": .aaaa, "CNAME": .cname, "SOA": .soa, "HTTPS": .https]
        if let type = words[text.uppercased()] { return type }
        guard let number = UInt16(digits: text), number > 0 else {
            throw Refusal(.invalidQuery, "type is neither a number from 1 to 65535 nor A, AAAA, CNAME, SOA or HTTPS")
        }
        return DNSRecordType(number: number)
    }

    /// Checks the account of Alidns: a query with one of its parameters must have all of them.
    private func check(_ parameters: QueryParameters, name: String, inquiry: inout ServedQuery) throws(Refusal) {
        guard ["uid", "ak", "key", "ts"].contains(where: { parameters[$0] != nil }) else { return }
        let parameters = try parameters.unique()
        inquiry.record.isSigned = true
        guard let account = inquiry.zone.settings.alidns, let secret = try inquiry.secret(account.secret) else {
            throw Refusal(.invalidAccount, "the file has no account of Alidns (serve.alidns)")
        }
        let uid = try parameters.required("uid")
        let accessKey = try parameters.required("ak")
        let time = try parameters.required("ts")
        guard uid == account.account, accessKey == account.accessKey else {
            throw Refusal(.invalidAccount, "uid and ak are not those of serve.alidns")
        }
        guard
            SignatureCheck.isSHA256(try parameters.required("key"), of: uid + secret + time + name + accessKey)
        else { throw Refusal(.invalidSignature, "key is not the SHA-256 of uid, secret, ts, name and ak") }
        guard let seconds = ServedQuery.time(time), (seconds - inquiry.seconds).magnitude <= Self.timeTolerance else {
            throw Refusal(.signatureExpired, "ts is more than \(Self.timeTolerance) s away from the clock")
        }
    }
}

/// A JSON DNS response, with the services' names for its members.
struct JSONMessage: Encodable {
    struct Question: Encodable {
        var name: String
        var type: UInt16
    }

    struct Record: Encodable {
        var name: String
        var type: UInt16
        var timeToLive: Int
        var data: String

        enum CodingKeys: String, CodingKey {
            case name, type, data
            case timeToLive = "TTL"
        }
    }

    /// A list, or as in Alidns' sample: a single question without a list around it.
    enum Questions: Encodable {
        case list(Question)
        case bare(Question)

        func encode(to encoder: any Encoder) throws {
            switch self {
            case .list(let question): try [question].encode(to: encoder)
            case .bare(let question): try question.encode(to: encoder)
            }
        }
    }

    var status: UInt16
    var isTruncated = false
    var recursionDesired = true
    var recursionAvailable = true
    var isAuthenticated = false
    var checkingDisabled = false
    var questions: Questions
    var answers: [Record]?
    var authorities: [Record]?

    enum CodingKeys: String, CodingKey {
        case status = "Status"
        case isTruncated = "TC"
        case recursionDesired = "RD"
        case recursionAvailable = "RA"
        case isAuthenticated = "AD"
        case checkingDisabled = "CD"
        case questions = "Question"
        case answers = "Answer"
        case authorities = "Authority"
    }

    /// Creates a message with a response code alone.
    init(_ host: HTTPDNSName, _ type: DNSRecordType, status: DNSResponseCode, shape: JSONDNS.Shape) {
        self.status = status.number
        let question = Question(name: "\(host).", type: type.number)
        questions = shape == .alidns ? .bare(question) : .list(question)
    }

    init(_ host: HTTPDNSName, _ type: DNSRecordType, answer: ZoneAnswer, shape: JSONDNS.Shape) {
        self.init(host, type, status: answer.exists ? .noError : .nameError, shape: shape)
        let life = answer.timeToLive
        var owner = "\(host)."
        var records: [Record] = []
        for alias in answer.aliases {
            records.append(Record(name: owner, type: DNSRecordType.cname.number, timeToLive: life, data: "\(alias)."))
            owner = "\(alias)."
        }
        let addresses = answer.addresses(type)
        records += addresses.map { Record(name: owner, type: type.number, timeToLive: life, data: "\($0)") }
        if !records.isEmpty { answers = records }
        guard addresses.isEmpty else { return }
        authorities = [
            Record(
                name: owner,
                type: DNSRecordType.soa.number,
                timeToLive: answer.absence,
                data: "\(owner) \(owner) 1 7200 3600 1209600 \(answer.absence)"
            )
        ]
    }

    /// The addresses alone, as Alidns' `short=1` is reported to send them (UNCONFIRMED).
    var values: [String] { (answers ?? []).filter { $0.type != DNSRecordType.cname.number }.map(\.data) }
}
#endif
