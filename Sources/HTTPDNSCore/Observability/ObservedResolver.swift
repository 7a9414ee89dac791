/// A source of counters, events and status: a resolver, or a type that represents one or several resolvers.
public protocol ObservedResolver: Sendable {
    /// The counters up to now.
    var counters: HTTPDNSResolver.Counters { get }
    /// The events from now on.
    var events: HTTPDNSResolver.Events { get }
    /// The present status.
    var condition: HTTPDNSResolver.Status { get }
}
