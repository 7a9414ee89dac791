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
