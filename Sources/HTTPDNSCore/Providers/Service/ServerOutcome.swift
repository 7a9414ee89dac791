// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

internal import HTTPDNSMessages
internal import HTTPDNSPrimitives

extension DNSResponse {
    /// Returns the servers of a service in the form of HTTPS records, whose targets and ports are followed alike. Their order is drawn
    /// by the weights, and is kept for the life of the answer.
    /// - Parameters:
    ///   - freshness: As for ``outcome(_:failure:)``.
    ///   - generator: The random source for servers of one priority.
    ///   - failure: As for ``outcome(_:failure:)``.
    func serverOutcome(
        _ freshness: HTTPFreshness,
        using generator: inout some RandomNumberGenerator,
        failure: (DNSResponseCode) -> HTTPDNSProviderError
    ) throws(DNSMessageError) -> HTTPDNSProviderAnswer.HTTPSRecords {
        guard isDefinite else { return .failed(failure(responseCode)) }
        let chain = try followAliases()
        let servers = chain.records.compactMap { if case .server(let server) = $0.content { server } else { nil } }
        guard responseCode == .noError, !servers.isEmpty else {
            return .none(timeToLive: negativeTimeToLive(of: chain).map(freshness.remaining))
        }
        let life = freshness.remaining(of: chain.timeToLive)
        let usable = ServerRecord.order(servers, using: &generator).lazy.compactMap { server in
            server.target.hostName.map { (target: $0, port: server.port) }
        }
        let records = usable.prefix(Self.maximumServices).enumerated().map { index, server in
            HTTPDNSProviderAnswer.HTTPSRecord(priority: UInt16(index + 1), target: server.target, port: server.port)
        }
        // The root as the target of the only one says so (RFC 2782, "Target").
        return records.isEmpty ? .unavailable(timeToLive: life) : .bindings(records, timeToLive: life)
    }
}
