internal import HTTPDNSPrimitives

/// What a resolution tells beside its addresses and times, behind one reference.
struct ResolutionDetails: Hashable, Sendable {
    private struct Fields: Hashable, Sendable {
        var provider: String?
        var canonicalName: HostName?
        var identity: HostName?
        var rule: AppliedRule?
        var route: Route?
        var failedAttempts: [ProviderAttempt]
        var applicationProtocols: [String]
    }

    private final class Box: Sendable {
        let fields: Fields
        init(_ fields: Fields) { self.fields = fields }
    }

    private var box: Box

    init(
        provider: String? = nil,
        canonicalName: HostName? = nil,
        identity: HostName? = nil,
        rule: AppliedRule? = nil,
        route: Route? = nil,
        failedAttempts: [ProviderAttempt] = [],
        applicationProtocols: [String] = []
    ) {
        box = Box(
            Fields(
                provider: provider,
                canonicalName: canonicalName,
                identity: identity,
                rule: rule,
                route: route,
                failedAttempts: failedAttempts,
                applicationProtocols: applicationProtocols
            )
        )
    }

    var provider: String? {
        get { box.fields.provider }
        set { change { $0.provider = newValue } }
    }
    var canonicalName: HostName? {
        get { box.fields.canonicalName }
        set { change { $0.canonicalName = newValue } }
    }
    var identity: HostName? {
        get { box.fields.identity }
        set { change { $0.identity = newValue } }
    }
    var rule: AppliedRule? {
        get { box.fields.rule }
        set { change { $0.rule = newValue } }
    }
    var route: Route? {
        get { box.fields.route }
        set { change { $0.route = newValue } }
    }
    var failedAttempts: [ProviderAttempt] {
        get { box.fields.failedAttempts }
        set { change { $0.failedAttempts = newValue } }
    }
    var applicationProtocols: [String] {
        get { box.fields.applicationProtocols }
        set { change { $0.applicationProtocols = newValue } }
    }

    private mutating func change(_ body: (inout Fields) -> Void) {
        var fields = box.fields
        body(&fields)
        box = Box(fields)
    }

    static func == (left: ResolutionDetails, right: ResolutionDetails) -> Bool {
        left.box === right.box || left.box.fields == right.box.fields
    }

    func hash(into hasher: inout Hasher) { hasher.combine(box.fields) }
}
