// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

internal import HTTPDNSPrimitives

extension ProviderPool {
    /// Queries different names in batches, if the first provider accepts them.
    ///
    /// Each batch is one query for limits and budgets, and is not hedged.
    /// - Parameter each: Called for each name when its batch has ended, before this returns. The answer is nil when the batch
    ///   failed or left the name out. It is unconfirmed when it is negative, and another provider has to confirm it.
    func ask(
        _ poolAttempt: PoolAttempt,
        batch hosts: [HTTPDNSName],
        each: @escaping @Sendable (HTTPDNSName, Answer?) -> Void
    ) async {
        guard let provider = first(for: poolAttempt), provider.batchLimit > 1 else {
            for host in hosts { each(host, nil) }
            return
        }
        await withTaskGroup(of: Void.self) { group in
            for start in stride(from: 0, to: hosts.count, by: provider.batchLimit) {
                let chunk = Array(hosts[start..<min(start + provider.batchLimit, hosts.count)])
                group.addTask { await self.askChunk(poolAttempt, chunk, at: provider, each) }
            }
        }
    }

    private func askChunk(
        _ poolAttempt: PoolAttempt,
        _ chunk: [HTTPDNSName],
        at provider: any HTTPDNSProvider,
        _ each: (HTTPDNSName, Answer?) -> Void
    ) async {
        var own = poolAttempt
        own.query.host = chunk[0]
        own.providers = [provider.name]
        guard case .batch(let answers, let provider, let sentAt) = await ending(own, batch: chunk) else {
            for host in chunk { each(host, nil) }
            return
        }
        for host in chunk {
            guard let answer = answers[host] else {
                each(host, nil)
                continue
            }
            let outcome = answer.outcome(of: poolAttempt.query.families)
            var full = Answer(answer: answer, outcome: outcome, provider: provider, sentAt: sentAt, failedAttempts: [])
            let isFinal =
                !poolAttempt.wantsSecondOpinion && trustsNegatives(of: provider.name, among: poolAttempt.providers)
            full.isUnconfirmed = outcome.isNegative && !isFinal
            each(host, full)
        }
    }
}
