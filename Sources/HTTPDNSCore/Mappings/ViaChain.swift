// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

internal import HTTPDNSPrimitives

/// The chain of `via` rules from a name: to the rule that ends it, or to a name without a rule.
struct ViaChain: Sendable {
    /// The maximum number of `via` rules in a chain.
    static let maximumLength = 8

    /// The name at the end of the chain; the queried name when no `via` rule applies.
    var target: HTTPDNSName
    /// The rule for the queried name.
    var first: IndexedRule?
    /// The rule for `target`, when it has one. It is never a `via` rule.
    var last: IndexedRule?
    /// The names in the chain, in order; the last is `target`.
    var names: [HTTPDNSName] = []
    /// The name that URL, SNI and certificate use, while every rule so far requires it.
    var identity: HTTPDNSName?
    /// The shortest time to live of the rules.
    var timeToLive: Duration?

    /// Follows the rules for a name on a port.
    ///
    /// Sets of rules are checked when they are created (``HTTPDNSMappings/init(_:)``), so a chain always ends. The limit here
    /// only makes that visible.
    init(from host: HTTPDNSName, port: UInt16, in rules: RuleIndex) {
        target = host
        first = rules.rule(for: host, port: port)
        last = first
        timeToLive = first?.mapping.timeToLive
        while case .via(let next, let usesTargetIdentity) = last?.mapping.action, names.count < ViaChain.maximumLength {
            // The identity in a later name's rule applies to requests for that name, so it counts only if the request's name
            // became that name.
            if usesTargetIdentity, names.isEmpty || identity == target { identity = next }
            names.append(next)
            target = next
            last = rules.rule(for: next, port: port)
            if let life = last?.mapping.timeToLive { timeToLive = timeToLive.map { min($0, life) } ?? life }
        }
    }

    /// Returns the mistake in the chain that begins at a `via` rule; nil when it ends within the limit on every port.
    static func fault(from key: HTTPDNSMapping.Key, to target: HTTPDNSName, in rules: RuleIndex) -> String? {
        var seen: Set<Place> = []
        if case .exact(let host) = key.pattern { seen.insert(Place(name: host, port: key.port)) }
        return fault(at: Place(name: target, port: key.port), after: [key.pattern.description], seen: seen, in: rules)
    }

    private struct Place: Hashable {
        var name: HTTPDNSName
        /// Nil while every rule so far was for all ports.
        var port: UInt16?
    }

    /// Returns the mistake in the chain from a rule.
    ///
    /// A rule for all ports can lead to rules for single ports: each such port is followed separately, and from there on the
    /// port is known.
    private static func fault(at place: Place, after way: [String], seen: Set<Place>, in rules: RuleIndex) -> String? {
        let way = way + [place.name.description]
        guard !seen.contains(place) else { return "its via rules go in a circle: \(way.joined(separator: " > "))" }
        guard way.count - 1 <= maximumLength else {
            return "its via rules make a chain of more than \(maximumLength): \(way.joined(separator: " > "))"
        }
        let ports: [UInt16?] = place.port.map { [$0] } ?? [nil] + rules.ports(for: place.name).sorted()
        for port in ports {
            guard case .via(let next, _) = rules.rule(for: place.name, port: port)?.mapping.action else { continue }
            let nextPlace = Place(name: next, port: port)
            if let fault = fault(at: nextPlace, after: way, seen: seen.union([place]), in: rules) { return fault }
        }
        return nil
    }
}
