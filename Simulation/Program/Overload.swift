// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

internal import HTTPDNS
internal import HTTPDNSCore
internal import HTTPDNSPrimitives

/// More calls than a limit of the client lets through, while servers and providers are well.
struct Overload: CustomStringConvertible {
    enum Limit: CaseIterable { case perHost, connections, requestsInFlight, bandwidth, queriesInFlight, queryRate }

    let limit: Limit
    /// What the limit allows.
    let allowed: Int
    /// The time that a server or a provider takes.
    let service: Duration
    /// The bytes of a body.
    let length: Int
    /// How many times the calls that the limit lets through are made.
    let load: Double
    /// Of each call.
    let timeout: Duration
    let nameCount: Int

    var description: String { "\(limit) \(allowed), \(service) each, load \(load), at most \(timeout)" }

    /// The calls per second that the limit lets through.
    var capacity: Double {
        switch limit {
        case .perHost, .connections, .requestsInFlight, .queriesInFlight: Double(allowed) / (service / .seconds(1))
        case .bandwidth: Double(allowed) / Double(length)
        case .queryRate: Double(allowed)
        }
    }

    init(seed: UInt64, calls: Int) {
        var draw = Draw(seed, "overload")
        limit = draw.pick(Limit.allCases)
        // Without a queue, and with calls at any time, the limit is not always reached.
        load = draw.pick(limit == .requestsInFlight ? [2, 3] : [1.5, 2, 3])
        service = draw.time(.milliseconds(5), .milliseconds(80))
        length = 1000 + draw.below(8000)
        switch limit {
        case .bandwidth: allowed = (5 + draw.below(50)) * length
        case .queryRate: allowed = 5 + draw.below(50)
        case .requestsInFlight: allowed = 8 + draw.below(20)
        default: allowed = 1 + draw.below(8)
        }
        // Time for a few others to be served before.
        let one: Duration
        switch limit {
        // A body for which the call has no time takes none of the rate.
        case .bandwidth: one = .seconds(Double(length) / Double(allowed))
        case .queryRate: one = service
        default: one = service / allowed
        }
        timeout = max(service * 4, one * (4 + draw.below(60)))
        switch limit {
        // A name for each call: all are asked for.
        case .queriesInFlight, .queryRate: nameCount = calls
        case .perHost: nameCount = 1
        default: nameCount = 1 + draw.below(6)
        }
    }

    func apply(to configuration: inout HTTPDNSClient.Configuration) {
        switch limit {
        case .perHost: configuration.connections.maximumPerHost = allowed
        case .connections: configuration.connections.maximum = allowed
        case .requestsInFlight: configuration.maximumRequestsInFlight = allowed
        case .bandwidth: configuration.bandwidth.receiving = .bytes(allowed)
        case .queriesInFlight: configuration.resolver.providerLimits["a"] = .init(maximumInFlight: allowed)
        case .queryRate: configuration.resolver.providerLimits["a"] = .init(queriesPerSecond: Double(allowed))
        }
    }
}
