internal import HTTPDNSPrimitives

/// One endpoint to connect to, as a request would.
struct ProbeTarget: Hashable {
    let url: ParsedURL
    let endpoint: HTTPDNSEndpoint
    let versions: HTTPDNSTransfer.AllowedVersions
    let limits: TransferLimits
    /// Whether the request does not come as itself. Its probe then does not either.
    let withholdsCertificate: Bool

    /// - Parameter request: A request that may go there.
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

    /// What is the same for all requests that share the endpoint's connections.
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

/// Which endpoints are connected to without a request, and when: those of hosts that requests went to of late. A value: it is
/// told what happened and when, in nanoseconds on the loop's clock.
struct ProbeSchedule {
    private struct Entry {
        var nextAt: Int64
        var usedAt: Int64
        var isRunning = false
    }

    /// An endpoint that no request was given for so long is forgotten.
    static let memory: Int64 = 600_000_000_000
    /// How many endpoints are probed at most.
    static let maximumTargets = 1024

    private let interval: Int64
    private let maximumAtOnce: Int
    private var entries: [ProbeTarget: Entry] = [:]
    private var running = 0
    /// When there is something to do; `Int64.max` when there is not.
    private(set) var nextAt = Int64.max

    init(_ settings: HTTPDNSTransfer.ActiveProbing) {
        interval = max(1_000_000_000, settings.interval.wholeNanoseconds)
        maximumAtOnce = max(1, settings.maximumAtOnce)
    }

    var count: Int { entries.count }

    /// A request has these endpoints to choose from.
    mutating func used(_ endpoints: [HTTPDNSEndpoint], by request: TransferRequest, at now: Int64, random: () -> Double)
    {
        for endpoint in endpoints {
            let target = ProbeTarget(endpoint, for: request)
            if entries[target] != nil {
                entries[target]?.usedAt = now
            } else if entries.count < Self.maximumTargets {
                let next = next(after: now, random)
                entries[target] = Entry(nextAt: next, usedAt: now)
                if running < maximumAtOnce { nextAt = min(nextAt, next) }
            }
        }
    }

    /// The endpoints to connect to now. Whoever gets them tells their end.
    mutating func due(at now: Int64, random: () -> Double) -> [ProbeTarget] {
        var due: [ProbeTarget] = []
        let candidates = entries.filter { $0.value.nextAt <= now }.sorted { $0.value.nextAt < $1.value.nextAt }
        for (target, entry) in candidates {
            guard now - entry.usedAt <= Self.memory || entry.isRunning else {
                entries[target] = nil
                continue
            }
            guard !entry.isRunning, running < maximumAtOnce else { continue }
            let next = next(after: now, random)
            entries[target]?.isRunning = true
            entries[target]?.nextAt = next
            running += 1
            due.append(target)
        }
        schedule()
        return due
    }

    /// A probe is over.
    mutating func ended(_ target: ProbeTarget) {
        guard entries[target]?.isRunning == true else { return }
        entries[target]?.isRunning = false
        running -= 1
        schedule()
    }

    private mutating func schedule() {
        guard running < maximumAtOnce else {
            // The end of one of those that run goes on from here.
            nextAt = .max
            return
        }
        nextAt = entries.values.lazy.filter { !$0.isRunning }.map(\.nextAt).min() ?? .max
    }

    private func next(after now: Int64, _ random: () -> Double) -> Int64 {
        now + Int64(Double(interval) * (1 - 0.25 * min(max(0, random()), 1)))
    }
}
