// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

public import HTTPDNSPrimitives

extension HTTPDNSResolver {
    /// A query to a resolver.
    public struct Query: Hashable, Sendable {
        /// The host to connect to.
        public var host: HTTPDNSHost
        /// The URL's port.
        public var port: UInt16
        /// The endpoints that the request itself names; they win over all other sources. Empty means none.
        public var addresses: [HTTPDNSEndpoint] = []
        /// Whether mappings, routes, providers and the answers cached from them are skipped.
        ///
        /// The system resolver answers, and only its own answers are cached
        /// (``HTTPDNSResolver/Configuration/Cache/systemTimeToLive``). ``addresses``, literals and `localhost` are decided
        /// before it.
        public var usesSystemResolver = false
        /// The families allowed; nil means the setting of the route or the resolver.
        public var families: HTTPDNSAddress.Families?
        /// The client network that is sent with the lookup, for answers close to it (RFC 7871); nil means the route's setting.
        ///
        /// Answers for different networks are kept apart.
        public var clientSubnet: HTTPDNSAddressBlock?
        /// The key of the query in a rollout by key (``HTTPDNSRoute/Rollout/Stickiness/key``), such as a user's number; nil
        /// means the host's name.
        ///
        /// It affects nothing else, and is not stored.
        public var rolloutKey: String?
        /// The time limit of the query; nil means the resolver's setting, which is also the maximum.
        public var timeLimit: Duration?
        /// The time, on the resolver's clock, after which a cached answer must have been requested.
        ///
        /// An older answer is served only when a refresh fails. Mappings, literals and ``addresses`` are not affected.
        package var freshAfter: MonotonicTime?

        /// Creates a query for a host on a port.
        public init(_ host: HTTPDNSHost, port: UInt16) {
            self.host = host
            self.port = port
        }
    }
}

/// A lookup of a name: its key, route, families and settings.
struct UpstreamLookup: Sendable {
    /// The settings that the lookup uses until its end.
    var settings: ResolvingSettings
    var key: CacheKey
    /// The families that an answer may have.
    var families: HTTPDNSAddress.Families
    /// The families that providers are queried for: without IPv6 on a machine without an IPv6 route and without a setting.
    var queried: HTTPDNSAddress.Families
    /// Whether the lookup only adds families to an answer within its lifetime.
    var completesAnswer = false
    /// The route that decides; nil means the system resolver, because there is no route or the lookup is for the system alone.
    var route: HTTPDNSRoute?
    /// The reason that no provider is queried, when none is.
    var systemOnlyReason: SystemOnlyReason?
    /// The calls that wait for it; nil for a lookup that has the resolver's whole limit, or that no call waits for.
    var demand: LookupDemand?
    /// The name of the query that started it, if `via` rules led from there to ``host``.
    var queriedName: HTTPDNSName?

    var host: HTTPDNSName { key.host }

    /// The address policy for its answers, by the routes of ``host`` and ``queriedName``.
    ///
    /// Queries for both names share the answers, and each use is judged by the route of its own name. So only an answer that
    /// neither route allows is refused.
    var screen: AnswerScreen {
        let table = settings.routes
        var routes: [HTTPDNSRoute?] = [nil]
        if table.hasAddressRules {
            let names: [HTTPDNSName?] = [host, queriedName]
            routes = names.compactMap { $0 }.map { table.entry(for: $0)?.route }
        }
        return AnswerScreen(policy: settings.configuration.policy, routes: routes)
    }

    /// Whether the system resolver is the fallback of the providers.
    var hasFallback: Bool {
        guard systemOnlyReason == nil, case .providers(_, fallback: .system) = route?.action else { return false }
        return true
    }

    /// Returns whether an expired answer of the system resolver may be looked up there again while no provider may be
    /// queried.
    func mayReplace(_ answer: CachedAnswer) -> Bool { hasFallback && answer.origin?.source == .system }
}

/// The reason that the system resolver is queried and no provider.
enum SystemOnlyReason: Sendable {
    case request, mapping, route, internalName, noRoute, switchedOff, outsideRollout, shadow
}
