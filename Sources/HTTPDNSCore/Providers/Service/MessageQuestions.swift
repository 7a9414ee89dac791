// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

package import HTTPDNSMessages
package import HTTPDNSPrimitives

/// The questions of a provider whose service answers with DNS messages, whatever carries them.
struct MessageQuestions: Sendable {
    /// Whether the request may contain a secret. Then no text of a response is quoted, which may repeat the request.
    let isSecret: Bool
    let time: any TimeSource
    /// Returns the response to a question until a deadline, the end of a time limit.
    let reply: @Sendable (DNSQuestion, DNSClientSubnet?, Duration, MonotonicTime) async throws -> UpstreamReply

    /// Asks for the servers of a service. Its name has no addresses of its own.
    private func servers(of query: HTTPDNSProviderQuery) async throws -> HTTPDNSProviderAnswer {
        let question = DNSQuestion(query.host, type: .srv)
        var generator = SystemRandomNumberGenerator()
        let servers = try await reply(question, nil, query.timeLimit, time.now() + query.timeLimit)
            .messageServers(to: question, isSecret: isSecret, using: &generator)
        var life: Duration?
        switch servers {
        case .failed(let error): throw error
        case .none(let timeToLive): life = timeToLive
        case .bindings(_, let timeToLive), .alias(_, let timeToLive), .unavailable(let timeToLive): life = timeToLive
        }
        var answer = HTTPDNSProviderAnswer()
        for family in HTTPDNSAddress.Family.allCases where query.families.contains(family) {
            answer[family] = .noData(timeToLive: life)
        }
        answer.httpsRecords = servers
        return answer
    }

    /// Asks for every family concurrently, and for HTTPS records with them if the query wants them.
    /// - Throws: ``HTTPDNSProviderError`` when no family was answered; `CancellationError` when the task is canceled.
    func answer(to query: HTTPDNSProviderQuery) async throws -> HTTPDNSProviderAnswer {
        if query.host.isService { return try await servers(of: query) }
        let deadline = time.now() + query.timeLimit
        let subnet = query.clientSubnet.map(DNSClientSubnet.init)
        let httpsRecords: @Sendable () async throws -> HTTPDNSProviderAnswer.HTTPSRecords = {
            let question = DNSQuestion(query.host, type: .https)
            var generator = SystemRandomNumberGenerator()
            return try await reply(question, subnet, query.timeLimit, deadline).messageHTTPSRecords(
                for: question,
                clientSubnet: subnet,
                isSecret: isSecret,
                using: &generator
            )
        }
        let families = HTTPDNSAddress.Family.allCases.filter(query.families.contains)
        let sharedFamilies = Lock<Set<HTTPDNSAddress.Family>>([])
        let allReasons = Lock<[HTTPDNSExtendedError]>([])
        var answer = try await FamilyQuestions(families: query.families, deadline: deadline, time: time)
            .answers(httpsRecords: query.wantsHTTPSRecords ? httpsRecords : nil) { family in
                let question = DNSQuestion(query.host, type: DNSRecordType(of: family))
                let (answer, scope, reasons) = try await reply(question, subnet, query.timeLimit, deadline)
                    .messageAnswer(to: question, clientSubnet: subnet, isSecret: isSecret)
                if scope == 0 { sharedFamilies.withLock { _ = $0.insert(family) } }
                if !reasons.isEmpty { allReasons.withLock { all in all += reasons.filter { !all.contains($0) } } }
                return answer
            }
        // The response of a family that was given up may come in this moment.
        let isWhole = answer.failedFamilies(among: query.families).isEmpty
        answer.holdsForAllClients = subnet != nil && isWhole && sharedFamilies.withLock { $0.isSuperset(of: families) }
        answer.extendedErrors = allReasons.withLock { $0 }
        return answer
    }

    /// Asks for records that are shown.
    func records(
        for question: DNSQuestion,
        clientSubnet: HTTPDNSAddressBlock?,
        timeLimit: Duration
    ) async throws -> RecordReply {
        let subnet = clientSubnet.map(DNSClientSubnet.init)
        let reply = try await reply(question, subnet, timeLimit, time.now() + timeLimit)
        return RecordReply(
            response: try reply.presented(for: question, isSecret: isSecret),
            server: reply.endpoint,
            transport: reply.transport
        )
    }
}

/// A provider whose servers answer with DNS messages, which can be asked for records of any type.
package protocol RecordProvider: HTTPDNSProvider {
    /// Asks for records that are shown. Aliases are not followed, no policy is applied, and the answer may have any response code.
    /// - Parameters:
    ///   - clientSubnet: The client network, which is cut as for addresses; nil sends none.
    ///   - timeLimit: The time limit for the answer.
    /// - Throws: ``HTTPDNSProviderError`` without an answer; `CancellationError` when the task is canceled.
    func records(
        for question: DNSQuestion,
        clientSubnet: HTTPDNSAddressBlock?,
        timeLimit: Duration
    ) async throws -> RecordReply
}

/// Records for display, and their sender.
package struct RecordReply: Sendable {
    package let response: PresentedResponse
    package let server: HTTPDNSEndpoint
    /// The protocol below DNS; `nil` for HTTP.
    package let transport: HTTPDNSDNSProvider.Transport?

    package init(
        response: PresentedResponse,
        server: HTTPDNSEndpoint,
        transport: HTTPDNSDNSProvider.Transport?
    ) {
        (self.response, self.server, self.transport) = (response, server, transport)
    }
}

/// The services, or kinds of queries, that are answered without EDNS only (RFC 6891 section 7).
final class PlainServices<Service: Hashable & Sendable>: Sendable {
    /// The time for which it is remembered.
    static var life: Duration { .seconds(900) }

    private let until = Lock<[Service: MonotonicTime]>([:])
    private let time: any TimeSource

    init(time: any TimeSource) { self.time = time }

    /// Sends a query with EDNS, and once more without it if the service does not know that.
    /// - Parameter send: Sends it, with EDNS or without.
    func reply(of service: Service, _ send: (Bool) async throws -> UpstreamReply) async throws -> UpstreamReply {
        if let until = until.withLock({ $0[service] }), time.now() < until { return try await send(false) }
        let reply = try await send(true)
        guard let code = reply.messageCode, DNSResponseCode.withoutEDNS.contains(code) else { return reply }
        do {
            let plain = try await send(false)
            if plain.messageCode == .noError || plain.messageCode == .nameError {
                let end = time.now() + Self.life
                until.withLock { $0[service] = end }
            }
            return plain
        } catch is CancellationError {
            throw CancellationError()
        } catch {
            return reply
        }
    }
}
