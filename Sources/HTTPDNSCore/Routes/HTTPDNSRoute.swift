public import HTTPDNSPrimitives

/// Who is asked about a name.
public struct HTTPDNSRoute: Hashable, Sendable {
    /// What happens when no provider has a usable answer.
    public enum Fallback: String, Hashable, Sendable {
        /// The request fails: fail closed.
        case none
        /// The system resolver is asked: immediately while all providers rest after failures, after their hedge delay while
        /// they owe answers, else after their share of the time, or half of the call's own limit.
        case system
    }

    /// What the route says about its names.
    public enum Action: Hashable, Sendable {
        /// The system resolver, and no provider.
        case bypass
        /// These providers, in this order.
        case providers([String], fallback: Fallback)
    }

    /// In which order the providers of a route are asked.
    public enum Order: String, Hashable, Sendable, CaseIterable {
        /// As written; those that fail or keep silent come last until they answer again.
        case given
        /// The one that answered fastest of late comes first.
        case fastest
    }

    /// What becomes of the providers' answers.
    public enum Mode: String, Hashable, Sendable, CaseIterable {
        /// They are used.
        case use
        /// They are compared with what the system resolver says, which is used: ``HTTPDNSResolver/Counters/shadowAgreed``,
        /// ``HTTPDNSResolver/Counters/shadowDiffered``, ``HTTPDNSResolver/Counters/shadowFailed``. No request waits for them,
        /// and none goes to an address of theirs.
        case shadow
    }

    /// The names that it is about.
    public var pattern: HTTPDNSRoute.Pattern
    /// What it says.
    public var action: Action
    /// The families asked for; nil means the resolver's own setting.
    public var families: HTTPDNSAddress.Families?
    /// In which order its providers are asked.
    public var order: Order = .given
    /// How long past its time to live an answer may serve while nothing newer is to be had; nil means the cache's setting,
    /// zero never.
    public var staleLimit: Duration?
    /// Whether the other providers are always asked before a negative answer is used; addresses from any of them win.
    ///
    /// If not, they are asked unless the answer is earned: one of the provider's answers about its last 20 names had
    /// addresses, or was a negative answer that another provider confirmed. They are also asked about a name that had
    /// addresses within the stale limit.
    public var wantsSecondOpinion = false
    /// The network on whose behalf the providers are asked (RFC 7871); nil says nothing about anyone.
    public var clientSubnet: HTTPDNSAddressBlock?
    /// Whether records of type HTTPS are asked for and followed (RFC 9460).
    public var usesServices = false
    /// Blocks of addresses that its names may have whoever says so, besides those of the policy.
    public var allowed: [HTTPDNSAddressBlock] = []
    /// If not empty, the only blocks of addresses that its names may have; all other addresses are refused.
    public var only: [HTTPDNSAddressBlock] = []
    /// Whether its names are resolved by it at all. If not, they take the system path, past mappings too: the resolver's
    /// ``HTTPDNSResolver/KillSwitch`` has the route off, as said by ``HTTPDNSResolver/KillSwitch/Origin/file``.
    public var isEnabled = true
    /// Which share of the questions it is for; nil means all.
    public var rollout: HTTPDNSRoute.Rollout?
    /// What becomes of the providers' answers.
    public var mode: Mode = .use
    /// Whether a client may connect to the addresses of the system resolver when none of those it was given can be
    /// connected to; nil means as the fallback says: with `system` it may, with `none` not.
    public var connectFallback: Bool?
    /// Where it was written.
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
    /// The scope that limits answers of the system resolver in place of the route's providers: the most public one among
    /// theirs. Otherwise an attacker who makes a name's answers fail at the providers alone could lead it into the network.
    /// Nil for a route without providers.
    /// - Parameter scope: The scope of a provider by its name; an unknown one counts as public.
    package func fallbackScope(_ scope: (String) -> HTTPDNSAddressPolicy.Scope?) -> HTTPDNSAddressPolicy.Scope? {
        guard case .providers(let names, _) = action else { return nil }
        return names.map { scope($0) ?? .public }.min()
    }
}
