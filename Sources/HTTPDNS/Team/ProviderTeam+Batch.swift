internal import HTTPDNSPrimitives

extension ProviderTeam {
    /// Asks about many names: in batches where the first provider takes such, and each by itself where it does not, or left
    /// a name open. Each batch is one query for limits and budgets, and is not hedged.
    /// - Parameter each: Told about each name as soon as its outcome is known, before this returns.
    /// - Returns: An outcome for each name.
    @discardableResult
    func ask(
        _ assignment: Assignment,
        batch hosts: [HostName],
        each: @escaping @Sendable (HostName, Outcome) -> Void = { _, _ in }
    ) async -> [HostName: Outcome] {
        var outcomes: [HostName: Outcome] = [:]
        var seen: Set<HostName> = []
        let names = hosts.filter { seen.insert($0).inserted }
        if let provider = first(for: assignment), provider.batchLimit > 1 {
            outcomes = await askInChunks(assignment, names, at: provider, each)
        }
        let open = names.filter { outcomes[$0] == nil }
        await withTaskGroup(of: (HostName, Outcome).self) { group in
            for host in open {
                group.addTask { (host, await self.ask(assignment.about(host))) }
            }
            for await (host, outcome) in group {
                outcomes[host] = outcome
                each(host, outcome)
            }
        }
        return outcomes
    }

    /// The names that were answered, each as a single query would have been.
    private func askInChunks(
        _ assignment: Assignment,
        _ hosts: [HostName],
        at provider: any Provider,
        _ each: @escaping @Sendable (HostName, Outcome) -> Void
    ) async -> [HostName: Outcome] {
        await withTaskGroup(of: [HostName: Outcome].self) { group in
            for start in stride(from: 0, to: hosts.count, by: provider.batchLimit) {
                let chunk = Array(hosts[start..<min(start + provider.batchLimit, hosts.count)])
                group.addTask { await self.askChunk(assignment, chunk, at: provider) }
            }
            var outcomes: [HostName: Outcome] = [:]
            for await chunk in group {
                for (host, outcome) in chunk { each(host, outcome) }
                outcomes.merge(chunk) { first, _ in first }
            }
            return outcomes
        }
    }

    private func askChunk(
        _ assignment: Assignment,
        _ chunk: [HostName],
        at provider: any Provider
    ) async -> [HostName: Outcome] {
        var own = assignment.about(chunk[0])
        own.providers = [provider.name]
        guard case .batch(let answers, let provider, let sentAt) = await ending(own, batch: chunk) else { return [:] }
        var outcomes: [HostName: Outcome] = [:]
        for host in chunk {
            guard let answer = answers[host] else { continue }
            let reading = AnswerReading(answer, families: assignment.query.families)
            if reading.isNegative {
                // Asked by itself, the name gets the word of another provider.
                if assignment.wantsSecondOpinion { continue }
                if !trustsNegatives(of: provider.name, among: assignment.providers) { continue }
            }
            outcomes[host] = .answered(
                Answer(answer: answer, reading: reading, provider: provider, sentAt: sentAt, failedAttempts: [])
            )
        }
        return outcomes
    }
}

extension ProviderTeam.Assignment {
    /// The same question about another name.
    fileprivate func about(_ host: HostName) -> Self {
        var copy = self
        copy.query.host = host
        return copy
    }
}
