// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

#if Metrics
/// The metrics that ``HTTPDNSResolverMetrics`` and ``HTTPDNSClientMetrics`` export, and their dimensions. A test compares them with the list in
/// Docs/Observability.md.
///
/// Names that do not begin with `httpdns.` are of OpenTelemetry's semantic conventions for DNS and HTTP, which a test compares too.
/// The conventions' `dns.question.name` is left out on purpose: its number of values has no limit.
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
    case switchedOff = "httpdns.switch.queries"
    case lastResorts = "httpdns.last_resort.answers"
    case shadowComparisons = "httpdns.shadow.comparisons"
    case rollouts = "httpdns.rollout.queries"
    case switchState = "httpdns.switch.off"
    case systemQueries = "httpdns.system.queries"
    case systemFailures = "httpdns.system.failures"
    case eventsMissed = "httpdns.events.missed"

    // Of clients alone.
    case reloads = "httpdns.reloads"
    case reloadFailing = "httpdns.reload.failing"
    case connectionFallbacks = "httpdns.connect.fallbacks"
    case fallenBackHosts = "httpdns.connect.fallen_back_hosts"
    case requestDuration = "http.client.request.duration"
    case requestBodySize = "http.client.request.body.size"
    case responseBodySize = "http.client.response.body.size"
    case activeRequests = "http.client.active_requests"
    case openConnections = "http.client.open_connections"
    case connectionDuration = "http.client.connection.duration"
    case callDuration = "httpdns.call.duration"
    case bodyFailures = "httpdns.body.failures"
    case retries = "httpdns.request.retries"
    case redirects = "httpdns.request.redirects"
    case hedges = "httpdns.request.hedges"
    case mergedRequests = "httpdns.request.merged"
    case responseCache = "httpdns.response_cache.responses"
    case responseCacheRemovals = "httpdns.response_cache.removals"
    case lostRecords = "httpdns.monitor.lost"
    case queuedRequests = "httpdns.queue.requests"
    case queueWait = "httpdns.queue.wait"
    case endpoints = "httpdns.endpoints"

    /// The metrics of ``HTTPDNSClientMetrics`` that ``HTTPDNSResolverMetrics`` does not have.
    package static let ofClients: Set<MetricName> = [
        .requestDuration, .requestBodySize, .responseBodySize, .activeRequests, .openConnections, .connectionDuration,
        .callDuration, .bodyFailures, .retries, .redirects, .hedges, .mergedRequests, .responseCache,
        .responseCacheRemovals, .lostRecords, .queuedRequests, .queueWait, .endpoints, .reloads, .reloadFailing,
        .connectionFallbacks, .fallenBackHosts,
    ]

    /// The kinds of metrics of swift-metrics in use.
    package enum Kind: String, Sendable {
        case counter, meter, recorder, timer
        case floatingPointCounter = "floating-point counter"
    }

    /// The kind of the metric.
    package var kind: Kind {
        switch self {
        case .lookupDuration, .requestDuration, .connectionDuration, .callDuration, .queueWait: .timer
        case .requestBodySize, .responseBodySize: .recorder
        case .activeRequests, .openConnections, .queuedRequests, .endpoints,
            .cacheEntries, .cacheBytes,
            .refreshesActive, .providerActive, .switchState, .reloadFailing, .providerQuarantined, .fallenBackHosts:
            .meter
        case .providerAnswerTime: .floatingPointCounter
        default: .counter
        }
    }

    /// The names of its dimensions. A series has all of them, except those that do not apply to it in the conventions, see
    /// ``Dimension/optional``.
    package var dimensions: [String] {
        switch self {
        case .lookupDuration:
            [Dimension.cause, Dimension.route, Dimension.source, Dimension.provider, Dimension.errorType]
        case .requestDuration, .requestBodySize, .responseBodySize:
            [
                Dimension.method, Dimension.route, Dimension.status, Dimension.version, Dimension.errorType,
                Dimension.server, Dimension.port,
            ]
        case .openConnections: [Dimension.connectionState]
        case .connectionDuration: [Dimension.version]
        case .callDuration: [Dimension.result, Dimension.errorType]
        case .bodyFailures: [Dimension.errorType]
        case .endpoints: [Dimension.state]
        case .cacheLookups, .refreshes, .shadowComparisons, .rollouts, .reloads, .connectionFallbacks, .responseCache,
            .responseCacheRemovals, .lostRecords:
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

    /// The names of dimensions. Their values are identifiers of this package, names from the settings, or from a closed set:
    /// never a host, except those that ``HTTPDNSClientMetrics`` is given.
    package enum Dimension {
        package static let cause = "httpdns.cause"
        /// The name of a ``HTTPDNSClientMetrics``. All series of an exporter with a name have it, and no others.
        package static let client = "httpdns.client"
        static let connectionState = "http.connection.state"
        package static let errorType = "error.type"
        package static let freshness = "httpdns.freshness"
        package static let method = "http.request.method"
        package static let outcome = "httpdns.outcome"
        package static let port = "server.port"
        package static let provider = "httpdns.provider"
        package static let result = "httpdns.result"
        package static let route = "httpdns.route"
        package static let scope = "httpdns.scope"
        package static let server = "server.address"
        package static let source = "httpdns.source"
        package static let state = "httpdns.state"
        package static let status = "http.response.status_code"
        package static let version = "network.protocol.version"
        package static let waited = "httpdns.waited"

        /// The dimensions that a series may lack: there was no error, no response, or no host is labeled.
        package static let optional: Set<String> = [errorType, port, server, status, version]
    }

    /// The value of a dimension that does not apply, and is not optional.
    static let none = "none"
    /// The value for all that have no value of their own, as in OpenTelemetry's conventions.
    static let others = "_OTHER"
}
#endif
