internal import CurlTransport
package import HTTPDNSPrimitives

/// DNS over HTTPS (RFC 8484), through a transport of its own that is pinned to the service's addresses.
///
/// A and AAAA are two requests at the same time, which share one connection where the service speaks HTTP/2. Every
/// request tries the service's addresses in turn, beginning with the one that answered last; each has an equal share of
/// the time that is left. A connection that breaks under a request is dialled anew once, because a query may be repeated
/// without harm (RFC 9110 section 9.2.2). An answer is final, whatever it says: no status and no error code inside a
/// message makes it ask again.
///
/// The time to live of an answer is the least of its alias chain, no longer than the response's `max-age`, less its
/// `Age` (RFC 8484 section 5.1). `no-store` and `no-cache` speak to HTTP caches and are not looked at.
public final class DoHProvider: Provider {
    /// The name from the settings.
    public let name: String

    /// The scope of the most public of the service's addresses: with one loopback address among public ones, answers
    /// must still be public. Link-local and other special addresses count as private, since they open no machine's own
    /// addresses.
    public let serviceScope: AddressScope

    private let service: DoHService
    private let exchange: any DoHExchanging
    private let time: any TimeSource
    private let state: Lock<State>

    private struct State {
        var order: BootstrapOrder
        var isShutDown = false
    }

    /// Creates the provider. Nothing is sent until the first query.
    /// - Throws: ``ProviderConfigurationError`` when the URL is not an https URL (http is allowed for a loopback
    ///   address), is by name without bootstrap addresses, or has a user name, a fragment or an unknown template in it.
    public convenience init(_ configuration: Configuration) throws(ProviderConfigurationError) {
        try self.init(configuration, exchange: DoHTransportExchange(trustRoots: configuration.trustRoots))
    }

    /// - Parameter exchange: What carries the requests; tests put a scripted one here.
    package init(
        _ configuration: Configuration,
        exchange: any DoHExchanging,
        time: any TimeSource = SystemTimeSource()
    ) throws(ProviderConfigurationError) {
        service = try DoHService(configuration)
        name = configuration.name
        serviceScope = service.scope
        state = Lock(State(order: BootstrapOrder(service.endpoints)))
        self.exchange = exchange
        self.time = time
    }

    /// Asks for every family of the query at once.
    ///
    /// A family whose message says that the server failed or refused has ``FamilyAnswer/failed(_:)``, and so has one
    /// whose request failed while the other's did not, or that has no answer 500 ms after the other's addresses.
    /// - Throws: ``ProviderError`` when no family's request brought a message; `CancellationError` when the task is
    ///   cancelled.
    public func resolve(_ query: ProviderQuery) async throws -> ProviderAnswer {
        let deadline = time.now() + query.timeLimit
        let outcomes = await withTaskGroup(of: Event.self) { group in
            for family in IPAddress.Family.allCases where query.families.contains(family) {
                group.addTask { .outcome(family, await self.outcome(family, of: query, deadline: deadline)) }
            }
            return await Self.outcomes(of: &group, families: query.families, deadline: deadline, on: time)
        }
        if Task.isCancelled { throw CancellationError() }
        return try Self.combine(outcomes)
    }

    /// Cuts the requests in flight, ends the connections and the transport's thread. Idempotent.
    public func shutdown() async {
        state.withLock { $0.isShutDown = true }
        await exchange.shutdown()
    }
}

extension DoHProvider {
    /// How long the second family is waited for once the first has addresses. Name servers that leave AAAA queries without
    /// an answer exist, and must not cost every look-up its whole time limit. RFC 8305 section 3 waits 50 ms; this waits
    /// longer, because a family that is given up is missing for seconds.
    private static let patience: Duration = .milliseconds(500)

    private enum Outcome: Sendable {
        case answer(FamilyAnswer)
        case failure(ProviderError)
        case cancelled

        var hasAddresses: Bool {
            if case .answer(.addresses) = self { true } else { false }
        }
    }

    private enum Event: Sendable {
        case outcome(IPAddress.Family, Outcome)
        case patienceEnded
    }

    /// The outcomes of all families asked for. Once one has addresses, the other has until the end of the patience.
    private static func outcomes(
        of group: inout TaskGroup<Event>,
        families: AddressFamilies,
        deadline: MonotonicTime,
        on time: any TimeSource
    ) async -> [IPAddress.Family: Outcome] {
        let count = IPAddress.Family.allCases.count(where: families.contains)
        var outcomes: [IPAddress.Family: Outcome] = [:]
        var isGivenUp = false
        while outcomes.count < count, let event = await group.next() {
            switch event {
            case .outcome(let family, .cancelled) where isGivenUp:
                let message = "no answer within \(patience.shortText) of the other family's"
                outcomes[family] = .failure(ProviderError(code: .timedOut, message: message))
            case .outcome(let family, let outcome):
                outcomes[family] = outcome
                guard outcome.hasAddresses, outcomes.count < count else { continue }
                let now = time.now()
                // Half of the time at most: the answer that is there must be back before the limit.
                let end = now + min(patience, (deadline - now) / 2)
                group.addTask {
                    try? await time.sleep(until: end)
                    return .patienceEnded
                }
            case .patienceEnded:
                isGivenUp = true
                group.cancelAll()
            }
        }
        group.cancelAll()
        return outcomes
    }

    private static func combine(_ outcomes: [IPAddress.Family: Outcome]) throws -> ProviderAnswer {
        var answer = ProviderAnswer()
        var failures: [ProviderError] = []
        var isAnswered = false
        for (family, property) in [(IPAddress.Family.v4, \ProviderAnswer.v4), (.v6, \ProviderAnswer.v6)] {
            switch outcomes[family] {
            case nil: continue
            case .cancelled: throw CancellationError()
            case .answer(let familyAnswer):
                answer[keyPath: property] = familyAnswer
                isAnswered = true
            case .failure(let error):
                answer[keyPath: property] = .failed(error)
                failures.append(error)
            }
        }
        if !isAnswered, let failure = failures.first { throw failure }
        return answer
    }

    private func outcome(_ family: IPAddress.Family, of query: ProviderQuery, deadline: MonotonicTime) async -> Outcome
    {
        let question = DNSQuestion(query.host, type: family == .v4 ? .a : .aaaa)
        do {
            let reply = try await reply(to: question, limit: query.timeLimit, deadline: deadline)
            return .answer(try reply.answer(to: question))
        } catch let error as ProviderError {
            return .failure(error)
        } catch is CancellationError {
            return .cancelled
        } catch {
            return .failure(ProviderError(code: .unreachable, message: "\(error)"))
        }
    }

    private func reply(
        to question: DNSQuestion,
        limit: Duration,
        deadline: MonotonicTime
    ) async throws -> DoHReply {
        let (endpoints, isShutDown) = state.withLock { ($0.order.endpoints, $0.isShutDown) }
        guard !isShutDown else { throw ProviderError(code: .shutDown, message: "the provider is shut down") }
        let request = try service.request(for: question)
        var attempts = DoHAttempts(endpoints: endpoints, limit: limit, deadline: deadline)

        while let attempt = attempts.next(at: time.now()) {
            try Task.checkCancellation()
            do {
                let reply = try await exchange.exchange(request, with: attempt.endpoint, deadline: attempt.deadline)
                state.withLock { $0.order.succeeded(attempt.endpoint) }
                return reply
            } catch let failure as TransferFailure {
                attempts.failed(attempt, with: failure)
            }
        }
        throw attempts.error
    }
}
