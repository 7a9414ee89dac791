// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

package import HTTPDNSCore
internal import HTTPDNSPrimitives

/// The constants of the control protocol. Docs/Operations/ControlProtocol.md describes it.
package enum ControlProtocol {
    /// The version in requests and replies.
    package static let version = 1
    /// The maximum length of a request line, without its line feed: enough for a thousand names.
    package static let maximumLine = 64 * 1024
    /// The maximum length of a reply line: two thousand answers with all of their fields.
    package static let maximumReply = 8 * 1024 * 1024
    /// The maximum number of concurrent connections: enough for operators and a collector or two. More indicate a mistake in a
    /// script.
    package static let maximumConnections = 8
    /// The maximum number of unsent bytes of a connection.
    static let maximumBacklog = maximumReply + 1024 * 1024
    /// The time that a reader may leave waiting data unread.
    static let readerPatience = Duration.seconds(10)
    /// The time that a connection may be open without a request.
    static let idleLimit = Duration.seconds(60)
    /// The maximum number of names in one refresh: providers bill queries, and have other work.
    static let maximumRefresh = 1000
    /// The allowed interval between two snapshots of a watch, in seconds.
    package static let watchInterval = 0.2...60.0
}

/// The reason that a request has no result: the value of `error` in the reply.
package struct ControlFault: Error, Codable, Hashable, Sendable {
    /// The kind of fault as a short identifier.
    package struct Code: RawRepresentable, Codable, Hashable, Sendable {
        /// The identifier.
        package let rawValue: String

        /// Creates a code from a reply, which may be newer than this library.
        package init(rawValue: String) { self.rawValue = rawValue }

        /// The line is not a request: no JSON, no object, a member missing or of the wrong type.
        package static let badRequest = Code(rawValue: "bad-request")
        /// The line is longer than the limit for requests.
        package static let lineTooLong = Code(rawValue: "line-too-long")
        /// The request has a version that this library does not support.
        package static let unsupportedVersion = Code(rawValue: "unsupported-version")
        /// The command does not exist.
        static let unknownCommand = Code(rawValue: "unknown-command")
        /// No route has this pattern.
        package static let unknownRoute = Code(rawValue: "unknown-route")
        /// The service gave the control socket no traffic monitor.
        static let noMonitor = Code(rawValue: "no-monitor")
        /// The connection has a watch already.
        static let alreadyWatching = Code(rawValue: "already-watching")
        /// The reply would be longer than the limit for replies.
        package static let replyTooLong = Code(rawValue: "reply-too-long")
        /// The limit on connections is reached.
        static let tooManyConnections = Code(rawValue: "too-many-connections")
        /// There was no request for too long.
        package static let idle = Code(rawValue: "idle")
        /// The peer is neither the service's own user nor root.
        package static let notPermitted = Code(rawValue: "not-permitted")
        /// The client is shut down.
        package static let shutDown = Code(rawValue: "shut-down")
    }

    /// The kind of fault.
    package var code: Code
    /// The mistake, on one line.
    package var message: String
    /// The suggested action.
    package var hint: String?

    package init(_ code: Code, _ message: String, hint: String? = nil) {
        self.code = code
        self.message = message
        self.hint = hint
    }
}

extension ControlFault {
    /// The fault for a request of records without a monitor.
    static var noMonitor: ControlFault {
        ControlFault(
            .noMonitor,
            "the service records no calls for its control socket",
            hint: "open it with a monitor: HTTPDNSControlSocket(client:path:monitor:)"
        )
    }

    /// Returns the fault for a turn of the switch for a pattern without a route.
    /// - Parameter routes: The existing patterns.
    static func unknownRoute(_ pattern: HTTPDNSRoute.Pattern, routes: [String]) -> ControlFault {
        let listed = routes.prefix(20).joined(separator: ", ") + (routes.count > 20 ? ", ..." : "")
        return ControlFault(
            .unknownRoute,
            "no route has the pattern \"\(pattern)\"",
            hint: routes.isEmpty ? "there are no routes" : "routes are: \(listed)"
        )
    }
}

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
    package func resolverEvent(at time: ContinuousClock.Instant) -> HTTPDNSResolver.Event? {
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
