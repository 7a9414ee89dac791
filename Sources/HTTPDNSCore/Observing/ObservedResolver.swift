/// What can be watched at work: a resolver, or whatever stands for one or several of them.
public protocol ObservedResolver: Sendable {
    /// What it did up to now.
    var counters: ResolverCounters { get }
    /// What happens to it from now on.
    var events: ResolverEvents { get }
    /// How it stands now.
    var condition: ResolverCondition { get }
}
