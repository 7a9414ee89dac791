internal import HTTPDNSCore
internal import HTTPDNSPrimitives

/// The reason that a request has no result: the value of `error` in the reply.
package struct ControlFault: Error, Hashable, Sendable {
    /// The kind of fault as a short identifier.
    package struct Code: Hashable, Sendable, CustomStringConvertible {
        /// The identifier.
        package let description: String

        /// Creates a code from a reply, which may be newer than this library.
        package init(description: String) { self.description = description }

        /// The line is not a request: no JSON, no object, a member missing or of the wrong type.
        package static let badRequest = Code(description: "bad-request")
        /// The line is longer than the limit for requests.
        package static let lineTooLong = Code(description: "line-too-long")
        /// The request has a version that this library does not support.
        package static let unsupportedVersion = Code(description: "unsupported-version")
        /// The command does not exist.
        package static let unknownCommand = Code(description: "unknown-command")
        /// No route has this pattern.
        package static let unknownRoute = Code(description: "unknown-route")
        /// The connection has a watch already.
        package static let alreadyWatching = Code(description: "already-watching")
        /// The reply would be longer than the limit for replies.
        package static let replyTooLong = Code(description: "reply-too-long")
        /// The limit on connections is reached.
        package static let tooManyConnections = Code(description: "too-many-connections")
        /// There was no request for too long.
        package static let idle = Code(description: "idle")
        /// The peer is neither the service's own user nor root.
        package static let notPermitted = Code(description: "not-permitted")
        /// The client is shut down.
        package static let shutDown = Code(description: "shut-down")
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
