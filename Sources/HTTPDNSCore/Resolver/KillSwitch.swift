// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

internal import HTTPDNSPrimitives
internal import Synchronization

extension HTTPDNSResolver {
    /// A switch that turns the resolver off and on while it runs, wholly or for the names of one route.
    ///
    /// Off means that the next request is resolved by the system resolver, as with
    /// ``HTTPDNSResolver/Query/usesSystemResolver``: mappings, providers and answers cached from them are skipped. Literals and
    /// a request's own addresses still apply. Each ``Origin`` turns scopes off and on separately, and a scope is on when no
    /// origin has it off.
    ///
    /// Checking that everything is on is one atomic read.
    public final class KillSwitch: Sendable {
        private let state = Lock(SwitchState())
        /// Twice the generation, plus one while something is off. Written under the lock and read without it.
        private let published = Atomic<UInt64>(0)
        private let observers = Lock<[@Sendable (Change) -> Void]>([])
        private let timeSource: any TimeSource

        /// A change of the switch.
        package struct Change: Sendable {
            /// The scopes that were turned off, or on.
            package var scopes: [Scope]
            /// Whether they were turned off.
            package var isOff: Bool
            /// The origin of the change.
            package var origin: Origin
        }

        /// Creates a switch that is on.
        package init(timeSource: any TimeSource = SystemTimeSource()) { self.timeSource = timeSource }

        /// Turns a scope off. Idempotent: a scope that this origin has already turned off keeps its time.
        public func turnOff(_ scope: Scope = .everything, by origin: Origin = .api) {
            change(by: origin) { $0.turnOff(scope, by: origin, at: $1) }
        }

        /// Turns a scope on again. Idempotent.
        ///
        /// It removes exactly this scope: a route that was turned off separately stays off when everything is turned on again,
        /// and ``entries`` shows it. ``Origin/api`` and ``Origin/socket`` both represent operators, and each also removes entries
        /// of the other. File and environment remove only their own.
        public func turnOn(_ scope: Scope = .everything, by origin: Origin = .api) {
            change(by: origin) { state, _ in state.turnOn(scope, by: origin) }
        }

        /// Whether no origin has everything off. Single routes may be off nevertheless, see ``entries``.
        public var isOn: Bool { isFullyOn || state.withLock { $0.everything == nil } }

        /// All entries: everything before single routes, these by their patterns; empty when all is on.
        public var entries: [Entry] { state.withLock { $0.entries } }

        /// A number that grows with each turn that changed something; 0 before the first.
        public var generation: UInt64 { published.load(ordering: .acquiring) >> 1 }

        /// Whether nothing is off.
        package var isFullyOn: Bool { published.load(ordering: .acquiring) & 1 == 0 }

        /// Returns the entry that turns a name off: everything, or the pattern that decides about it.
        ///
        /// Patterns that are off decide as those of routes do: the exact one, else the longest suffix, else `*`. A route with a
        /// more specific pattern keeps its names on.
        /// - Parameters:
        ///   - host: The name of the request.
        ///   - route: The pattern of the route that decides about the name; nil without one.
        package func entry(for host: HTTPDNSName, decidedBy route: HTTPDNSRoute.Pattern?) -> Entry? {
            isFullyOn ? nil : state.withLock { $0.entry(for: host, decidedBy: route) }
        }

        /// Replaces the file's entries.
        /// - Parameter keeping: Whether its previous entries stay as well, until the next call: while settings are being
        ///   replaced.
        func setFile(_ scopes: Set<Scope>, keeping: Bool = false) {
            change(by: .file) { $0.setFile(scopes, keeping: keeping, at: $1) }
        }

        /// Calls `body` after each change, on the thread of the change, outside of all locks, before the change returns.
        package func onChange(_ body: @escaping @Sendable (Change) -> Void) {
            observers.withLock { $0.append(body) }
        }

        private func change(by origin: Origin, _ body: (inout SwitchState, MonotonicTime) -> Void) {
            let now = timeSource.now()
            let changes = state.withLock { state -> [Change] in
                let before = Set(state.entries.map(\.scope))
                let oldEntries = state.entries
                body(&state, now)
                guard state.entries != oldEntries else { return [] }
                let after = Set(state.entries.map(\.scope))
                let generation = (published.load(ordering: .relaxed) >> 1) + 1
                published.store(generation << 1 | (after.isEmpty ? 0 : 1), ordering: .releasing)
                let off = SwitchState.sorted(after.subtracting(before))
                let on = SwitchState.sorted(before.subtracting(after))
                return [
                    off.isEmpty ? nil : Change(scopes: off, isOff: true, origin: origin),
                    on.isEmpty ? nil : Change(scopes: on, isOff: false, origin: origin),
                ].compactMap { $0 }
            }
            guard !changes.isEmpty else { return }
            let observers = observers.withLock { $0 }
            for change in changes {
                for observer in observers { observer(change) }
            }
        }
    }
}

extension HTTPDNSResolver.KillSwitch {
    /// The extent of an entry in the kill switch.
    public enum Scope: Hashable, Sendable, CustomStringConvertible {
        /// All names.
        case everything
        /// The names that the route with this pattern decides about. Without such a route, the names that it would decide about
        /// if it existed.
        case route(HTTPDNSRoute.Pattern)

        /// `everything`, or the pattern.
        public var description: String {
            switch self {
            case .everything: "everything"
            case .route(let pattern): pattern.description
            }
        }
    }

    /// The origin of an entry in the kill switch.
    public enum Origin: String, Hashable, Sendable, CaseIterable {
        /// The configuration file: `enabled: false`, for everything or for a route.
        case file
        /// The environment variable `HTTPDNS_DISABLED` at start.
        case environment
        /// A call of ``HTTPDNSResolver/KillSwitch/turnOff(_:by:)`` in the program.
        case api
        /// An operator, through the program's socket.
        case socket
    }

    /// An entry of the kill switch: something that is off.
    public struct Entry: Hashable, Sendable {
        /// The extent of the entry.
        public var scope: Scope
        /// The origin that turned it off.
        public var origin: Origin
        /// The time it was turned off.
        public var since: ContinuousClock.Instant

        /// Creates an entry.
        public init(scope: Scope, origin: Origin, since: ContinuousClock.Instant) {
            self.scope = scope
            self.origin = origin
            self.since = since
        }
    }
}

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
    var everything: HTTPDNSResolver.KillSwitch.Entry? { first(.everything) }

    var entries: [HTTPDNSResolver.KillSwitch.Entry] {
        SwitchState.sorted(Set(since.keys)).flatMap { scope in
            Origin.allCases.compactMap { origin in
                since[scope]?[origin].map { .init(scope: scope, origin: origin, since: .init($0)) }
            }
        }
    }

    static func sorted(_ scopes: Set<Scope>) -> [Scope] {
        scopes.sorted { left, right in
            if left == .everything || right == .everything { return left == .everything && right != .everything }
            return left.description < right.description
        }
    }

    func entry(for host: HTTPDNSName, decidedBy route: HTTPDNSRoute.Pattern?) -> HTTPDNSResolver.KillSwitch.Entry? {
        if let everything { return everything }
        // From the most specific pattern to the widest. A route that is more specific than an entry decides, and is on.
        if let entry = first(.route(.exact(host))) { return entry }
        if route == .exact(host) || route == nil && host.isInternal { return nil }
        for zone in host.zonesAbove {
            let pattern = HTTPDNSRoute.Pattern.suffix(HTTPDNSName(canonical: String(zone)))
            if let entry = first(.route(pattern)) { return entry }
            if route == pattern { return nil }
        }
        return first(.route(.any))
    }

    private func first(_ scope: Scope) -> HTTPDNSResolver.KillSwitch.Entry? {
        guard let origins = since[scope] else { return nil }
        return Origin.allCases.lazy.compactMap { origin in
            origins[origin].map { HTTPDNSResolver.KillSwitch.Entry(scope: scope, origin: origin, since: .init($0)) }
        }.first
    }
}
