#if LocalProvider
internal import HTTPDNSMessages
internal import HTTPDNSCore
internal import HTTPDNSConfiguration
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
        guard let number = UInt16(text), number > 0 else {
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
#endif
