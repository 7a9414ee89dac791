// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

import HTTPDNS
import HTTPDNSCore
import HTTPDNSMetrics

/// The share of the queries of one minute that were answered without waiting.
func hitRate(of resolver: HTTPDNSResolver) async throws -> Double {
    let earlier = resolver.counters
    try await Task.sleep(for: .seconds(60))
    let minute = resolver.counters - earlier
    let atOnce = minute.hits + minute.staleHits + minute.immediate
    return minute.queries > 0 ? Double(atOnce) / Double(minute.queries) : 1
}

/// Prints each change of addresses, and each provider that is quarantined.
func report(_ resolver: HTTPDNSResolver) async {
    for await event in resolver.events {
        if event.missedBefore > 0 { print("\(event.missedBefore) events missed") }
        switch event.kind {
        case .changed:
            print("\(event.host?.description ?? "-"): \(event.previousAddresses) -> \(event.addresses)")
        case .providerQuarantined:
            print("\(event.provider ?? "-") is in quarantine: \(event.code ?? "-")")
        default:
            break
        }
    }
}

/// Runs until the resolver is shut down or the task is canceled.
func export(_ resolver: HTTPDNSResolver) async {
    await HTTPDNSResolverMetrics(resolver, interval: .seconds(15)).run()
}

/// Runs until the client is shut down or the task is canceled.
func export(_ client: HTTPDNSClient) async {
    await HTTPDNSClientMetrics(client).run()
}
