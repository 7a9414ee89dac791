internal import HTTPDNSPrimitives
internal import Logging

/// What a flight comes back with.
enum FlightResult: Sendable {
    /// A definite answer.
    case answer(KnownAnswer)
    /// The system's answer after all providers failed as the error says.
    case fallback(KnownAnswer, ResolutionError)
    /// Nobody had a definite answer.
    case failure(ResolutionError, sentAt: MonotonicTime)
}

extension Resolver {
    private enum Source {
        case provider(any Provider)
        case system

        var name: String {
            switch self {
            case .provider(let provider): provider.name
            case .system: ProviderAttempt.systemName
            }
        }
    }

    /// What one source comes to.
    private enum Reply {
        case definite(KnownAnswer)
        case failed(String, isTimeout: Bool)
        case cancelled
    }

    /// What each source is asked with.
    private struct Attempt {
        var inquiry: Inquiry
        var port: UInt16
        var sentAt: MonotonicTime
        var limit: Duration
        var failedAttempts: [ProviderAttempt]
    }

    /// Asks the sources of an inquiry one after the other, until one has a definite answer.
    ///
    /// Each has its share of the time that is left: an equal part for each source still to be asked, so that one dead
    /// provider does not eat all, and all of it for the last. "No such name" is a definite answer: the next provider is
    /// not asked, nor the system.
    /// - Returns: Nil when the flight was cancelled, because nobody waits any more.
    func fly(_ inquiry: Inquiry, port: UInt16) async -> FlightResult? {
        let clock = configuration.timeSource
        let started = clock.now()
        let deadline = started + configuration.timeLimit
        let sources = sources(of: inquiry)
        var attempts: [ProviderAttempt] = []
        var endedByTimeout = false
        for (index, source) in sources.enumerated() {
            let sentAt = clock.now()
            let left = deadline - sentAt
            guard left > .zero else { break }
            let attempt = Attempt(
                inquiry: inquiry,
                port: port,
                sentAt: sentAt,
                limit: left / (sources.count - index),
                failedAttempts: attempts
            )
            switch await ask(source, attempt) {
            case .cancelled:
                return nil
            case .definite(let answer):
                guard case .system = source, !attempts.isEmpty else { return .answer(answer) }
                return fallback(answer, inquiry, attempts, at: clock.now())
            case .failed(let failure, let isTimeout):
                endedByTimeout = isTimeout
                let elapsed = clock.now() - sentAt
                attempts.append(ProviderAttempt(provider: source.name, failure: failure, elapsed: elapsed))
                configuration.logger?.debug(
                    "a source of addresses failed",
                    metadata: [
                        "host": .string(inquiry.host.description),
                        "source": .string(source.name),
                        "failure": .string(attempts.last?.failure ?? failure),
                    ]
                )
            }
        }
        // The last source had all the time that was left: when it ran out, the whole limit did.
        let error: ResolutionError =
            endedByTimeout
            ? .timedOut(host: inquiry.host, limit: configuration.timeLimit, attempts: attempts)
            : .allFailed(inquiry, attempts)
        return .failure(error, sentAt: started)
    }

    private func sources(of inquiry: Inquiry) -> [Source] {
        guard case .providers(let names, let fallback) = inquiry.route?.action else { return [.system] }
        return names.compactMap { providers[$0].map(Source.provider) } + (fallback == .system ? [.system] : [])
    }

    /// The system's answer serves no longer than until the providers may be asked again. Its "no such name" is no answer:
    /// the providers, which know better, were not heard.
    private func fallback(
        _ answer: KnownAnswer,
        _ inquiry: Inquiry,
        _ attempts: [ProviderAttempt],
        at now: MonotonicTime
    ) -> FlightResult {
        switch answer.content {
        case .endpoints:
            let life = now - answer.sentAt + Lifetimes.backoff(afterFailures: 1)
            return .fallback(answer.living(min(life, answer.life)), .allFailed(inquiry, attempts))
        case .nothing(let error):
            let system = ProviderAttempt(
                provider: ProviderAttempt.systemName,
                failure: error.code == .nameNotFound ? "does not know the name" : "no addresses",
                elapsed: now - answer.sentAt
            )
            return .failure(.allFailed(inquiry, attempts + [system]), sentAt: answer.sentAt)
        }
    }

    private func ask(_ source: Source, _ attempt: Attempt) async -> Reply {
        switch source {
        case .provider(let provider): await ask(provider, attempt)
        case .system: await askSystem(attempt)
        }
    }

    private func ask(_ provider: any Provider, _ attempt: Attempt) async -> Reply {
        let inquiry = attempt.inquiry
        let query = ProviderQuery(host: inquiry.host, families: inquiry.families, timeLimit: attempt.limit)
        let deadline = attempt.sentAt + attempt.limit
        switch await LimitedWork.run(
            until: deadline,
            on: configuration.timeSource,
            operation: {
                try await provider.resolve(query)
            }
        ) {
        case .cancelled:
            return .cancelled
        case .timedOut:
            return .failed("no answer", isTimeout: true)
        case .failed(let error as ProviderError):
            return .failed(error.message, isTimeout: error.code == .timedOut)
        case .failed(let error):
            return .failed("\(error)", isTimeout: false)
        case .succeeded(let answer):
            return read(AnswerReading(answer, families: inquiry.families), from: provider, attempt)
        }
    }

    private func read(_ reading: AnswerReading, from provider: any Provider, _ attempt: Attempt) -> Reply {
        let host = attempt.inquiry.host
        let content: KnownAnswer.Content
        let life: Duration
        var canonicalName: HostName?
        switch reading {
        case .failed(let failure):
            return .failed(failure, isTimeout: false)
        case .addresses(let addresses, let timeToLive, let name, let missing):
            content = .endpoints(addresses.map { Endpoint(address: $0, port: attempt.port) })
            let full = Lifetimes.positive(timeToLive, within: configuration.cache)
            life = missing == nil ? full : min(full, Lifetimes.partial)
            canonicalName = name == host ? nil : name
        case .noAddresses(let timeToLive):
            content = .nothing(.noAddresses(host, attempt.inquiry.families, says: "provider \(provider.name)"))
            life = Lifetimes.negative(timeToLive)
        case .noSuchName(let timeToLive):
            content = .nothing(.noSuchName(host, says: "provider \(provider.name)"))
            life = Lifetimes.negative(timeToLive)
        }
        return .definite(
            KnownAnswer(
                content,
                port: attempt.port,
                source: .provider,
                provider: provider.name,
                providerScope: provider.serviceScope,
                canonicalName: canonicalName,
                route: attempt.inquiry.route,
                failedAttempts: attempt.failedAttempts,
                sentAt: attempt.sentAt,
                life: life
            )
        )
    }

    private func askSystem(_ attempt: Attempt) async -> Reply {
        let inquiry = attempt.inquiry
        let system = systemResolver
        let deadline = attempt.sentAt + attempt.limit
        let content: KnownAnswer.Content
        var life = Lifetimes.system
        switch await LimitedWork.run(
            until: deadline,
            on: configuration.timeSource,
            operation: {
                try await system.resolve(inquiry.host, families: inquiry.families, timeLimit: attempt.limit)
            }
        ) {
        case .cancelled:
            return .cancelled
        case .timedOut:
            return .failed("no answer", isTimeout: true)
        case .succeeded(let addresses):
            let wanted = addresses.filter { inquiry.families.contains($0.family) }
            content =
                wanted.isEmpty
                ? .nothing(.noAddresses(inquiry.host, inquiry.families, says: "the system resolver"))
                : .endpoints(wanted.map { Endpoint(address: $0, port: attempt.port) })
        case .failed(let error as SystemResolverError):
            switch error.code {
            case .nameNotFound: content = .nothing(.unknownToSystem(inquiry))
            case .noAddresses:
                content = .nothing(.noAddresses(inquiry.host, inquiry.families, says: "the system resolver"))
            case .timedOut: return .failed("no answer", isTimeout: true)
            case .cancelled, .failed, .overloaded: return .failed(error.message, isTimeout: false)
            }
        case .failed(let error):
            return .failed("\(error)", isTimeout: false)
        }
        if case .nothing = content { life = Lifetimes.negativeWithoutSOA }
        return .definite(
            KnownAnswer(
                content,
                port: attempt.port,
                source: .system,
                route: inquiry.route,
                failedAttempts: attempt.failedAttempts,
                sentAt: attempt.sentAt,
                life: life
            )
        )
    }
}
