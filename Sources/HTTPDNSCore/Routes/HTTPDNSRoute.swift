// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

public import HTTPDNSPrimitives

/// The providers and settings for the names of one pattern.
public struct HTTPDNSRoute: Hashable, Sendable {
    /// The behavior when no provider has a usable answer. The raw values are the words of the configuration file.
    public enum Fallback: String, Hashable, Sendable {
        /// The request fails: fail closed.
        case off = "none"
        /// The system resolver is queried.
        ///
        /// - While all providers are in back-off after failures, it is queried immediately.
        /// - While the providers' answers are overdue, it is queried after their hedge delay.
        /// - Otherwise it is queried after the providers' share of the time, or half of the call's own limit.
        case system
    }

    /// The action of the route for its names.
    public enum Action: Hashable, Sendable {
        /// Queries the system resolver, and no provider.
        case system
        /// Queries these providers, in this order.
        case providers([String], fallback: Fallback)
    }

    /// The order in which the providers of a route are queried.
    public enum Order: String, Hashable, Sendable, CaseIterable {
        /// The given order. Providers that fail or do not answer are last until they answer again.
        case given
        /// The provider with the lowest recent latency first.
        case fastest
    }

    /// The use of the providers' answers.
    public enum Mode: String, Hashable, Sendable, CaseIterable {
        /// The answers are used.
        case use
        /// The answers are compared with those of the system resolver, which are used.
        ///
        /// See ``HTTPDNSResolver/Counters/shadowAgreed``, ``HTTPDNSResolver/Counters/shadowDiffered``,
        /// ``HTTPDNSResolver/Counters/shadowFailed``. No request waits for the providers, and no request is sent to an address
        /// of theirs.
        case shadow
    }

    /// The names that the route covers.
    public var pattern: HTTPDNSRoute.Pattern
    /// The action of the route for its names.
    public var action: Action
    /// The families to query; nil means the resolver's own setting.
    public var families: HTTPDNSAddress.Families?
    /// The order in which its providers are queried.
    public var order: Order = .given
    /// The time past its time to live that an answer may be served while no newer one is available.
    ///
    /// Nil means the cache's setting; zero disables stale answers.
    public var staleLimit: Duration?
    /// The minimum time that a provider's positive answer is kept; nil means the cache's setting.
    public var minimumTimeToLive: Duration?
    /// The maximum time that a provider's positive answer is kept; nil means the cache's setting.
    public var maximumTimeToLive: Duration?
    /// The maximum time that a provider's negative answer is kept, from 1 s to 300 s; nil means 300 s.
    public var negativeTimeToLive: Duration?
    /// The zones in which unqualified names are looked up; nil looks up names as they are.
    ///
    /// For routes to providers of the kind ``HTTPDNSDNSProvider`` alone. A `*` route with it decides about internal names too.
    public var search: HTTPDNSSearchList?
    /// Whether the other providers are always queried before a negative answer is used; addresses from any of them win.
    ///
    /// If not, they are queried unless the provider has earned trust: one of its answers about its last 20 names had addresses,
    /// or was a negative answer that another provider confirmed. They are also queried for a name that had addresses within the
    /// stale limit.
    public var wantsSecondOpinion = false
    /// The client network that is sent to the providers (RFC 7871); nil sends none.
    public var clientSubnet: HTTPDNSAddressBlock?
    /// Whether records of type HTTPS are queried and followed (RFC 9460).
    public var usesHTTPSRecords = false
    /// Blocks of addresses that are allowed for its names from every source, in addition to those of the policy.
    public var allowed: [HTTPDNSAddressBlock] = []
    /// If not empty, the only blocks of addresses that its names may have; all other addresses are refused.
    public var only: [HTTPDNSAddressBlock] = []
    /// Whether the route is in use.
    ///
    /// If not, its names are resolved by the system resolver, and mappings are skipped too: the resolver's
    /// ``HTTPDNSResolver/KillSwitch`` has the route off, with the origin ``HTTPDNSResolver/KillSwitch/Origin/file``.
    public var isEnabled = true
    /// The share of the queries that the route applies to; nil means all.
    public var rollout: HTTPDNSRoute.Rollout?
    /// The use of the providers' answers.
    public var mode: Mode = .use
    /// Whether a client may connect to the addresses of the system resolver when all addresses it was given fail to connect.
    ///
    /// Nil follows the fallback: `system` allows it, `none` does not.
    public var connectFallback: Bool?
    /// The position of the route in its source.
    public var location: HTTPDNSSourceLocation?

    /// Creates a route.
    public init(
        _ pattern: HTTPDNSRoute.Pattern,
        _ action: Action,
        families: HTTPDNSAddress.Families? = nil,
        location: HTTPDNSSourceLocation? = nil
    ) {
        self.pattern = pattern
        self.action = action
        self.families = families
        self.location = location
    }
}

extension HTTPDNSRoute {
    /// Returns the scope that limits answers of the system resolver in place of the route's providers: the most public one
    /// among theirs.
    ///
    /// Otherwise an attacker could let a name fail at the providers alone, and so direct it into the network. Nil for a route
    /// without providers.
    /// - Parameter scope: A function that returns the scope of a provider by its name; an unknown one counts as public.
    package func fallbackScope(_ scope: (String) -> HTTPDNSAddressPolicy.Scope?) -> HTTPDNSAddressPolicy.Scope? {
        guard case .providers(let names, _) = action else { return nil }
        return names.map { scope($0) ?? .public }.min()
    }
}

extension HTTPDNSRoute {
    /// The names that a route or a mapping covers.
    public enum Pattern: Hashable, Sendable, CustomStringConvertible {
        /// Exactly this name.
        case exact(HTTPDNSName)
        /// Every name below this one, at any depth, but not the name itself: `*.shop.example`.
        case suffix(HTTPDNSName)
        /// Every name except the internal ones: `*`. For routes only.
        case any

        /// Parses `name`, `*.suffix` or `*`.
        /// - Throws: ``HTTPDNSName/Error``.
        public init(_ text: String) throws(HTTPDNSName.Error) {
            if text == "*" {
                self = .any
                return
            }
            guard text.hasPrefix("*.") else {
                self = .exact(try HTTPDNSName(text))
                return
            }
            do {
                self = .suffix(try HTTPDNSName(String(text.dropFirst(2))))
            } catch {
                throw HTTPDNSName.Error(text: text, reason: error.reason)
            }
        }

        /// The name of the pattern, or the one that all of its names are below.
        package var zone: HTTPDNSName? {
            switch self {
            case .exact(let name), .suffix(let name): name
            case .any: nil
            }
        }

        /// Returns whether the pattern covers a name, internal or not.
        package func contains(_ host: HTTPDNSName) -> Bool {
            switch self {
            case .exact(let name): name == host
            case .suffix(let zone): host.isBelow(zone)
            case .any: true
            }
        }

        /// The text form.
        public var description: String {
            switch self {
            case .exact(let name): name.description
            case .suffix(let name): "*.\(name)"
            case .any: "*"
            }
        }
    }
}
