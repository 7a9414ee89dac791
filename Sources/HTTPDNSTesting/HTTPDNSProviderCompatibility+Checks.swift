// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

internal import HTTPDNSCore
internal import HTTPDNSPrimitives

extension HTTPDNSProviderCompatibility {
    /// The number of concurrent queries.
    private static let queriesAtOnce = 32

    func answersBothFamilies(_ provider: any HTTPDNSProvider) async -> String? {
        await fault(provider, fixture.dualStackName, .both) { answer in
            for (family, outcome) in [(HTTPDNSAddress.Family.v4, answer.v4), (.v6, answer.v6)] {
                let expected = Set(fixture.dualStackAddresses.filter { $0.family == family })
                guard case .addresses(let addresses, let timeToLive, _) = outcome else {
                    return "\(family) is \(outcome, or: "nil")"
                }
                if Set(addresses) != expected { return "\(family) is \(addresses), not \(expected)" }
                if timeToLive < .zero { return "the time to live is \(timeToLive)" }
            }
            return nil
        }
    }

    func answersNoData(_ provider: any HTTPDNSProvider) async -> String? {
        await fault(provider, fixture.v4OnlyName, .both) { answer in
            guard case .addresses = answer.v4 else { return "v4 is \(answer.v4, or: "nil")" }
            guard case .noData = answer.v6 else { return "v6 is \(answer.v6, or: "nil")" }
            return nil
        }
    }

    func answersNameError(_ provider: any HTTPDNSProvider) async -> String? {
        await fault(provider, fixture.unknownName, .both) { answer in
            for outcome in [answer.v4, answer.v6] {
                switch outcome {
                case .nameError where fixture.reportsNameErrors, .noData where !fixture.reportsNameErrors: continue
                default: return "an outcome is \(outcome, or: "nil")"
                }
            }
            return nil
        }
    }

    func honoursFamilies(_ provider: any HTTPDNSProvider) async -> String? {
        for families in [HTTPDNSAddress.Families.v4, .v6] {
            let found = await fault(provider, fixture.dualStackName, families) { answer in
                let (asked, other) = families == .v4 ? (answer.v4, answer.v6) : (answer.v6, answer.v4)
                if let other { return "asked for \(families) alone, the other family is \(other)" }
                guard case .addresses = asked else { return "\(families) is \(asked, or: "nil")" }
                return nil
            }
            if let found { return found }
        }
        return nil
    }

    /// One family each: of two, the second may come too late for its answer on a busy machine (RFC 8305 section 3).
    func answersAtOnce(_ provider: any HTTPDNSProvider) async -> String? {
        await withTaskGroup(of: String?.self) { group in
            for number in 0..<HTTPDNSProviderCompatibility.queriesAtOnce {
                group.addTask {
                    if number.isMultiple(of: 3) { return await answersAbsentFamily(provider) }
                    return await answers(provider, number.isMultiple(of: 2) ? .v4 : .v6)
                }
            }
            return await group.reduce(nil) { $0 ?? $1 }
        }
    }

    private func answers(_ provider: any HTTPDNSProvider, _ family: HTTPDNSAddress.Family) async -> String? {
        await fault(provider, fixture.dualStackName, family == .v4 ? .v4 : .v6) { answer in
            let outcome = family == .v4 ? answer.v4 : answer.v6
            guard case .addresses(let addresses, _, _) = outcome else { return "\(family) is \(outcome, or: "nil")" }
            let expected = Set(fixture.dualStackAddresses.filter { $0.family == family })
            return Set(addresses) == expected ? nil : "\(family) is \(addresses), not \(expected)"
        }
    }

    private func answersAbsentFamily(_ provider: any HTTPDNSProvider) async -> String? {
        await fault(provider, fixture.v4OnlyName, .v6) { answer in
            if case .noData = answer.v6 { nil } else { "v6 is \(answer.v6, or: "nil")" }
        }
    }

    func holdsTimeLimit(_ provider: any HTTPDNSProvider) async -> String? {
        guard let silent = fixture.silentName else { return nil }
        let query = HTTPDNSProviderQuery(host: silent, families: .both, timeLimit: fixture.shortTimeLimit)
        switch await patiently(fixture.shortTimeLimit, { try await provider.resolve(query) }) {
        case .failed(let error as HTTPDNSProviderError) where error.code == .timedOut: return nil
        case .succeeded(let answer) where answer.isWhollyTimedOut: return nil
        case .succeeded(let answer): return "it answered \(answer) about a name on which its service is silent"
        case .failed(let error): return "it threw \(error)"
        case .timedOut, .canceled: return "it was not back \(fixture.gracePeriod) after its limit"
        }
    }

    func endsWhenCancelled(_ provider: any HTTPDNSProvider) async -> String? {
        guard let silent = fixture.silentName else { return nil }
        let query = HTTPDNSProviderQuery(host: silent, families: .both, timeLimit: .seconds(60))
        let task = Task.detached { try await provider.resolve(query) }
        // A provider does not report when a query was sent. Canceled too early, the check is easier, never wrong.
        try? await Task.sleep(for: fixture.shortTimeLimit)
        task.cancel()
        switch await patiently(.zero, { try await task.value }) {
        case .failed(is CancellationError): return nil
        case .failed(let error): return "it threw \(error)"
        case .succeeded(let answer): return "it answered \(answer)"
        case .timedOut, .canceled: return "it was not back after \(fixture.gracePeriod)"
        }
    }

    func endsAtShutdown(_ provider: any HTTPDNSProvider) async -> String? {
        guard let silent = fixture.silentName else { return nil }
        let query = HTTPDNSProviderQuery(host: silent, families: .both, timeLimit: .seconds(60))
        let task = Task.detached { try await provider.resolve(query) }
        try? await Task.sleep(for: fixture.shortTimeLimit)
        switch await patiently(.zero, { await provider.shutdown() }) {
        case .succeeded, .failed: break
        case .timedOut, .canceled: return "the shutdown was not done after \(fixture.gracePeriod)"
        }
        switch await patiently(.zero, { try await task.value }) {
        case .failed: break
        case .succeeded(let answer): return "a query during the shutdown answered \(answer)"
        case .timedOut, .canceled: return "a query was not back \(fixture.gracePeriod) after the shutdown"
        }
        switch await patiently(.zero, { await provider.shutdown() }) {
        case .succeeded, .failed: break
        case .timedOut, .canceled: return "a second shutdown was not done after \(fixture.gracePeriod)"
        }
        return await refusesAfterShutdown(provider)
    }

    private func refusesAfterShutdown(_ provider: any HTTPDNSProvider) async -> String? {
        let query = HTTPDNSProviderQuery(host: fixture.dualStackName, families: .both, timeLimit: fixture.timeLimit)
        switch await patiently(fixture.timeLimit, { try await provider.resolve(query) }) {
        case .failed(let error as HTTPDNSProviderError) where error.code == .shutDown: return nil
        case .failed(let error): return "a query after it threw \(error)"
        case .succeeded(let answer): return "a query after it answered \(answer)"
        case .timedOut, .canceled:
            return "a query after it was not back after \(fixture.timeLimit + fixture.gracePeriod)"
        }
    }

    /// Returns the mistake in the answer for a name; nil when `verdict` finds none.
    private func fault(
        _ provider: any HTTPDNSProvider,
        _ host: HTTPDNSName,
        _ families: HTTPDNSAddress.Families,
        verdict: (HTTPDNSProviderAnswer) -> String?
    ) async -> String? {
        let query = HTTPDNSProviderQuery(host: host, families: families, timeLimit: fixture.timeLimit)
        switch await patiently(fixture.timeLimit, { try await provider.resolve(query) }) {
        case .succeeded(let answer): return verdict(answer)
        case .failed(let error): return "it threw \(error)"
        case .timedOut, .canceled: return "it was not back \(fixture.gracePeriod) after its limit"
        }
    }

    /// Runs an operation, and abandons it after its limit and the fixture's grace period.
    func patiently<Success: Sendable>(
        _ limit: Duration,
        _ work: @escaping @Sendable () async throws -> Success
    ) async -> LimitedWork<Success> {
        let clock = SystemTimeSource()
        return await .run(until: clock.now() + limit + fixture.gracePeriod, on: clock, operation: work)
    }
}

extension HTTPDNSProviderAnswer {
    /// Whether every family failed at the time limit, which is equivalent to throwing that error.
    fileprivate var isWhollyTimedOut: Bool {
        let outcomes = [v4, v6].compactMap { $0 }
        return !outcomes.isEmpty
            && outcomes.allSatisfy { outcome in
                if case .failed(let error) = outcome { error.code == .timedOut } else { false }
            }
    }
}

extension DefaultStringInterpolation {
    fileprivate mutating func appendInterpolation(_ value: HTTPDNSProviderAnswer.Family?, or missing: String) {
        if let value { appendInterpolation(value) } else { appendLiteral(missing) }
    }
}
