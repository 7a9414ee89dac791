// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

#if NIO
internal import HTTPDNSCore
internal import HTTPDNSMessages
internal import HTTPDNSPrimitives

/// What the sockets of a name server share: the decision about each query, and the questions that are forwarded.
final class NameServerService: Sendable {
    /// The reply to a message.
    enum Reply: Sendable {
        /// None.
        case none
        case now([UInt8])
        case later(Work)
    }

    /// A query whose reply must be awaited.
    struct Work: Sendable {
        /// The time after which ``expired`` is the reply, whatever the tasks of the process do.
        var timeLimit: Duration
        var expired: [UInt8]
        var reply: @Sendable () async -> [UInt8]
    }

    /// The transport and the source of a message.
    struct Client: Sendable {
        var address: HTTPDNSAddress
        var isStream: Bool
    }

    /// A question to other servers. Clients with the same one share the answer.
    private struct Forwarded: Hashable, Sendable {
        var question: DNSQuestion
        var wishes: DNSSignatureWishes
    }

    private struct State: Sendable {
        var counters = NameServerListener.Counters()
        var forwarded: [Forwarded: Task<[UInt8], any Error>] = [:]
    }

    /// The time that a question to other servers may take: a resolver with an empty cache asks many.
    private static let forwardingLimit = Duration.seconds(10)

    private let lookup: ListenerLookup
    private let forward: HTTPDNSDNSProvider?
    private let allowed: [HTTPDNSAddressBlock]
    private let cookies: ServerCookies
    private let time: any TimeSource
    private let state = Lock(State())

    init(
        _ lookup: ListenerLookup,
        forward: HTTPDNSDNSProvider?,
        allowed: [HTTPDNSAddressBlock],
        time: any TimeSource = SystemTimeSource()
    ) {
        var generator = SystemRandomNumberGenerator()
        cookies = ServerCookies(using: &generator)
        (self.lookup, self.forward, self.allowed, self.time) = (lookup, forward, allowed, time)
    }

    var counters: NameServerListener.Counters { state.withLock(\.counters) }

    func count(_ counter: WritableKeyPath<NameServerListener.Counters, Int> & Sendable) {
        state.withLock { $0.counters[keyPath: counter] += 1 }
    }

    /// Returns the reply to a message.
    func reply(to message: [UInt8], from client: Client) -> Reply {
        let query: ReceivedQuery
        do throws(DNSMessageError) {
            query = try ReceivedQuery(message)
        } catch {
            count(\.malformed)
            return ReceivedQuery.refusal(of: message).map { .now($0) } ?? .none
        }
        let isLocal = HTTPDNSAddressPolicy.Scope(of: client.address) == .loopback
        guard isLocal || allowed.contains(where: { $0.contains(client.address) }) else {
            count(\.notAllowed)
            return .now(query.response(.refused))
        }
        let (cookie, limit) = terms(of: query, from: client, isLocal: isLocal)
        if let options = query.options, options.version != 0 {
            return .now(query.response(ReceivedQuery.badVersion, cookie: cookie, limit: limit))
        }
        guard query.recordClass == DNSWireFormat.internetClass, !query.asksForNoRecord else {
            count(\.refused)
            return .now(query.response(.refused, cookie: cookie, limit: limit))
        }
        guard let name = query.question.name.hostName else { return forwarded(query, cookie, limit) }
        let question = lookup.query(name, query.family)
        guard query.family != nil else {
            guard lookup.decides(question) else { return forwarded(query, cookie, limit) }
            // Its hints are addresses, which no mapping knows.
            guard !query.question.type.bindsServices, forward != nil else {
                count(\.answered)
                return .now(query.withoutRecords(cookie: cookie, limit: limit))
            }
            return forwarded(query, isOurs: true, cookie, limit)
        }
        if let outcome = lookup.immediate(question) { return reply(outcome, query, cookie, limit) }
        let expired = query.failure(cookie: cookie, limit: limit)
        return .later(
            Work(timeLimit: lookup.timeLimit, expired: expired) { [self] in
                let outcome = await lookup.awaited(question)
                switch reply(outcome, query, cookie, limit) {
                case .now(let message): return message
                case .later(let work): return await work.reply()
                case .none: return expired
                }
            }
        )
    }

    /// Returns the server's cookie for the client, and the longest response.
    private func terms(of query: ReceivedQuery, from client: Client, isLocal: Bool) -> (cookie: [UInt8], limit: Int) {
        guard !client.isStream else { return ([], DNSWireFormat.maximumMessageOctets) }
        guard let options = query.options, !options.clientCookie.isEmpty else {
            return ([], isLocal ? query.datagramOctets : query.unprovenOctets(cookie: []))
        }
        let seconds = UInt32(truncatingIfNeeded: time.now().nanoseconds / 1_000_000_000)
        let cookie = cookies.cookie(options.clientCookie, client.address, at: seconds)
        let isProven =
            isLocal || cookies.isValid(options.serverCookie, options.clientCookie, client.address, at: seconds)
        return (cookie, isProven ? query.datagramOctets : query.unprovenOctets(cookie: cookie))
    }

    private func reply(_ outcome: ListenerLookup.Outcome, _ query: ReceivedQuery, _ cookie: [UInt8], _ limit: Int)
        -> Reply
    {
        switch outcome {
        case .notOurs: return forwarded(query, cookie, limit)
        case .found(let resolution):
            count(\.answered)
            return .now(query.response(resolution, cookie: cookie, limit: limit))
        case .failed(let error):
            count(\.failed)
            return .now(query.response(error, cookie: cookie, limit: limit))
        }
    }

    // MARK: other servers

    /// - Parameter isOurs: Whether the name is decided here, and others are asked for records of another type: that it does not exist
    ///   there says nothing about it.
    private func forwarded(_ query: ReceivedQuery, isOurs: Bool = false, _ cookie: [UInt8], _ limit: Int) -> Reply {
        guard let forward else {
            count(\.refused)
            return .now(query.response(.refused, cookie: cookie, limit: limit))
        }
        let expired = query.failure(cookie: cookie, limit: limit)
        let question = Forwarded(question: query.question, wishes: query.wishes)
        // The server that was asked asks back.
        if state.withLock({ $0.forwarded[question] != nil }), forward.isAsking(query.questionOctets) {
            count(\.returned)
            return .now(expired)
        }
        count(\.forwarded)
        return .later(
            Work(timeLimit: Self.forwardingLimit, expired: expired) { [self] in
                do {
                    let message = try await answer(to: question, of: forward)
                    if isOurs, DNSResponseCode(inHeaderOf: message) == .nameError {
                        return query.withoutRecords(cookie: cookie, limit: limit)
                    }
                    return try query.response(relaying: message, cookie: cookie, limit: limit)
                } catch {
                    return expired
                }
            }
        )
    }

    /// Asks once for all that wait for the same. So a query that returns in another case goes round no further.
    private func answer(to question: Forwarded, of forward: HTTPDNSDNSProvider) async throws -> [UInt8] {
        let task = state.withLock { state in
            if let task = state.forwarded[question] { return task }
            let task = Task.detached { [self] in
                defer { forget(question) }
                return try await forward.relay(
                    question.question,
                    wishes: question.wishes,
                    timeLimit: Self.forwardingLimit
                )
            }
            state.forwarded[question] = task
            return task
        }
        return try await task.value
    }

    private func forget(_ question: Forwarded) { _ = state.withLock { $0.forwarded.removeValue(forKey: question) } }
}
#endif
