package import HTTPDNSPrimitives
package import Logging

/// Everything that a resolver is watched through: its counters, its events, and its log.
package final class ResolverObservation: Sendable {
    /// The counters.
    package let counting: ResolverCounting
    /// The events.
    package let broadcast = EventBroadcast()

    private let timeSource: any TimeSource
    private let log: EventLog?

    /// - Parameters:
    ///   - providers: The names of the providers, in the order of their numbers.
    ///   - logger: Where log lines go; nil means nowhere.
    package init(providers: [String], timeSource: any TimeSource, logger: Logger?) {
        counting = ResolverCounting(providers: providers)
        self.timeSource = timeSource
        log = logger.map(EventLog.init)
    }

    /// What a user listens to.
    package var events: HTTPDNSResolver.Events { HTTPDNSResolver.Events(broadcast) }

    /// Whether somebody would be told about such an event.
    package func wants(_ kind: HTTPDNSResolver.Event.Kind) -> Bool {
        broadcast.hasListeners || log?.wants(kind) == true
    }

    /// Tells listeners and log of an event; it is made only when one of them wants it. Never under a lock: what a logger
    /// does is a user's code.
    /// - Parameter fill: Adds what is known about it.
    package func tell(_ kind: HTTPDNSResolver.Event.Kind, _ fill: (inout HTTPDNSResolver.Event) -> Void = { _ in }) {
        guard wants(kind) else { return }
        var event = HTTPDNSResolver.Event(kind, at: timeSource.now())
        fill(&event)
        broadcast.send(event)
        log?.write(event)
    }

    /// Ends the iterations of all listeners. Idempotent.
    package func end() { broadcast.end() }
}
