// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

internal import HTTPDNSPrimitives

/// An endpoint to connect to, with the settings of a request.
struct ProbeTarget: Hashable {
    let url: ParsedURL
    let endpoint: HTTPDNSEndpoint
    let versions: HTTPDNSTransfer.AllowedVersions
    let limits: TransferLimits
    /// Whether the request withholds the client certificate. Its probe then does so too.
    let withholdsCertificate: Bool

    /// - Parameter request: A request that may use the endpoint.
    init(_ endpoint: HTTPDNSEndpoint, for request: TransferRequest) {
        url = request.url
        self.endpoint = endpoint
        versions = request.versions
        var limits = TransferLimits()
        limits.connect = request.limits.connect ?? limits.connect
        limits.tls = request.limits.tls ?? limits.tls
        self.limits = limits
        withholdsCertificate = request.withholdsCertificate
    }

    /// The properties that all requests on the endpoint's connections share.
    fileprivate var key: Key {
        Key(
            host: url.host,
            port: url.port,
            isSecure: url.scheme == .https,
            endpoint: endpoint,
            withholdsCertificate: withholdsCertificate
        )
    }

    fileprivate struct Key: Hashable {
        var host: ParsedURL.Host
        var port: UInt16
        var isSecure: Bool
        var endpoint: HTTPDNSEndpoint
        var withholdsCertificate: Bool
    }

    static func == (left: ProbeTarget, right: ProbeTarget) -> Bool { left.key == right.key }
    func hash(into hasher: inout Hasher) { hasher.combine(key) }
}

/// The schedule of connections without a request, to the endpoints of recently used hosts. A value type: it receives events
/// with their times, in nanoseconds on the loop's clock.
struct ProbeSchedule {
    private struct Entry {
        var nextAt: Int64
        var usedAt: Int64
        var isRunning = false
    }

    /// The time after which an unused endpoint is forgotten.
    static let memory: Int64 = 600_000_000_000
    /// The maximum number of probed endpoints.
    static let maximumTargets = 1024

    private let interval: Int64
    private let maximumConcurrent: Int
    private var entries: [ProbeTarget: Entry] = [:]
    private var running = 0
    /// The time of the next probe; `Int64.max` without one.
    private(set) var nextAt = Int64.max

    init(_ settings: HTTPDNSTransfer.ActiveProbing) {
        interval = max(1_000_000_000, settings.interval.wholeNanoseconds)
        maximumConcurrent = max(1, settings.maximumConcurrent)
    }

    var count: Int { entries.count }

    /// Notes the endpoints that a request can choose from.
    mutating func used(_ endpoints: [HTTPDNSEndpoint], by request: TransferRequest, at now: Int64, random: () -> Double)
    {
        for endpoint in endpoints {
            let target = ProbeTarget(endpoint, for: request)
            if entries[target] != nil {
                entries[target]?.usedAt = now
            } else if entries.count < Self.maximumTargets {
                let next = next(after: now, random)
                entries[target] = Entry(nextAt: next, usedAt: now)
                if running < maximumConcurrent { nextAt = min(nextAt, next) }
            }
        }
    }

    /// Returns the endpoints to connect to now. The caller must report the end of each probe.
    mutating func due(at now: Int64, random: () -> Double) -> [ProbeTarget] {
        var due: [ProbeTarget] = []
        let candidates = entries.filter { $0.value.nextAt <= now }.sorted { $0.value.nextAt < $1.value.nextAt }
        for (target, entry) in candidates {
            guard now - entry.usedAt <= Self.memory || entry.isRunning else {
                entries[target] = nil
                continue
            }
            guard !entry.isRunning, running < maximumConcurrent else { continue }
            let next = next(after: now, random)
            entries[target]?.isRunning = true
            entries[target]?.nextAt = next
            running += 1
            due.append(target)
        }
        schedule()
        return due
    }

    /// Notes the end of a probe.
    mutating func ended(_ target: ProbeTarget) {
        guard entries[target]?.isRunning == true else { return }
        entries[target]?.isRunning = false
        running -= 1
        schedule()
    }

    private mutating func schedule() {
        guard running < maximumConcurrent else {
            // The end of a running probe schedules the next one.
            nextAt = .max
            return
        }
        nextAt = entries.values.lazy.filter { !$0.isRunning }.map(\.nextAt).min() ?? .max
    }

    private func next(after now: Int64, _ random: () -> Double) -> Int64 {
        now + Int64(Double(interval) * (1 - 0.25 * min(max(0, random()), 1)))
    }
}
