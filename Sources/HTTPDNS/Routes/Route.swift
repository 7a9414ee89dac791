public import HTTPDNSPrimitives

/// Who is asked about a name.
public struct Route: Hashable, Sendable {
    /// What happens when no provider has a usable answer.
    public enum Fallback: String, Hashable, Sendable {
        /// The request fails: fail closed.
        case none
        /// The system resolver is asked.
        case system
    }

    /// What the route says about its names.
    public enum Action: Hashable, Sendable {
        /// The system resolver, and no provider.
        case bypass
        /// These providers, in this order.
        case providers([String], fallback: Fallback)
    }

    /// The names that it is about.
    public var pattern: HostPattern
    /// What it says.
    public var action: Action
    /// The families asked for; nil means the resolver's own setting.
    public var families: AddressFamilies?
    /// Where it was written.
    public var location: SourceLocation?

    /// Creates a route.
    public init(
        _ pattern: HostPattern,
        _ action: Action,
        families: AddressFamilies? = nil,
        location: SourceLocation? = nil
    ) {
        self.pattern = pattern
        self.action = action
        self.families = families
        self.location = location
    }
}
