// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

#if Metrics
internal import HTTPDNSCore
internal import HTTPDNSPrimitives

/// A number of a snapshot, with the name and dimensions of its export.
struct CounterReading: Hashable, Sendable {
    var series: MetricSeries
    var value: Double
}

/// A series: a metric with the values of its dimensions.
struct MetricSeries: Hashable, Sendable {
    var name: MetricName
    var values: [String] = []

    /// The dimensions in the form of swift-metrics.
    var dimensions: [(String, String)] { Array(zip(name.dimensions, values)) }
}

extension HTTPDNSResolver.Counters {
    /// The exported numbers of a snapshot, or of the difference of two.
    var readings: [CounterReading] {
        var readings: [CounterReading] = []
        func add(_ name: MetricName, _ values: String..., count: Int) {
            readings.append(CounterReading(series: MetricSeries(name: name, values: values), value: Double(count)))
        }
        add(.cacheLookups, "hit", count: hits)
        add(.cacheLookups, "stale", count: staleHits)
        add(.cacheLookups, "negative", count: negativeHits)
        add(.cacheLookups, "failure", count: failureHits)
        add(.cacheLookups, "miss", count: misses)
        add(.cacheLookups, "joined", count: joined)
        add(.cacheEntries, count: cacheEntries)
        add(.cacheBytes, count: cacheBytes)
        add(.cacheEvictions, count: evictions)
        add(.cacheRestored, count: restored)
        for (source, count) in answers { add(.answers, source.description, count: count) }
        add(.staleServed, "no", count: staleHits)
        add(.staleServed, "yes", count: staleServedAfterWait)
        add(.policyRefusals, count: policyRefusals)
        add(.overloads, count: overloaded)
        add(.refreshes, "succeeded", count: refreshesSucceeded)
        add(.refreshes, "failed", count: refreshesFailed)
        add(.refreshesActive, count: refreshesStarted - refreshesSucceeded - refreshesFailed)
        add(.addressChanges, count: changes)
        for (pattern, route) in routes {
            add(.routeAnswers, pattern, "fresh", count: route.fresh)
            add(.routeAnswers, pattern, "stale", count: route.stale)
            add(.routeAnswers, pattern, "system", count: route.system)
            for (code, count) in route.failures where count != 0 {
                add(.routeFailures, pattern, code.description, count: count)
            }
        }
        add(.switchedOff, count: switchedOff)
        add(.lastResorts, count: lastResort)
        add(.shadowComparisons, "agreed", count: shadowAgreed)
        add(.shadowComparisons, "differed", count: shadowDiffered)
        add(.shadowComparisons, "failed", count: shadowFailed)
        add(.rollouts, "rolled-out", count: rolledOut)
        add(.rollouts, "outside-rollout", count: outsideRollout)
        add(.systemQueries, count: systemQueries)
        add(.systemFailures, count: systemFailures)
        for (name, provider) in providers {
            add(.providerQueries, name, "answer", count: provider.answers)
            add(.providerQueries, name, "negative", count: provider.negatives)
            add(.providerQueries, name, "cancelled", count: provider.cancelled)
            for (code, count) in provider.failures { add(.providerQueries, name, code.description, count: count) }
            add(.providerActive, name, count: provider.queriesInFlight)
            add(.providerHedges, name, count: provider.hedges)
            add(.providerProbes, name, count: provider.probes)
            readings.append(
                CounterReading(
                    series: MetricSeries(name: .providerAnswerTime, values: [name]),
                    value: provider.answerTime.inSeconds
                )
            )
        }
        return readings
    }
}

extension HTTPDNSResolver.Status {
    /// The exported numbers of a status, with the present values of its counters.
    var readings: [CounterReading] {
        func reading(_ name: MetricName, _ values: String..., value: Int) -> CounterReading {
            CounterReading(series: MetricSeries(name: name, values: values), value: Double(value))
        }
        return [
            reading(.switchState, "everything", value: isSwitchedOff ? 1 : 0),
            reading(.switchState, "routes", value: routesSwitchedOff),
            reading(.reloadFailing, value: isReloadFailing ? 1 : 0),
            reading(.reloads, "succeeded", value: reloadsSucceeded),
            reading(.reloads, "failed", value: reloadsFailed),
            reading(.connectionFallbacks, "served", value: connectionFallbacks),
            reading(.connectionFallbacks, "failed", value: connectionFallbacksFailed),
            reading(.connectionFallbacks, "short-circuited", value: connectionFallbacksShortCircuited),
            reading(.fallenBackHosts, value: fallenBackHosts),
        ] + quarantined.map { reading(.providerQuarantined, $0.key, value: $0.value ? 1 : 0) }
    }
}

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
    case switchedOff = "httpdns.switch.queries"
    case lastResorts = "httpdns.last_resort.answers"
    case shadowComparisons = "httpdns.shadow.comparisons"
    case rollouts = "httpdns.rollout.queries"
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
