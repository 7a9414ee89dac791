internal import HTTPDNSPrimitives

/// A lookup of a name: its key, route, families and settings.
struct UpstreamLookup: Sendable {
    /// The settings that the lookup uses until its end.
    var settings: ResolvingSettings
    var key: CacheKey
    /// The families that an answer may have.
    var families: HTTPDNSAddress.Families
    /// The families that providers are queried for: without IPv6 on a machine without an IPv6 route and without a setting.
    var queried: HTTPDNSAddress.Families
    /// Whether the lookup only adds families to an answer within its lifetime.
    var completesAnswer = false
    /// The route that decides; nil means the system resolver, because there is no route or a bypass applies.
    var route: HTTPDNSRoute?
    /// The reason that no provider is queried, when none is.
    var bypassReason: BypassReason?

    var host: HTTPDNSName { key.host }

    /// Whether the system resolver is the fallback of the providers.
    var hasFallback: Bool {
        guard bypassReason == nil, case .providers(_, fallback: .system) = route?.action else { return false }
        return true
    }

    /// Returns whether an expired answer of the system resolver may be looked up there again while no provider may be
    /// queried.
    func mayReplace(_ answer: CachedAnswer) -> Bool { hasFallback && answer.origin?.source == .system }
}

/// The reason that the system resolver is queried and no provider.
enum BypassReason: Sendable {
    case request, mapping, route, internalName, noRoute, switchedOff, heldBack, shadow
}
