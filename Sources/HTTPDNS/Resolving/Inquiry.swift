internal import HTTPDNSPrimitives

/// A question that mappings, literals and the request itself left open: who is to be asked about which name.
struct Inquiry: Sendable {
    /// The name to ask about: the question's own, or the one at the end of its `via` rules.
    var host: HostName
    var families: AddressFamilies
    /// The route that decides; nil means the system resolver, because no route or a bypass said so.
    var route: Route?
    /// The route's number, or ``AnswerKey/system``.
    var source: Int
    /// Why no provider is asked, when none is.
    var bypassReason: BypassReason?
    var generation: UInt64
    /// The mapping rule on the way here, with its chain.
    var rule: AppliedRule?
    var identity: HostName?
    /// The least time to live of the rules on the way here.
    var ruleTimeToLive: Duration?

    var key: AnswerKey { AnswerKey(host: host, families: families, source: source) }
}

/// Why the system resolver is asked and no provider.
enum BypassReason: Sendable {
    case request, mapping, route, internalName, noRoute
}
