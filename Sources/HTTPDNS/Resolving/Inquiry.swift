internal import HTTPDNSPrimitives

/// Who is to be asked about which name.
struct Inquiry: Sendable {
    /// The settings that it goes by to its end.
    var settings: ResolvingSettings
    var key: AnswerKey
    var families: AddressFamilies
    /// The route that decides; nil means the system resolver, because no route or a bypass said so.
    var route: Route?
    /// Why no provider is asked, when none is.
    var bypassReason: BypassReason?

    var host: HostName { key.host }
}

/// Why the system resolver is asked and no provider.
enum BypassReason: Sendable {
    case request, mapping, route, internalName, noRoute, switchedOff, heldBack, shadow
}
