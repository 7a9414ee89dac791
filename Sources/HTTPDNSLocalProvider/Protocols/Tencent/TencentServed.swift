#if LocalProvider
internal import HTTPDNSCore
internal import HTTPDNSConfiguration
internal import HTTPDNSPrimitives

/// Tencent's protocol (`/d`): names with a token, or encrypted by AES-128-CBC; answers in lines of text.
struct TencentServed: ServedProtocol {
    /// The maximum number of names in one query.
    private static let batchLimit = 8

    let name = "tencent"

    func reply(to request: ServedRequest, _ inquiry: inout ServedQuery) throws(Refusal) -> ServedReply {
        let parameters = try TencentEntry.parameters(request)
        let entry = try TencentEntry(parameters, &inquiry)
        let hosts = try names(try entry.opened(try parameters.required("dn"), "dn"), entry, inquiry)
        let families = try Self.families(parameters["type"])
        let client = try Self.client(parameters["ip"], entry, request)
        let answers = try inquiry.answers(about: hosts, families)
        let hasNames = hosts.count > 1 || parameters["query"] == "1"
        var text = answers.map { answer in
            let lists = Self.lists(answer, families, hasLife: parameters["ttl"] == "1", hasNames: hasNames)
            return hasNames ? "\(answer.host).:\(lists)" : lists
        }.joined(separator: "\n")
        if parameters["clientip"] == "1" { text += "|\(client)" }
        return try entry.reply(text, inquiry)
    }

    /// Parses `a,b` or `a,b;expiry`.
    private func names(_ text: String, _ entry: TencentEntry, _ inquiry: ServedQuery) throws(Refusal) -> [HTTPDNSName] {
        let parts = text.split(separator: ";", omittingEmptySubsequences: false)
        if parts.count > 1 {
            guard parts.count == 2, let end = ServedQuery.time(parts[1]) else {
                throw Refusal(.missingArgument, "what stands behind the names is no time")
            }
            // The vendor's tolerance is UNCONFIRMED: there is none here.
            guard end >= inquiry.seconds else {
                throw TencentEntry.unauthorized(.signatureExpired, "the query ended \(inquiry.seconds - end) s ago")
            }
        }
        let names = parts[0].split(separator: ",", omittingEmptySubsequences: false).map(String.init)
        guard names.count <= (entry.isFree ? 1 : Self.batchLimit) else {
            throw Refusal(
                .tooManyHosts,
                "\(names.count) names; the limit is \(Self.batchLimit), and 1 for the free service"
            )
        }
        return try ServedQuery.hosts(names)
    }

    private static func families(_ text: String?) throws(Refusal) -> HTTPDNSAddress.Families {
        switch text?.lowercased() {
        case nil: .v4
        case "aaaa": .v6
        case "addrs": .both
        default: throw Refusal(.invalidQuery, "type is neither aaaa nor addrs; without it A is meant")
        }
    }

    /// Returns the client that the answer is for.
    ///
    /// The vendor's documents encrypt the client's address in encrypted queries; its clients send it in clear text.
    private static func client(
        _ text: String?,
        _ entry: TencentEntry,
        _ request: ServedRequest
    ) throws(Refusal) -> String {
        guard let text else { return request.client.map { "\($0)" } ?? "" }
        let plain = HTTPDNSAddress(text) == nil ? try entry.opened(text, "ip") : text
        guard let address = HTTPDNSAddress(plain) else {
            throw Refusal(.invalidIP, "ip is no address")
        }
        return "\(address)"
    }

    /// Returns `v4;v4,ttl-v6,ttl`, with a missing family as `0`; an empty text for a query of a single name without addresses.
    private static func lists(
        _ answer: ZoneAnswer,
        _ families: HTTPDNSAddress.Families,
        hasLife: Bool,
        hasNames: Bool
    ) -> String {
        let lists = [HTTPDNSAddress.Family.v4, .v6].filter { families.contains($0) }.map { family in
            let addresses = answer.addresses(family).map { "\($0)" }
            guard !addresses.isEmpty else { return "0" }
            return addresses.joined(separator: ";") + (hasLife ? ",\(answer.timeToLive)" : "")
        }
        return !hasNames && lists.allSatisfy { $0 == "0" } ? "" : lists.joined(separator: "-")
    }
}

/// Tencent's list of service addresses (`/conf`), with this server's address.
struct TencentListServed: ServedProtocol {
    /// The validity of the list, in minutes, as in the documents' sample.
    private static let life = 60

    let name = "tencent-conf"

    func reply(to request: ServedRequest, _ inquiry: inout ServedQuery) throws(Refusal) -> ServedReply {
        let entry = try TencentEntry(try TencentEntry.parameters(request), &inquiry)
        // The vendor's clients use IPv4 addresses only.
        let address = request.service.address
        let list = address.family == .v4 ? "\(address)" : ""
        return try entry.reply("log:1|domain:0|ip:\(list)|ttl:\(Self.life)", inquiry)
    }
}
#endif
