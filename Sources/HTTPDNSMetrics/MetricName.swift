#if Metrics
/// The metrics that ``ResolverMetrics`` exports, and their dimensions. A test compares them with the list in
/// Docs/Observability.md.
///
/// `dns.lookup.duration` and `error.type` are of OpenTelemetry's semantic conventions for DNS; the others are defined here. The
/// conventions' `dns.question.name` is left out on purpose: its number of values has no limit.
package enum MetricName: String, CaseIterable, Sendable {
    case lookupDuration = "dns.lookup.duration"
    case cacheLookups = "httpdns.cache.lookups"
    case cacheEntries = "httpdns.cache.entries"
    case cacheBytes = "httpdns.cache.bytes"
    case cacheEvictions = "httpdns.cache.evictions"
    case cacheRestored = "httpdns.cache.restored"
    case answers = "httpdns.answers"
    case staleServed = "httpdns.stale.served"
    case policyRefusals = "httpdns.policy.refusals"
    case overloads = "httpdns.overloads"
    case refreshes = "httpdns.refreshes"
    case refreshesActive = "httpdns.refreshes.active"
    case addressChanges = "httpdns.address.changes"
    case providerQueries = "httpdns.provider.queries"
    case providerActive = "httpdns.provider.queries.active"
    case providerAnswerTime = "httpdns.provider.answer.time"
    case providerHedges = "httpdns.provider.hedges"
    case providerProbes = "httpdns.provider.probes"
    case providerQuarantined = "httpdns.provider.quarantined"
    case providerQuarantines = "httpdns.provider.quarantines"
    case routeAnswers = "httpdns.route.answers"
    case routeFailures = "httpdns.route.failures"
    case switchedOff = "httpdns.switch.bypasses"
    case lastResorts = "httpdns.last_resort.answers"
    case shadowComparisons = "httpdns.shadow.comparisons"
    case rollouts = "httpdns.rollout.questions"
    case switchState = "httpdns.switch.off"
    case reloads = "httpdns.reloads"
    case reloadFailing = "httpdns.reload.failing"
    case connectionFallbacks = "httpdns.connect.fallbacks"
    case fallenBackHosts = "httpdns.connect.fallen_back_hosts"
    case systemQueries = "httpdns.system.queries"
    case systemFailures = "httpdns.system.failures"
    case eventsMissed = "httpdns.events.missed"

    /// The kinds of metrics of swift-metrics in use.
    package enum Kind: String, Sendable {
        case counter, meter, timer
        case floatingPointCounter = "floating-point counter"
    }

    /// The kind of the metric.
    package var kind: Kind {
        switch self {
        case .lookupDuration: .timer
        case .cacheEntries, .cacheBytes, .refreshesActive, .providerActive, .switchState, .reloadFailing,
            .providerQuarantined, .fallenBackHosts:
            .meter
        case .providerAnswerTime: .floatingPointCounter
        default: .counter
        }
    }

    /// The names of its dimensions: always all of them except `error.type`, which only failures have.
    package var dimensions: [String] {
        switch self {
        case .lookupDuration:
            [Dimension.cause, Dimension.route, Dimension.source, Dimension.provider, Dimension.errorType]
        case .cacheLookups, .refreshes, .shadowComparisons, .rollouts, .reloads, .connectionFallbacks:
            [Dimension.result]
        case .routeAnswers: [Dimension.route, Dimension.freshness]
        case .routeFailures: [Dimension.route, Dimension.errorType]
        case .staleServed: [Dimension.waited]
        case .answers: [Dimension.source]
        case .providerQueries: [Dimension.provider, Dimension.outcome]
        case .switchState: [Dimension.scope]
        case .providerQuarantined, .providerActive, .providerAnswerTime, .providerHedges, .providerProbes,
            .providerQuarantines:
            [Dimension.provider]
        default: []
        }
    }

    /// The names of dimensions. Their values are identifiers of this package, or names from the settings: never a host.
    package enum Dimension {
        package static let cause = "httpdns.cause"
        package static let errorType = "error.type"
        package static let freshness = "httpdns.freshness"
        package static let outcome = "httpdns.outcome"
        package static let provider = "httpdns.provider"
        package static let result = "httpdns.result"
        package static let route = "httpdns.route"
        package static let scope = "httpdns.scope"
        package static let source = "httpdns.source"
        package static let waited = "httpdns.waited"
    }
}
#endif
