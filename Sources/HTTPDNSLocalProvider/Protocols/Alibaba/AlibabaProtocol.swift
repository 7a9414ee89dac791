#if LocalProvider
internal import HTTPDNSCore
internal import HTTPDNSConfiguration
internal import HTTPDNSPrimitives

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
        guard settings.account.map({ $0 == account }) ?? account.utf8.allSatisfy({ (0x30...0x39).contains($0) }) else {
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
#endif
