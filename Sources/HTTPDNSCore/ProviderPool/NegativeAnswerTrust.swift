// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

internal import HTTPDNSPrimitives

/// The trust in a provider's negative answers, from its answers for the last names. A value.
///
/// A provider that has lost its data answers "no such name" to everything, quickly and without an error. A negative answer is
/// therefore final only while the trust is earned: among the last ``window`` names there is one with addresses, or one whose
/// absence another provider confirmed.
struct NegativeAnswerTrust: Sendable {
    /// The evidence about the provider's newest answer for a name.
    enum Evidence: Sendable {
        /// It had addresses.
        case positive
        /// It was negative, and no other provider was queried.
        case unconfirmed
        /// It was negative, and so was another provider's.
        case confirmed
        /// It was negative, and another provider had addresses.
        case contradicted
    }

    private struct Entry: Sendable {
        var host: HTTPDNSName
        var evidence: Evidence
    }

    /// The number of names that are remembered.
    static let window = 20

    /// Oldest first.
    private var entries: [Entry] = []

    /// Whether a negative answer is final without answers of other providers.
    var isEarned: Bool { entries.contains { $0.evidence == .positive || $0.evidence == .confirmed } }

    /// Whether another provider had addresses for one of the last names for which this one had none.
    var isContradicted: Bool { entries.contains { $0.evidence == .contradicted } }

    mutating func note(_ host: HTTPDNSName, _ evidence: Evidence) {
        if let index = entries.firstIndex(where: { $0.host == host }) {
            // Repeated negative answers for one name must not renew the trust from a single confirmation.
            if evidence == .unconfirmed, entries[index].evidence == .confirmed { return }
            entries.remove(at: index)
        }
        if entries.count == Self.window { entries.removeFirst() }
        entries.append(Entry(host: host, evidence: evidence))
    }
}

/// Negative answers: some end a request, and others are first sent to another provider for confirmation.
extension PoolSelector {
    /// Returns whether a provider's negative answers are final without answers of the other providers.
    func trustsNegatives(of provider: String, among providers: [String]) -> Bool {
        guard let number = numbers[provider] else { return true }
        return members[number].negatives.isEarned || !hasOthers(than: number, in: providers)
    }

    /// Records the evidence of a query's answer for its provider's other answers.
    mutating func noteEvidence(of verdict: PoolQuery.Verdict, _ query: PoolQuery) {
        switch verdict {
        case .definite(_, let outcome):
            members[query.member].negatives.note(query.question.host, outcome.isNegative ? .unconfirmed : .positive)
        case .batch(let answers):
            for (host, answer) in answers {
                let isNegative = answer.outcome(of: query.question.families).isNegative
                members[query.member].negatives.note(host, isNegative ? .unconfirmed : .positive)
            }
        case .failed, .canceled:
            break
        }
    }

    /// Processes a negative answer, and ends its request if the answer is final.
    /// - Returns: Whether another provider is to be queried now.
    mutating func isOpen(
        _ id: PoolRequest.ID,
        after answer: ProviderPool.Answer,
        of member: Int,
        at now: MonotonicTime,
        _ actions: inout [Action]
    ) -> Bool {
        guard var ask = asks[id] else { return false }
        if !ask.negatives.contains(member) { ask.negatives.append(member) }
        ask.tentative = ask.tentative ?? answer
        let isConfirmed = ask.negatives.count > 1
        if isConfirmed {
            for number in ask.negatives { members[number].negatives.note(ask.poolAttempt.query.host, .confirmed) }
        }
        asks[id] = ask
        if ask.poolAttempt.wantsSecondOpinion { return true }
        let trust = members[member].negatives
        if isConfirmed || !hasOthers(than: member, in: ask.poolAttempt.providers)
            || trust.isEarned && !ask.poolAttempt.hadAddresses
        {
            conclude(exhausted: id, at: now, &actions)
            return false
        }
        // The outcome of the other request applies to all of this provider's answers. So a burst of unknown names costs one
        // further query and not one for each.
        if !ask.poolAttempt.hadAddresses, !trust.isContradicted, ask.pending.isEmpty,
            hold(id, for: member, at: now)
        {
            return false
        }
        if members[member].confirmation == nil {
            members[member].confirmation = id
            asks[id]?.confirms = member
        }
        return true
    }

    /// Makes a request wait for the one that tries to confirm a provider's negative answers; for a hedge delay at most.
    /// - Returns: False when there is none.
    private mutating func hold(_ id: PoolRequest.ID, for number: Int, at now: MonotonicTime) -> Bool {
        guard let other = members[number].confirmation.flatMap({ asks[$0] }) else { return false }
        let delays = other.pending.compactMap { queries[$0] }.map { members[$0.member].health.hedgeDelay }
        asks[id]?.hedgeAt = now + (delays.max() ?? members[number].health.hedgeDelay)
        asks[id]?.latest = nil
        asks[id]?.heldFor = number
        members[number].held.append(id)
        return true
    }

    /// Continues the requests that waited for the confirmation of a provider's negative answers.
    mutating func release(_ number: Int, at now: MonotonicTime, _ actions: inout [Action]) {
        members[number].confirmation = nil
        let held = members[number].held
        members[number].held = []
        for id in held where asks[id]?.heldFor == number {
            asks[id]?.heldFor = nil
            asks[id]?.hedgeAt = nil
            if members[number].negatives.isEarned {
                conclude(exhausted: id, at: now, &actions)
            } else {
                askNext(id, at: now, &actions)
                if let wakeAt = asks[id]?.wakeAt { actions.append(.wake(id, at: wakeAt)) }
            }
        }
    }

    /// Returns whether a request's negative answer is that of one provider among several, and is not final.
    func isUnconfirmed(_ ask: PoolRequest) -> Bool {
        guard ask.negatives.count == 1, let number = ask.negatives.first else { return false }
        return (!members[number].negatives.isEarned || ask.poolAttempt.hadAddresses)
            && hasOthers(than: number, in: ask.poolAttempt.providers)
    }

    private func hasOthers(than number: Int, in providers: [String]) -> Bool {
        providers.contains { numbers[$0].map { $0 != number } ?? false }
    }
}
