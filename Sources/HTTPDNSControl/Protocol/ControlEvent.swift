package import HTTPDNSCore
package import HTTPDNSPrimitives

/// An `HTTPDNSResolver.Event` for transmission through a socket. The members are those of `resolve-test watch --json`.
package struct ControlEvent: Codable, Hashable, Sendable {
    package var event: String
    package var host: String?
    package var route: String?
    package var provider: String?
    package var source: String?
    package var addresses: [String]
    package var previousAddresses: [String]
    package var elapsedSeconds: Double?
    package var durationSeconds: Double?
    package var code: String?
    package var message: String?
    package var count: Int?
    package var missedBefore: Int

    /// Creates the transmitted form of an event. It has no time, since the time is valid only on the resolver's clock: the
    /// event has just happened.
    package init(_ event: HTTPDNSResolver.Event) {
        self.event = event.kind.description
        host = event.host?.description
        route = event.route
        provider = event.provider
        source = event.source?.description
        addresses = event.addresses.map(\.description)
        previousAddresses = event.previousAddresses.map(\.description)
        elapsedSeconds = event.elapsed?.inSeconds
        durationSeconds = event.duration?.inSeconds
        code = event.code
        message = event.message
        count = event.count
        missedBefore = event.missedBefore
    }

    /// Returns the event, as far as this library supports its content; nil for unknown kinds.
    /// - Parameter time: The arrival time.
    package func resolverEvent(at time: MonotonicTime) -> HTTPDNSResolver.Event? {
        let word = event
        guard let kind = HTTPDNSResolver.Event.Kind.all.first(where: { $0.description == word }) else { return nil }
        var event = HTTPDNSResolver.Event(kind, at: time)
        event.host = host.flatMap { try? HTTPDNSName($0) }
        event.route = route
        event.provider = provider
        event.source = source.flatMap { word in HTTPDNSResolver.Resolution.Source.all.first { $0.description == word } }
        event.addresses = addresses.compactMap { HTTPDNSAddress($0) }
        event.previousAddresses = previousAddresses.compactMap { HTTPDNSAddress($0) }
        event.elapsed = elapsedSeconds.map { .seconds($0) }
        event.duration = durationSeconds.map { .seconds($0) }
        event.code = code
        event.message = message
        event.count = count
        event.missedBefore = missedBefore
        return event
    }
}
