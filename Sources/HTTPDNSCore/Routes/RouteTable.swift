// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

internal import HTTPDNSPrimitives

/// The routes, indexed for lookup: exact name, then the longest suffix, then `*`.
package struct RouteTable: Sendable {
    /// A route with the counters of queries for its names.
    package struct Entry: Sendable {
        package var route: HTTPDNSRoute
        let counting: RouteCounting
        let coversOnlyInternalNames: Bool
    }

    private var exact: [HTTPDNSName: Entry] = [:]
    private var suffixes: [Substring: Entry] = [:]
    private var any: Entry?
    /// Internal zones, in addition to those that are always internal.
    private let internalZones: Set<Substring>
    /// Whether a route restricts or extends the addresses of its names.
    private(set) var hasAddressRules = false
    /// Whether a route has a rollout or is in shadow mode.
    private(set) var hasModes = false
    /// The counters of queries for names without a route.
    private let unrouted: RouteCounting

    /// - Parameters:
    ///   - nameServers: The providers of kind ``HTTPDNSDNSProvider``: internal names and search lists are for them alone.
    ///   - counting: A function that returns the counters of a route; nil means names without a route.
    /// - Throws: ``HTTPDNSResolver/ConfigurationError`` when a route names an unknown provider, or one twice, or none without
    ///   a fallback, when two routes have one pattern, or when a route could never apply.
    package init(
        _ routes: [HTTPDNSRoute],
        providerNames: [String],
        nameServers: Set<String> = [],
        internalZones: [HTTPDNSName] = [],
        counting: (HTTPDNSRoute.Pattern?) -> RouteCounting = { _ in RouteCounting() }
    ) throws(HTTPDNSResolver.ConfigurationError) {
        unrouted = counting(nil)
        self.internalZones = Set(internalZones.map { $0.description[...] })
        for route in routes {
            if let message = RouteTable.fault(of: route, providerNames: providerNames, nameServers: nameServers) {
                throw HTTPDNSResolver.ConfigurationError(
                    message: "route \"\(route.pattern)\": \(message)",
                    location: route.location
                )
            }
            let entry = Entry(
                route: route,
                counting: counting(route.pattern),
                coversOnlyInternalNames: route.action != .system && route.pattern.zone?.coversOnlyInternalNames == true
            )
            if !route.allowed.isEmpty || !route.only.isEmpty { hasAddressRules = true }
            if route.rollout != nil || route.mode != .use { hasModes = true }
            let earlier: Entry?
            switch route.pattern {
            case .exact(let name): earlier = exact.updateValue(entry, forKey: name)
            case .suffix(let name): earlier = suffixes.updateValue(entry, forKey: name.description[...])
            case .any: (earlier, any) = (any, entry)
            }
            if let earlier {
                let place = earlier.route.location.map { ", first at \($0)" } ?? ""
                throw HTTPDNSResolver.ConfigurationError(
                    message: "route \"\(route.pattern)\" stands there twice\(place); keep one",
                    location: route.location
                )
            }
        }
    }

    /// Returns the route that decides about a name; nil means the system resolver.
    ///
    /// Exact routes decide about internal names, routes to name servers for a zone that has internal names alone, and a `*` route
    /// with a search list. For names in an internal zone, or below no top-level domain, routes for the zone or a part of it decide as
    /// well.
    package func entry(for host: HTTPDNSName) -> Entry? {
        if let entry = exact[host] { return entry }
        guard any != nil || !suffixes.isEmpty else { return nil }
        let searching = any?.route.search == nil ? nil : any
        if host.isInternal || internalZones.contains(host.description[...]) {
            guard host.isInternal else { return searching }
            let zone = host.zonesAbove.first { suffixes[$0]?.coversOnlyInternalNames == true }
            return zone.flatMap { suffixes[$0] } ?? searching
        }
        for zone in host.zonesAbove {
            if let entry = suffixes[zone] { return entry }
            if isInternal(zone) { return searching }
        }
        return any
    }

    /// Returns whether only a route that names it, or its zone, could send a name to a provider.
    func isInternal(_ host: HTTPDNSName) -> Bool {
        host.isInternal || isInternal(host.description[...]) || host.zonesAbove.contains(where: isInternal)
    }

    /// Returns the last label of a name that the route for all names does not decide about, only because the label is in no
    /// list of top-level domains; nil for other names. It may be a domain that is newer than the list.
    func unknownTopLevelDomain(of host: HTTPDNSName) -> Substring? {
        guard any != nil, !host.isInternal, let zone = Array(host.zonesAbove).last,
            !zone.utf8.contains(UInt8(ascii: ".")), suffixes[zone] == nil, !RootZone.contains(zone),
            !internalZones.contains(host.description[...]), !host.zonesAbove.contains(where: internalZones.contains)
        else { return nil }
        return zone
    }

    private func isInternal(_ zone: Substring) -> Bool {
        internalZones.contains(zone) || !zone.utf8.contains(UInt8(ascii: ".")) && !RootZone.contains(zone)
    }

    /// Returns the counters of queries for the names of a route; for nil, those of names without one.
    func counting(of pattern: HTTPDNSRoute.Pattern?) -> RouteCounting {
        let entry: Entry?
        switch pattern {
        case .exact(let name): entry = exact[name]
        case .suffix(let name): entry = suffixes[name.description[...]]
        case .any: entry = any
        case nil: entry = nil
        }
        return entry?.counting ?? unrouted
    }

    private static func fault(
        of route: HTTPDNSRoute,
        providerNames: [String],
        nameServers: Set<String>
    ) -> String? {
        if let families = route.families, families.intersection(.both).isEmpty {
            return "it allows no family of addresses; allow IPv4, IPv6 or both, or leave families out"
        }
        if let fault = route.rollout?.fault { return fault }
        for (word, time) in [("minimum", route.minimumTimeToLive), ("maximum", route.maximumTimeToLive)] {
            if let time, time < .zero { return "its \(word) time to live is negative" }
        }
        if let least = route.minimumTimeToLive, let most = route.maximumTimeToLive, least > most {
            return "its minimum time to live is above its maximum"
        }
        if let limit = route.negativeTimeToLive, !Lifetimes.negative.contains(limit) {
            return "its limit for negative answers is not from 1 s to 300 s"
        }
        if let limit = route.staleLimit, limit < .zero { return "its stale limit is negative; zero means never" }
        guard case .providers(let names, let fallback) = route.action else { return nil }
        if let refusal = route.pattern.zone?.refusalOfRules { return refusal }
        let other = names.first { !nameServers.contains($0) }
        if route.search != nil, let other {
            return "it has a search list, which is for name servers alone, and \"\(other)\" is no provider of kind dns"
        }
        if case .suffix(let zone) = route.pattern, zone.coversOnlyInternalNames, other != nil {
            return
                "names below \(zone) are internal and go to a provider other than kind dns only by a route that names them "
                + "exactly; write such routes, or mappings, or system"
        }
        if names.isEmpty, fallback == .off {
            return "it names no provider and has no fallback; name one, or use system"
        }
        var seen: Set<String> = []
        for name in names {
            guard providerNames.contains(name) else {
                let known =
                    providerNames.isEmpty ? "none is defined" : "defined are \(providerNames.joined(separator: ", "))"
                return "there is no provider \"\(name.escaped(limit: 80))\"; \(known)"
            }
            guard seen.insert(name).inserted else { return "it names the provider \"\(name)\" twice; keep one" }
        }
        return nil
    }
}
