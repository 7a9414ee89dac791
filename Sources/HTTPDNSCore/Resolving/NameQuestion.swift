internal import HTTPDNSPrimitives

/// A question that the request, literals and mappings left open: what to look for in the cache, and whom to ask else.
struct NameQuestion: Sendable {
    /// The name to ask about is the question's own, or the one at the end of its `via` rules.
    var key: AnswerKey
    /// Why the system resolver is asked, when it is not for the name's route to say.
    var bypass: BypassReason?
    var generation: UInt64
    /// The mapping rule on the way here.
    var passage: RulePassage?
    /// What is counted of it.
    var counts: [OccurrenceCount] = []
    /// Who has it switched off, for ``BypassReason/switchedOff``.
    var off: HTTPDNSResolver.KillSwitch.Off?
    /// What the providers would be asked, to be compared with the answer.
    var shadow: AnswerKey?

    var host: HTTPDNSName { key.host }
}

/// What the mapping rules on the way to a name say about the result.
final class RulePassage: Sendable {
    let rule: HTTPDNSResolver.AppliedMapping
    let identity: HTTPDNSName?
    /// The least time to live of the rules.
    let timeToLive: Duration?
    /// What serves when no source has an address; empty without a rule that says so.
    let lastResort: [HTTPDNSMapping.Target]
    /// Whether results are as without any rule, as long as a source has addresses.
    var isSilent: Bool { !lastResort.isEmpty && rule.via.isEmpty }

    init(
        rule: HTTPDNSResolver.AppliedMapping,
        identity: HTTPDNSName?,
        timeToLive: Duration?,
        lastResort: [HTTPDNSMapping.Target] = []
    ) {
        self.rule = rule
        self.identity = identity
        self.timeToLive = timeToLive
        self.lastResort = lastResort
    }
}
