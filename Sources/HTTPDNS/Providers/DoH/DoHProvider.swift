internal import CurlTransport
package import HTTPDNSPrimitives

/// DNS over HTTPS (RFC 8484), through a transport of its own that is pinned to the service's addresses.
///
/// A, AAAA and HTTPS are requests at the same time, which share one connection where the service speaks HTTP/2. Every
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

    /// Asks for every family of the query at once, and for services beside them where they are wanted.
    ///
    /// A family whose message says that the server failed or refused has ``FamilyAnswer/failed(_:)``, and so has one
    /// whose request failed while the other's did not, or that has no answer 500 ms after the other's addresses. The same
    /// holds for services, which are waited for as long again as the addresses took: 50 ms at least, 500 ms at most.
    ///
    /// A client subnet is cut to 24 bits of IPv4 or 56 of IPv6, and sent to the service with every question (RFC 7871).
    /// - Throws: ``ProviderError`` when no family's request brought a message; `CancellationError` when the task is
    ///   cancelled.
    public func resolve(_ query: ProviderQuery) async throws -> ProviderAnswer {
        let start = time.now()
        let deadline = start + query.timeLimit
        var gathering = DoHGathering(query, since: start, deadline: deadline)
        await withTaskGroup(of: DoHGathering.Event.self) { group in
            for question in gathering.questions {
                group.addTask { .outcome(question, await self.outcome(question, of: query, deadline: deadline)) }
            }
            while !gathering.isComplete, let event = await group.next() {
                switch gathering.received(event, at: time.now()) {
                case .keepWaiting: continue
                case .giveUp: group.cancelAll()
                case .wait(let end):
                    group.addTask { [time] in
                        try? await time.sleep(until: end)
                        return .patienceEnded
                    }
                }
            }
            group.cancelAll()
        }
        if Task.isCancelled { throw CancellationError() }
        return try gathering.answer()
    }

    /// Cuts the requests in flight, ends the connections and the transport's thread. Idempotent.
    public func shutdown() async {
        state.withLock { $0.isShutDown = true }
        await exchange.shutdown()
    }
}

extension DoHProvider {
    private func outcome(
        _ question: DoHGathering.Question,
        of query: ProviderQuery,
        deadline: MonotonicTime
    ) async -> DoHGathering.Outcome {
        let subnet = query.clientSubnet.map(DNSClientSubnet.init)
        let asked = DNSQuestion(query.host, type: question.type)
        do {
            let reply = try await reply(to: asked, clientSubnet: subnet, limit: query.timeLimit, deadline: deadline)
            guard question == .services else { return .addresses(try reply.answer(to: asked, clientSubnet: subnet)) }
            var generator = SystemRandomNumberGenerator()
            return .services(try reply.services(for: asked, clientSubnet: subnet, using: &generator))
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
        clientSubnet: DNSClientSubnet?,
        limit: Duration,
        deadline: MonotonicTime
    ) async throws -> DoHReply {
        let (endpoints, isShutDown) = state.withLock { ($0.order.endpoints, $0.isShutDown) }
        guard !isShutDown else { throw ProviderError(code: .shutDown, message: "the provider is shut down") }
        let request = try service.request(for: question, clientSubnet: clientSubnet)
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
