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
    /// The egress path of the request: an address may be reachable from one source and not from another.
    let egressPath: EgressPath?

    /// - Parameter request: A request that may use the endpoint.
    init(_ endpoint: HTTPDNSEndpoint, for request: TransferRequest) {
        url = request.url
        self.endpoint = endpoint
        versions = request.versions(at: endpoint)
        var limits = TransferLimits()
        limits.connect = request.limits.connect ?? limits.connect
        limits.tls = request.limits.tls ?? limits.tls
        self.limits = limits
        withholdsCertificate = request.withholdsCertificate
        egressPath = request.egressPath
    }

    /// The properties that all requests on the endpoint's connections share.
    fileprivate var key: Key {
        Key(
            host: url.host,
            port: url.port,
            isSecure: url.scheme == .https,
            endpoint: endpoint,
            withholdsCertificate: withholdsCertificate,
            egressPath: egressPath
        )
    }

    fileprivate struct Key: Hashable {
        var host: ParsedURL.Host
        var port: UInt16
        var isSecure: Bool
        var endpoint: HTTPDNSEndpoint
        var withholdsCertificate: Bool
        var egressPath: EgressPath?
    }

    static func == (left: ProbeTarget, right: ProbeTarget) -> Bool { left.key == right.key }
    func hash(into hasher: inout Hasher) { hasher.combine(key) }
}

/// The schedule of connections without a request, to the endpoints of recently used hosts. It receives events with their times,
/// in nanoseconds on the loop's clock. Each event takes a few steps, however many endpoints are probed.
struct ProbeSchedule {
    private final class Entry: HeapMember {
        let target: ProbeTarget
        var nextAt: Int64
        var usedAt: Int64
        var isRunning = false
        var heapIndex = -1
        var heapKey: Int64 = 0

        init(_ target: ProbeTarget, nextAt: Int64, usedAt: Int64) {
            self.target = target
            self.nextAt = nextAt
            self.usedAt = usedAt
        }
    }

    /// The time after which an unused endpoint is forgotten.
    static let memory: Int64 = 600_000_000_000
    /// The maximum number of probed endpoints.
    static let maximumTargets = 1024

    private let interval: Int64
    private let maximumConcurrent: Int
    private var entries: [ProbeTarget: Entry] = [:]
    /// The endpoints without a running probe, by the time of the next one.
    private var pending = DeadlineHeap<Entry>()
    private var running = 0

    init(_ settings: HTTPDNSTransfer.ActiveProbing) {
        interval = max(1_000_000_000, settings.interval.wholeNanoseconds)
        maximumConcurrent = max(1, settings.maximumConcurrent)
    }

    var count: Int { entries.count }

    /// The time of the next probe; `Int64.max` without one. While as many run as may, the end of one begins the next.
    var nextAt: Int64 { running < maximumConcurrent ? pending.firstKey : .max }

    /// Notes the endpoints that a request can choose from.
    mutating func used(_ endpoints: [HTTPDNSEndpoint], by request: TransferRequest, at now: Int64, random: () -> Double)
    {
        for endpoint in endpoints {
            let target = ProbeTarget(endpoint, for: request)
            if let entry = entries[target] {
                entry.usedAt = now
            } else if entries.count < Self.maximumTargets {
                let entry = Entry(target, nextAt: next(after: now, random), usedAt: now)
                entries[target] = entry
                pending.insert(entry, at: entry.nextAt)
            }
        }
    }

    /// Returns the endpoints to connect to now. The caller must report the end of each probe.
    mutating func due(at now: Int64, random: () -> Double) -> [ProbeTarget] {
        var due: [ProbeTarget] = []
        while running < maximumConcurrent, let entry = pending.first, entry.nextAt <= now {
            pending.remove(entry)
            guard now - entry.usedAt <= Self.memory else {
                entries[entry.target] = nil
                continue
            }
            entry.isRunning = true
            entry.nextAt = next(after: now, random)
            running += 1
            due.append(entry.target)
        }
        return due
    }

    /// Notes the end of a probe.
    mutating func ended(_ target: ProbeTarget) {
        guard let entry = entries[target], entry.isRunning else { return }
        entry.isRunning = false
        running -= 1
        pending.insert(entry, at: entry.nextAt)
    }

    private func next(after now: Int64, _ random: () -> Double) -> Int64 {
        // A `Double` near the largest `Int64` may be above it.
        let delay = interval - min(Int64(Double(interval / 4) * min(max(0, random()), 1)), interval / 4)
        return (MonotonicTime(nanoseconds: now) + .nanoseconds(delay)).nanoseconds
    }
}
