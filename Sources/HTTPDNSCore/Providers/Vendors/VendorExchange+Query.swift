internal import HTTPDNSPrimitives

extension VendorExchange {
    /// Answers one query; see ``HTTPDNSProvider/resolve(_:)``.
    func resolve(_ query: HTTPDNSProviderQuery) async throws -> HTTPDNSProviderAnswer {
        let question = VendorQuery(
            hosts: [query.host],
            families: query.families,
            clientSubnet: query.clientSubnet
        )
        guard let answer = try await answers(to: question, limit: query.timeLimit)[query.host] else {
            throw HTTPDNSProviderError(
                code: .badResponse,
                message: "the answer says nothing about the name that was asked for"
            )
        }
        if let failure = answer.failure { throw failure }
        return answer
    }

    /// Answers a query about several names; see ``HTTPDNSProvider/resolve(_:batch:)``.
    func resolve(_ query: HTTPDNSProviderQuery, batch: [HTTPDNSName]) async throws -> [HTTPDNSName:
        HTTPDNSProviderAnswer]
    {
        var seen: Set<HTTPDNSName> = []
        let hosts = batch.filter { seen.insert($0).inserted }
        guard !hosts.isEmpty else { return [:] }
        guard hosts.count <= batchLimit else {
            throw HTTPDNSProviderError(
                code: .refused,
                message: "a batch has \(hosts.count) names, and the service takes \(batchLimit) at most"
            )
        }
        let question = VendorQuery(hosts: hosts, families: query.families, clientSubnet: query.clientSubnet)
        let answers = try await answers(to: question, limit: query.timeLimit)
        if let failure = answers.values.compactMap(\.failure).first,
            answers.values.allSatisfy({ $0.failure != nil })
        {
            throw failure
        }
        return answers
    }
}
