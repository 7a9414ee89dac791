internal import HTTPDNSPrimitives

extension HTTPDNSResolver {
    /// Queries the system resolver.
    /// - Returns: A definite answer or a failure; nil when the lookup was cancelled.
    func askSystem(_ inquiry: UpstreamLookup, until deadline: MonotonicTime) async -> FlightResult? {
        let clock = fixed.timeSource
        let sentAt = clock.now()
        let limit = deadline - sentAt
        guard limit > .zero else { return failure("no time left", inquiry, sentAt: sentAt) }
        let system = systemResolver
        let origin = inquiry.settings.origins.system(inquiry.route)
        let content: KnownAnswer.Content
        counting.count(.systemQuery)
        do throws(SystemResolverError) {
            let addresses = try await system.resolve(inquiry.host, families: inquiry.families, timeLimit: limit)
            let wanted = addresses.filter { inquiry.families.contains($0.family) }
            content =
                wanted.isEmpty
                ? .nothing(.noAddresses(inquiry.host, inquiry.families, says: "the system resolver"))
                : .addresses(wanted)
        } catch {
            switch error.code {
            case .nameNotFound: content = .nothing(.unknownToSystem(inquiry))
            case .noAddresses:
                content = .nothing(.noAddresses(inquiry.host, inquiry.families, says: "the system resolver"))
            case .timedOut: return timedOut(inquiry, sentAt: sentAt)
            case .cancelled: return nil
            case .failed: return failure(error.message, inquiry, sentAt: sentAt)
            case .overloaded:
                let failure = failure(error.message, inquiry, sentAt: sentAt)
                guard case .failure(let error, let sentAt, _) = failure else { return failure }
                return .busy(error, sentAt: sentAt)
            }
        }
        var answer = KnownAnswer(
            content,
            origin: origin,
            sentAt: sentAt,
            life: inquiry.settings.configuration.cache.systemTimeToLive
        )
        switch content {
        case .addresses: answer.refreshAt = refreshMoment(of: answer)
        case .nothing: answer = answer.living(Lifetimes.negativeWithoutSOA)
        }
        return .answer(answer)
    }

    private func failure(_ message: String, _ inquiry: UpstreamLookup, sentAt: MonotonicTime) -> FlightResult {
        counting.count(.systemFailure)
        let attempt = HTTPDNSResolver.ProviderAttempt(
            provider: HTTPDNSResolver.ProviderAttempt.systemName,
            failure: message,
            elapsed: fixed.timeSource.now() - sentAt
        )
        return .failure(.allFailed(inquiry, [attempt]), sentAt: sentAt, spared: false)
    }

    private func timedOut(_ inquiry: UpstreamLookup, sentAt: MonotonicTime) -> FlightResult {
        counting.count(.systemFailure)
        let attempt = HTTPDNSResolver.ProviderAttempt(
            provider: HTTPDNSResolver.ProviderAttempt.systemName,
            failure: "no answer",
            elapsed: fixed.timeSource.now() - sentAt
        )
        let error = HTTPDNSResolver.Error.timedOut(
            host: inquiry.host,
            limit: inquiry.settings.configuration.timeLimit,
            attempts: [attempt]
        )
        return .failure(error, sentAt: sentAt, spared: false)
    }
}

extension HTTPDNSResolver.Error {
    /// Returns the same failure of the system resolver, with the earlier failures of providers.
    func after(_ attempts: [HTTPDNSResolver.ProviderAttempt], _ inquiry: UpstreamLookup) -> HTTPDNSResolver.Error {
        guard !attempts.isEmpty else { return self }
        if code == .timedOut, let limit {
            return .timedOut(host: inquiry.host, limit: limit, attempts: attempts + self.attempts)
        }
        return .allFailed(inquiry, attempts + self.attempts)
    }
}
