/// What can be watched at work: a resolver, or whatever stands for one or several of them.
public protocol ObservedResolver: Sendable {
    /// What it did up to now.
    var counters: HTTPDNSResolver.Counters { get }
    /// What happens to it from now on.
    var events: HTTPDNSResolver.Events { get }
    /// How it stands now.
    var condition: HTTPDNSResolver.Status { get }
}
