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
            add(.providerQueries, name, "canceled", count: provider.canceled)
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
    /// The exported numbers of a status.
    var readings: [CounterReading] {
        func reading(_ name: MetricName, _ values: String..., value: Int) -> CounterReading {
            CounterReading(series: MetricSeries(name: name, values: values), value: Double(value))
        }
        return [
            reading(.switchState, "everything", value: isSwitchedOff ? 1 : 0),
            reading(.switchState, "routes", value: routesSwitchedOff),
        ] + quarantined.map { reading(.providerQuarantined, $0.key, value: $0.value ? 1 : 0) }
    }
}
#endif
