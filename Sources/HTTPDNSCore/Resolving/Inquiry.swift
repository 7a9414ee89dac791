internal import HTTPDNSPrimitives

/// Who is to be asked about which name.
struct Inquiry: Sendable {
    /// The settings that it goes by to its end.
    var settings: ResolvingSettings
    var key: AnswerKey
    /// The families that an answer may have.
    var families: HTTPDNSAddress.Families
    /// The families that providers are asked for: without IPv6 on a machine that has no route for it and no setting about it.
    var queried: HTTPDNSAddress.Families
    /// Whether the lookup only adds families to an answer within its life.
    var completesAnswer = false
    /// The route that decides; nil means the system resolver, because no route or a bypass said so.
    var route: HTTPDNSRoute?
    /// Why no provider is asked, when none is.
    var bypassReason: BypassReason?

    var host: HTTPDNSName { key.host }

    /// Whether the system resolver stands in for the providers.
    var hasFallback: Bool {
        guard bypassReason == nil, case .providers(_, fallback: .system) = route?.action else { return false }
        return true
    }

    /// Whether the system resolver is asked again for an answer past its life while no provider may be asked: its own.
    func mayReplace(_ answer: CachedAnswer) -> Bool { hasFallback && answer.origin?.source == .system }
}

/// Why the system resolver is asked and no provider.
enum BypassReason: Sendable {
    case request, mapping, route, internalName, noRoute, switchedOff, heldBack, shadow
}
