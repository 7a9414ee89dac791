internal import HTTPDNSPrimitives

/// The entries of the kill switch, by origin and scope. A value: ``HTTPDNSResolver/KillSwitch`` keeps it under a lock.
struct SwitchState: Sendable {
    typealias Scope = HTTPDNSResolver.KillSwitch.Scope
    typealias Origin = HTTPDNSResolver.KillSwitch.Origin

    private var since: [Scope: [Origin: MonotonicTime]] = [:]

    mutating func turnOff(_ scope: Scope, by origin: Origin, at now: MonotonicTime) {
        if since[scope]?[origin] == nil { since[scope, default: [:]][origin] = now }
    }

    mutating func turnOn(_ scope: Scope, by origin: Origin) {
        let origins: [Origin] = origin == .api || origin == .socket ? [.api, .socket] : [origin]
        for origin in origins { since[scope]?[origin] = nil }
        if since[scope]?.isEmpty == true { since[scope] = nil }
    }

    mutating func setFile(_ scopes: Set<Scope>, keeping: Bool, at now: MonotonicTime) {
        for scope in scopes { turnOff(scope, by: .file, at: now) }
        guard !keeping else { return }
        for scope in since.keys where !scopes.contains(scope) { turnOn(scope, by: .file) }
    }

    /// The first entry that turns everything off.
    var everything: HTTPDNSResolver.KillSwitch.Off? { first(.everything) }

    var offs: [HTTPDNSResolver.KillSwitch.Off] {
        SwitchState.sorted(Set(since.keys)).flatMap { scope in
            Origin.allCases.compactMap { origin in
                since[scope]?[origin].map { HTTPDNSResolver.KillSwitch.Off(scope: scope, origin: origin, since: $0) }
            }
        }
    }

    static func sorted(_ scopes: Set<Scope>) -> [Scope] {
        scopes.sorted { left, right in
            if left == .everything || right == .everything { return left == .everything && right != .everything }
            return left.description < right.description
        }
    }

    func off(for host: HTTPDNSName, decidedBy route: HTTPDNSRoute.Pattern?) -> HTTPDNSResolver.KillSwitch.Off? {
        if let everything { return everything }
        // From the most specific pattern to the widest. A route that is more specific than an entry decides, and is on.
        if let off = first(.route(.exact(host))) { return off }
        if route == .exact(host) || host.isInternal { return nil }
        for zone in host.zonesAbove {
            let pattern = HTTPDNSRoute.Pattern.suffix(HTTPDNSName(canonical: String(zone)))
            if let off = first(.route(pattern)) { return off }
            if route == pattern { return nil }
        }
        return first(.route(.any))
    }

    private func first(_ scope: Scope) -> HTTPDNSResolver.KillSwitch.Off? {
        guard let origins = since[scope] else { return nil }
        return Origin.allCases.lazy.compactMap { origin in
            origins[origin].map { HTTPDNSResolver.KillSwitch.Off(scope: scope, origin: origin, since: $0) }
        }.first
    }
}
