package import HTTPDNSPrimitives
package import Logging

/// The counters, events and log of a resolver.
package final class ResolverObservation: Sendable {
    /// The counters.
    package let counting: ResolverCounting
    /// The events.
    package let broadcast = EventBroadcast()

    private let timeSource: any TimeSource
    private let log: EventLog?

    /// - Parameters:
    ///   - providers: The names of the providers, in the order of their numbers.
    ///   - logger: The logger; nil disables logging.
    package init(providers: [String], timeSource: any TimeSource, logger: Logger?) {
        counting = ResolverCounting(providers: providers)
        self.timeSource = timeSource
        log = logger.map(EventLog.init)
    }

    /// The public sequence of events.
    package var events: HTTPDNSResolver.Events { HTTPDNSResolver.Events(broadcast) }

    /// Returns whether a listener or the log would receive such an event.
    package func wants(_ kind: HTTPDNSResolver.Event.Kind) -> Bool {
        broadcast.hasListeners || log?.wants(kind) == true
    }

    /// Sends an event to listeners and log, and creates it only when one of them needs it.
    ///
    /// Never under a lock: the log handler is user code.
    /// - Parameter fill: Sets the fields of the event.
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
