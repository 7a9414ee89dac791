// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

#if LocalProvider
internal import HTTPDNSConfiguration
internal import HTTPDNSCore
internal import HTTPDNSPrimitives
internal import HTTPTypes

/// The common parts of Alibaba's protocols.
protocol AlibabaProtocol: ServedProtocol {}

extension AlibabaProtocol {
    /// The maximum number of names in one query.
    static var batchLimit: Int { 5 }
    /// The maximum validity of a signature, in seconds: a day (the documents of version 1).
    static var longestValidity: Int64 { 86_400 }

    /// Returns the vendor's body: an error name, or an empty one for an error of a proxy.
    func reply(to refusal: Refusal, _ inquiry: ServedQuery) -> ServedReply {
        guard let code = refusal.code else { return ServedReply(status: refusal.status, text: "") }
        let word = code == .serverFailure ? Refusal.Code.internalError : code == .refused ? .serviceLevelDeny : code
        return ServedReply(
            status: refusal.status,
            contentType: "application/json",
            body: Array(#"{"code":"\#(word.rawValue)"}"#.utf8)
        )
    }

    /// Parses the families `4`, `6` and `4,6`.
    static func families(_ text: String?) throws(Refusal) -> HTTPDNSAddress.Families {
        switch text {
        case nil, "4": .v4
        case "6": .v6
        case "4,6": .both
        default: throw Refusal(.invalidQuery, "the families are 4, 6 or 4,6")
        }
    }

    /// Parses names separated by commas, at most ``batchLimit``.
    static func hosts(_ text: String) throws(Refusal) -> [HTTPDNSName] {
        let texts = text.split(separator: ",", omittingEmptySubsequences: false).map(String.init)
        guard texts.count <= batchLimit else {
            throw Refusal(.tooManyHosts, "\(texts.count) names; the limit is \(batchLimit)")
        }
        return try ServedQuery.hosts(texts)
    }

    static func checkAccount(_ account: some StringProtocol, _ settings: ServeSettings.Alibaba) throws(Refusal) {
        guard settings.account.map({ $0 == account }) ?? account.utf8.allSatisfy(\.isDigit) else {
            throw Refusal(.invalidAccount, "the account is not that of serve.alibaba")
        }
    }

    /// Checks that a valid signature has not expired.
    static func checkTime(_ text: String, at seconds: Int64) throws(Refusal) {
        guard text.utf8.count == 10, let end = ServedQuery.time(text) else {
            throw Refusal(.missingArgument, "the time of the signature is not one of ten digits")
        }
        guard end >= seconds else { throw Refusal(.signatureExpired, "the signature ended \(seconds - end) s ago") }
        guard end - seconds <= longestValidity else {
            throw Refusal(.invalidDuration, "the signature is good for more than a day")
        }
    }

    /// Returns the client that the answer is for.
    static func client(_ text: String?, _ request: ServedRequest) throws(Refusal) -> String {
        guard let text else { return request.client.map { "\($0)" } ?? "" }
        guard let address = HTTPDNSAddress(text) else { throw Refusal(.invalidIP, "the client is no address") }
        return "\(address)"
    }
}

/// Alibaba's schedule request (`/{account}/ss`), with this server's address, or no address for a disabled account.
///
/// Only this reply reports a disabled account, and queries are still answered: the vendor relies on the client to stop.
struct AlibabaScheduleServed: AlibabaProtocol {
    private struct Body: Encodable {
        var v4: [String] = []
        var v6: [String] = []
        var v4Ports: [UInt16]?
        var v6Ports: [UInt16]?

        enum CodingKeys: String, CodingKey {
            case v4 = "service_ip"
            case v6 = "service_ipv6"
            case v4Ports = "service_ip_port"
            case v6Ports = "service_ipv6_port"
        }
    }

    private static let regions: Set<String> = ["cn", "hk", "sg", "us", "de", "global"]
    /// The vendor's older documents allow 150 s before the server's time, its newer ones require up to 300 s after it.
    private static let window: ClosedRange<Int64> = -150...300

    let account: String
    let name = "alibaba-ss"

    func reply(to request: ServedRequest, _ inquiry: inout ServedQuery) throws(Refusal) -> ServedReply {
        guard request.method == .get else { throw Refusal(.methodNotAllowed, "the method is GET") }
        let parameters = try QueryParameters(request.query).unique()
        let settings = inquiry.zone.settings.alibaba
        try Self.checkAccount(account, settings)
        guard Self.regions.contains(parameters["region"] ?? "cn") else {
            throw Refusal(.missingArgument, "there is no such region")
        }
        try checkSignature(parameters, &inquiry)
        if settings.isDisabled { return try ServedReply(json: ["service_status": "disable"]) }
        let endpoint = request.service
        var body = Body()
        if endpoint.address.family == .v4 {
            body.v4 = ["\(endpoint.address)"]
            body.v4Ports = [endpoint.port]
        } else {
            body.v6 = ["\(endpoint.address)"]
            body.v6Ports = [endpoint.port]
        }
        return try ServedReply(json: body)
    }

    /// Checks the signature. Unsigned requests of accounts with a secret are answered; whether the vendor refuses them is
    /// UNCONFIRMED.
    private func checkSignature(_ parameters: QueryParameters, _ inquiry: inout ServedQuery) throws(Refusal) {
        guard let signature = parameters["s"] else { return }
        inquiry.record.isSigned = true
        guard let secret = try inquiry.secret(inquiry.zone.settings.alibaba.secret) else {
            throw Refusal(.invalidSignature, "serve.alibaba has no secret to check it by")
        }
        let (nonce, time) = (try parameters.required("n"), try parameters.required("t"))
        guard (8...16).contains(nonce.utf8.count), nonce.utf8.allSatisfy({ Character(UnicodeScalar($0)).isHexDigit })
        else { throw Refusal(.missingArgument, "n is not one of 8 to 16 hexadecimal digits") }
        guard SignatureCheck.isMD5(signature, of: "\(nonce)-\(secret)-\(time)") else {
            throw Refusal(.invalidSignature, "s is not the MD5 of n-secret-t")
        }
        guard let seconds = ServedQuery.time(time), Self.window.contains(seconds - inquiry.seconds) else {
            throw Refusal(
                .signatureExpired,
                "t is outside of \(Self.window.lowerBound) to +\(Self.window.upperBound) s"
            )
        }
    }
}
#endif
