internal import HTTPDNSPrimitives

/// The details of a resolution other than its addresses and times.
///
/// They are behind one reference, so that resolutions are cheap to pass on.
final class ResolutionDetails: Sendable {
    struct Fields: Hashable, Sendable {
        var provider: String?
        var canonicalName: HTTPDNSName?
        var identity: HTTPDNSName?
        var rule: HTTPDNSResolver.AppliedMapping?
        var route: HTTPDNSRoute?
        var failedAttempts: [HTTPDNSResolver.ProviderAttempt] = []
        var applicationProtocols: [String] = []
        var switchedOff: HTTPDNSResolver.KillSwitch.Off?
    }

    let fields: Fields

    init(_ fields: Fields) { self.fields = fields }
}
