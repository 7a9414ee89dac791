// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

internal import HTTPDNSPrimitives

extension ProviderPool {
    /// Queries many names: in batches if the first provider accepts them.
    ///
    /// A name is queried separately if the provider has no batches, or did not answer it. Each batch is one query for limits
    /// and budgets, and is not hedged. A negative answer of a batch is sent to the other providers as that of a single query
    /// would be.
    /// - Parameter each: Called for each name as soon as its outcome is known, before this returns.
    /// - Returns: An outcome for each name.
    @discardableResult
    func ask(
        _ assignment: PoolAttempt,
        batch hosts: [HTTPDNSName],
        each: @escaping @Sendable (HTTPDNSName, Outcome) -> Void = { _, _ in }
    ) async -> [HTTPDNSName: Outcome] {
        var batched = Batched()
        var seen: Set<HTTPDNSName> = []
        let names = hosts.filter { seen.insert($0).inserted }
        if let provider = first(for: assignment), provider.batchLimit > 1 {
            batched = await askInChunks(assignment, names, at: provider, each)
        }
        var outcomes = batched.outcomes
        let open = names.filter { outcomes[$0] == nil }
        await withTaskGroup(of: (HTTPDNSName, Outcome).self) { group in
            for host in open {
                var own = assignment.about(host)
                own.denial = batched.denials[host]
                group.addTask { [own] in (host, await self.ask(own)) }
            }
            for await (host, outcome) in group {
                outcomes[host] = outcome
                each(host, outcome)
            }
        }
        return outcomes
    }

    /// The results of batches.
    private struct Batched: Sendable {
        /// The outcomes of answered names, each as of a single query.
        var outcomes: [HTTPDNSName: Outcome] = [:]
        /// Negative answers that are not final.
        var denials: [HTTPDNSName: Answer] = [:]
    }

    private func askInChunks(
        _ assignment: PoolAttempt,
        _ hosts: [HTTPDNSName],
        at provider: any HTTPDNSProvider,
        _ each: @escaping @Sendable (HTTPDNSName, Outcome) -> Void
    ) async -> Batched {
        await withTaskGroup(of: Batched.self) { group in
            for start in stride(from: 0, to: hosts.count, by: provider.batchLimit) {
                let chunk = Array(hosts[start..<min(start + provider.batchLimit, hosts.count)])
                group.addTask { await self.askChunk(assignment, chunk, at: provider) }
            }
            var batched = Batched()
            for await chunk in group {
                for (host, outcome) in chunk.outcomes { each(host, outcome) }
                batched.outcomes.merge(chunk.outcomes) { first, _ in first }
                batched.denials.merge(chunk.denials) { first, _ in first }
            }
            return batched
        }
    }

    private func askChunk(
        _ assignment: PoolAttempt,
        _ chunk: [HTTPDNSName],
        at provider: any HTTPDNSProvider
    ) async -> Batched {
        var own = assignment.about(chunk[0])
        own.providers = [provider.name]
        guard case .batch(let answers, let provider, let sentAt) = await ending(own, batch: chunk) else {
            return Batched()
        }
        var batched = Batched()
        for host in chunk {
            guard let answer = answers[host] else { continue }
            let reading = AnswerReading(answer, families: assignment.query.families)
            let full = Answer(answer: answer, reading: reading, provider: provider, sentAt: sentAt, failedAttempts: [])
            let isFinal =
                !assignment.wantsSecondOpinion && trustsNegatives(of: provider.name, among: assignment.providers)
            if reading.isNegative, !isFinal {
                batched.denials[host] = full
            } else {
                batched.outcomes[host] = .answered(full)
            }
        }
        return batched
    }
}

extension ProviderPool.PoolAttempt {
    /// Returns the same request for another name.
    fileprivate func about(_ host: HTTPDNSName) -> Self {
        var copy = self
        copy.query.host = host
        return copy
    }
}
