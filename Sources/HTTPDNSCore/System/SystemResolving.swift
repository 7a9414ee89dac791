package import HTTPDNSPrimitives

/// The operating system's resolver, behind a protocol so that tests can script it.
package protocol SystemResolving: Sendable {
    /// Looks up the addresses of a name, in the order in which the system would try them (RFC 6724).
    /// - Throws: ``SystemResolverError``, with code `timedOut` at `timeLimit` and `cancelled` when the task is cancelled.
    func resolve(
        _ host: HTTPDNSName,
        families: HTTPDNSAddress.Families,
        timeLimit: Duration
    ) async throws(SystemResolverError) -> [HTTPDNSAddress]
}

/// An error of the system resolver.
package struct SystemResolverError: Error, Hashable, Sendable, CustomStringConvertible {
    package enum Code: Hashable, Sendable {
        /// The name does not exist, or the system does not know it.
        case nameNotFound
        /// The name exists without addresses of a queried family.
        case noAddresses
        case timedOut
        case failed
        /// There was no thread for the lookup in time. Nothing is known about the name.
        case overloaded
        case cancelled
    }

    package var code: Code
    /// A readable message on one line.
    package var message: String

    package init(code: Code, message: String) {
        self.code = code
        self.message = message
    }

    package var description: String { message }
}
