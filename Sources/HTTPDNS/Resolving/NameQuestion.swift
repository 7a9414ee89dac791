internal import HTTPDNSPrimitives

/// A question that the request, literals and mappings left open: what to look for in the cache, and whom to ask else.
struct NameQuestion: Sendable {
    /// The name to ask about is the question's own, or the one at the end of its `via` rules.
    var key: AnswerKey
    /// Why the system resolver is asked, when the request or a mapping says so.
    var bypass: BypassReason?
    var generation: UInt64
    /// The mapping rule on the way here.
    var passage: RulePassage?

    var host: HostName { key.host }
}

/// What the mapping rules on the way to a name say about the result.
final class RulePassage: Sendable {
    let rule: AppliedRule
    let identity: HostName?
    /// The least time to live of the rules.
    let timeToLive: Duration?

    init(rule: AppliedRule, identity: HostName?, timeToLive: Duration?) {
        self.rule = rule
        self.identity = identity
        self.timeToLive = timeToLive
    }
}
