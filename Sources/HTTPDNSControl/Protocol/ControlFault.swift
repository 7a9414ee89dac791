internal import HTTPDNSCore
internal import HTTPDNSPrimitives

/// Why a request got no result: what stands behind `error` in the reply.
package struct ControlFault: Error, Hashable, Sendable {
    /// The kind of fault in a short word.
    package struct Code: Hashable, Sendable, CustomStringConvertible {
        /// The word.
        package let description: String

        /// For codes out of replies, which may be newer than this library.
        package init(description: String) { self.description = description }

        /// The line is not a request: no JSON, no object, a member missing or of another kind.
        package static let badRequest = Code(description: "bad-request")
        /// The line is longer than a request may be.
        package static let lineTooLong = Code(description: "line-too-long")
        /// The request is of a version that this library does not speak.
        package static let unsupportedVersion = Code(description: "unsupported-version")
        /// There is no such command.
        package static let unknownCommand = Code(description: "unknown-command")
        /// No route has this pattern.
        package static let unknownRoute = Code(description: "unknown-route")
        /// The connection watches already.
        package static let alreadyWatching = Code(description: "already-watching")
        /// The reply would be longer than a reply may be.
        package static let replyTooLong = Code(description: "reply-too-long")
        /// There are as many connections as there may be.
        package static let tooManyConnections = Code(description: "too-many-connections")
        /// Nothing was asked for too long.
        package static let idle = Code(description: "idle")
        /// The peer is neither the service's own user nor root.
        package static let notPermitted = Code(description: "not-permitted")
        /// The client is shut down.
        package static let shutDown = Code(description: "shut-down")
    }

    /// The kind of fault.
    package var code: Code
    /// What is wrong, on one line.
    package var message: String
    /// What to do.
    package var hint: String?

    package init(_ code: Code, _ message: String, hint: String? = nil) {
        self.code = code
        self.message = message
        self.hint = hint
    }
}

extension ControlFault {
    /// A turn of the switch for names that nothing is known of.
    /// - Parameter routes: The patterns that there are.
    static func unknownRoute(_ pattern: HTTPDNSRoute.Pattern, routes: [String]) -> ControlFault {
        let listed = routes.prefix(20).joined(separator: ", ") + (routes.count > 20 ? ", ..." : "")
        return ControlFault(
            .unknownRoute,
            "no route has the pattern \"\(pattern)\"",
            hint: routes.isEmpty ? "there are no routes" : "routes are: \(listed)"
        )
    }
}
