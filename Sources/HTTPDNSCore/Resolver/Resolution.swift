// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

public import HTTPDNSPrimitives

extension HTTPDNSResolver {
    /// The addresses of a host, and their source.
    ///
    /// A resolution from the cache or from a mapping refers to the data kept there. Its lists and texts are created when they
    /// are read.
    public struct Resolution: Sendable {
        /// The source of the addresses.
        public struct Source: Hashable, Sendable, CustomStringConvertible {
            private enum Word: UInt8, CaseIterable {
                case request, mapping, provider, system, literal, lastResort, proxy, unixSocket
            }

            private let word: Word

            /// The request itself (``HTTPDNSResolver/Query/addresses``).
            public static var request: Source { Source(word: .request) }
            /// A rule of the mappings.
            public static var mapping: Source { Source(word: .mapping) }
            /// An HTTP-DNS provider, directly or through the cache.
            public static var provider: Source { Source(word: .provider) }
            /// The system resolver.
            public static var system: Source { Source(word: .system) }
            /// An address literal in the URL, or `localhost`.
            public static var literal: Source { Source(word: .literal) }
            /// A mapping rule of last resort, after all other sources had no address.
            public static var lastResort: Source { Source(word: .lastResort) }
            /// None: the proxy receives the name, and looks it up. There are no addresses.
            public static var proxy: Source { Source(word: .proxy) }
            /// None: the request is sent to a Unix socket. There are no addresses.
            public static var unixSocket: Source { Source(word: .unixSocket) }

            /// All sources.
            package static let all = Word.allCases.map(Source.init(word:))

            /// The identifier in JSON and logs.
            public var description: String {
                switch word {
                case .request: "request"
                case .mapping: "mapping"
                case .provider: "provider"
                case .system: "system"
                case .literal: "literal"
                case .lastResort: "last-resort"
                case .proxy: "proxy"
                case .unixSocket: "unix-socket"
                }
            }
        }

        enum Content: Sendable {
            case cached(CachedAnswer, port: UInt16)
            case mapped(IndexedRule, isReversed: Bool, port: UInt16)
            case given([HTTPDNSEndpoint])
        }

        var content: Content
        private var details: ResolutionDetails?
        /// Nanoseconds; `Int64.max` means no expiry.
        private var life: Int64 = .max
        private var ageNanoseconds: Int64 = 0
        private var elapsedNanoseconds: Int64 = 0
        /// The generation of the mappings and of the resolver's settings at that time.
        public var generation: UInt64 = 0
        /// The reason that the system resolver was queried, unless the name's route decided it.
        var reason: SystemOnlyReason?
        /// The source of the addresses.
        public var source: Source
        /// Whether the addresses were cached.
        public var isCached = false
        /// Whether the addresses are past their time to live.
        public var isStale = false
        /// Whether ``offers`` limits the versions of a connection: one comparison for each request without HTTPS records.
        package internal(set) var limitsVersions = false
        /// Whether a family is missing because its lookup was still in flight (RFC 8305 section 3); see
        /// ``HTTPDNSResolver/completedResolution(for:)``.
        package internal(set) var awaitsFamily = false

        /// Creates a resolution.
        public init(endpoints: [HTTPDNSEndpoint], source: Source) {
            content = .given(endpoints)
            self.source = source
        }

        init(_ content: Content, source: Source, life: Int64, age: Int64) {
            self.content = content
            self.source = source
            self.life = life
            ageNanoseconds = age
        }

        /// Creates a resolution from a prepared mapping rule.
        init(_ rule: IndexedRule, isReversed: Bool, port: UInt16, generation: UInt64) {
            content = .mapped(rule, isReversed: isReversed, port: port)
            source = .mapping
            life = rule.life
            self.generation = generation
        }

        /// The endpoints to connect to, in the order to try, allowed by the address policy.
        ///
        /// Empty only for ``Source/proxy`` and ``Source/unixSocket``.
        public var endpoints: [HTTPDNSEndpoint] {
            get {
                switch content {
                case .given(let endpoints): endpoints
                case .cached(let answer, let port): answer.endpoints(port: port)
                case .mapped(let rule, let isReversed, let port): rule.endpoints(isReversed: isReversed, port: port)
                }
            }
            set {
                details = ResolutionDetails(fields)
                content = .given(newValue)
            }
        }

        /// The time since the addresses were requested.
        public var age: Duration {
            get { .nanoseconds(ageNanoseconds) }
            set { ageNanoseconds = newValue.wholeNanoseconds }
        }

        /// The remaining lifetime; nil means no expiry.
        public var timeToLive: Duration? {
            get { life == .max ? nil : .nanoseconds(life) }
            set { life = newValue?.wholeNanoseconds ?? .max }
        }

        /// ``timeToLive`` in nanoseconds; `Int64.max` means no expiry.
        package var nanosecondsLeft: Int64 { life }

        /// The duration of the resolution.
        public var elapsed: Duration {
            get { .nanoseconds(elapsedNanoseconds) }
            set { elapsedNanoseconds = newValue.wholeNanoseconds }
        }

        /// The provider's name, for ``Source/provider``.
        public var provider: String? {
            get { details.map(\.fields.provider) ?? cached?.origin?.provider }
            set { change { $0.provider = newValue } }
        }

        /// The name at the end of the alias chain, when it differs from the queried name.
        public var canonicalName: HTTPDNSName? {
            get { details.map(\.fields.canonicalName) ?? cached?.header.details?.fields.canonicalName }
            set { change { $0.canonicalName = newValue } }
        }

        /// The reasons of the provider's server for its answer (RFC 8914), such as Stale Answer.
        public var extendedErrors: [HTTPDNSExtendedError] {
            cached?.header.details?.fields.extendedErrors ?? []
        }

        /// The name that URL, SNI and certificate use because of a `via` rule with `keep: [host]`; nil in all other cases.
        public var identity: HTTPDNSName? {
            get { details?.fields.identity }
            set { change { $0.identity = newValue } }
        }

        /// The mapping that decided, and the chain of `via` names behind it.
        public var mapping: HTTPDNSResolver.AppliedMapping? {
            get { details.map(\.fields.mapping) ?? rule?.applied }
            set { change { $0.mapping = newValue } }
        }

        /// Whether there is a ``mapping``.
        package var isMapped: Bool { details.map { $0.fields.mapping != nil } ?? (rule != nil) }

        /// The route that decided.
        public var route: HTTPDNSRoute? {
            get { details.map(\.fields.route) ?? cached?.origin?.route }
            set { change { $0.route = newValue } }
        }

        /// The providers that failed before another one answered, and their failures.
        public var failedAttempts: [HTTPDNSResolver.ProviderAttempt] {
            get { details.map(\.fields.failedAttempts) ?? cached?.header.details?.fields.failedAttempts ?? [] }
            set { change { $0.failedAttempts = newValue } }
        }

        /// The protocols that the HTTPS record behind the first endpoint offers (RFC 9460), as ALPN identifiers.
        ///
        /// Empty when no such record was used.
        public var applicationProtocols: [String] {
            get {
                if let details { return details.fields.applicationProtocols }
                guard case .cached(let answer, ServiceRoute.port) = content else { return [] }
                return answer.httpsRecords?.applicationProtocols ?? []
            }
            set { change { $0.applicationProtocols = newValue } }
        }

        /// The versions that HTTPS records offer at endpoints where they do not offer all (RFC 9460 section 7.1); nil when no
        /// record limits them.
        package var offers: [HTTPDNSEndpoint: OfferedVersions]? {
            guard limitsVersions else { return nil }
            return cached.map { $0.httpsRecords?.offers ?? [:] } ?? details?.fields.offers
        }

        /// The reason that mappings or providers were skipped; nil when they were not.
        public var systemReason: SystemReason? {
            if let reason { return SystemReason(reason) }
            guard source == .system else { return nil }
            guard let route else { return SystemReason(.noRoute) }
            return route.action == .system ? SystemReason(.route) : nil
        }

        /// Whether the system resolver answered instead of the providers of ``route``.
        package var isFallback: Bool {
            guard source == .system, reason == nil, case .providers? = route?.action else { return false }
            return true
        }

        /// Returns an answer of the system resolver as one instead of the providers of a route.
        package func inPlaceOfProviders(of route: HTTPDNSRoute) -> HTTPDNSResolver.Resolution {
            var resolution = self
            resolution.route = route
            resolution.reason = nil
            return resolution
        }

        /// The kill switch entry for the name, where ``systemReason`` is ``SystemReason/switchedOff``.
        public internal(set) var switchedOff: HTTPDNSResolver.KillSwitch.Entry? {
            get { details?.fields.switchedOff }
            set { change { $0.switchedOff = newValue } }
        }

        private var cached: CachedAnswer? {
            if case .cached(let answer, _) = content { answer } else { nil }
        }

        private var rule: IndexedRule? {
            if case .mapped(let rule, _, _) = content { rule } else { nil }
        }

        /// The current details, wherever they are stored.
        private var fields: ResolutionDetails.Fields {
            var fields =
                details?.fields
                ?? ResolutionDetails.Fields(
                    provider: provider,
                    canonicalName: canonicalName,
                    mapping: mapping,
                    route: route,
                    failedAttempts: failedAttempts,
                    applicationProtocols: applicationProtocols
                )
            if limitsVersions { fields.offers = offers }
            return fields
        }

        /// Records the mapping rules that led to the name.
        mutating func note(_ mappingTrace: MappingTrace) {
            change { ($0.mapping, $0.identity) = (mappingTrace.mapping, mappingTrace.identity) }
        }

        private mutating func change(_ body: (inout ResolutionDetails.Fields) -> Void) {
            var changed = fields
            body(&changed)
            details = ResolutionDetails(changed)
        }
    }
}

extension HTTPDNSResolver.Resolution: Hashable {
    /// Returns whether both have equal content, wherever it is stored.
    public static func == (left: HTTPDNSResolver.Resolution, right: HTTPDNSResolver.Resolution) -> Bool {
        left.endpoints == right.endpoints && left.source == right.source && left.isCached == right.isCached
            && left.isStale == right.isStale && left.generation == right.generation && left.life == right.life
            && left.ageNanoseconds == right.ageNanoseconds && left.elapsedNanoseconds == right.elapsedNanoseconds
            && left.fields == right.fields && left.systemReason == right.systemReason
    }

    /// Hashes endpoints and source.
    public func hash(into hasher: inout Hasher) {
        hasher.combine(endpoints)
        hasher.combine(source)
    }
}

extension HTTPDNSResolver.Resolution {
    /// The reason that mappings or providers were skipped and the system resolver was used.
    public struct SystemReason: Hashable, Sendable, CustomStringConvertible {
        private let reason: SystemOnlyReason

        init(_ reason: SystemOnlyReason) { self.reason = reason == .internalName ? .noRoute : reason }

        /// The request set ``HTTPDNSResolver/Query/usesSystemResolver``.
        public static var request: SystemReason { SystemReason(.request) }
        /// A mapping rule for the name is ``HTTPDNSMapping/system``.
        public static var mapping: SystemReason { SystemReason(.mapping) }
        /// The route of the name is ``HTTPDNSRoute/Action/system``.
        public static var route: SystemReason { SystemReason(.route) }
        /// No route covers the name.
        public static var noRoute: SystemReason { SystemReason(.noRoute) }
        /// The ``HTTPDNSResolver/KillSwitch`` has turned the name off.
        public static var switchedOff: SystemReason { SystemReason(.switchedOff) }
        /// The query is outside its route's ``HTTPDNSRoute/Rollout``.
        public static var outsideRollout: SystemReason { SystemReason(.outsideRollout) }
        /// The route is in ``HTTPDNSRoute/Mode/shadow`` mode.
        public static var shadow: SystemReason { SystemReason(.shadow) }

        /// A short identifier for logs and JSON.
        public var description: String {
            switch reason {
            case .request: "request"
            case .mapping: "mapping"
            case .route: "route"
            case .noRoute, .internalName: "no-route"
            case .switchedOff: "switched-off"
            case .outsideRollout: "outside-rollout"
            case .shadow: "shadow"
            }
        }
    }
}

extension HTTPDNSResolver {
    /// The mapping behind a resolution: its key, its position, and its effect.
    public struct AppliedMapping: Hashable, Sendable {
        /// The rule's key.
        public var key: HTTPDNSMapping.Key
        /// The layer of the rule: the base (the file) or the overlay (``HTTPDNSMappingStore/apply(_:)``).
        public var origin: HTTPDNSMapping.Origin
        /// The position of the rule in its source.
        public var location: HTTPDNSSourceLocation?
        /// All targets of the rule, or of the rule that `via` led to, with their weights.
        ///
        /// Empty for `system`, for `via` to a name without addresses of its own, and for last resorts that are not needed.
        public var targets: [HTTPDNSMapping.Target]
        /// The names that `via` rules led through, in order.
        public var via: [HTTPDNSName]

        /// Creates a record of a mapping.
        public init(
            key: HTTPDNSMapping.Key,
            origin: HTTPDNSMapping.Origin = .base,
            location: HTTPDNSSourceLocation?,
            targets: [HTTPDNSMapping.Target] = [],
            via: [HTTPDNSName] = []
        ) {
            self.key = key
            self.origin = origin
            self.location = location
            self.targets = targets
            self.via = via
        }
    }
}

/// The details of a resolution other than its addresses and times.
///
/// They are behind one reference, so that resolutions are cheap to pass on.
final class ResolutionDetails: Sendable {
    struct Fields: Hashable, Sendable {
        var provider: String?
        var canonicalName: HTTPDNSName?
        var identity: HTTPDNSName?
        var mapping: HTTPDNSResolver.AppliedMapping?
        var route: HTTPDNSRoute?
        var failedAttempts: [HTTPDNSResolver.ProviderAttempt] = []
        var applicationProtocols: [String] = []
        var offers: [HTTPDNSEndpoint: OfferedVersions]?
        var switchedOff: HTTPDNSResolver.KillSwitch.Entry?
    }

    let fields: Fields

    init(_ fields: Fields) { self.fields = fields }
}
