package import HTTPDNSPrimitives

/// Finds addresses in the way that every other program on the machine does.
package protocol SystemResolving: Sendable {
    /// The addresses of a name, in the order to try, each once.
    ///
    /// It returns or throws by the time limit.
    /// - Throws: ``SystemResolverError``; its code is `cancelled` as soon as the task is cancelled.
    func resolve(
        _ host: HostName,
        families: AddressFamilies,
        timeLimit: Duration
    ) async throws(SystemResolverError) -> [IPAddress]
}

/// Why the system resolver gave no address.
package struct SystemResolverError: Error, Hashable, Sendable, CustomStringConvertible {
    /// What kind of failure it was.
    package struct Code: Hashable, Sendable, CustomStringConvertible {
        /// A short word for logs and metric labels.
        package let description: String

        /// The name does not exist for the system.
        package static let nameNotFound = Code(description: "name-not-found")
        /// The name exists, without an address of the families asked for.
        package static let noAddresses = Code(description: "no-addresses")
        /// No answer within the time limit.
        package static let timedOut = Code(description: "timed-out")
        /// The system's look-up failed.
        package static let failed = Code(description: "failed")
        /// Too many look-ups wait already.
        package static let overloaded = Code(description: "overloaded")
        /// The task was cancelled.
        package static let cancelled = Code(description: "cancelled")
    }

    /// The kind of failure.
    package var code: Code
    /// One line: what happened and what to do.
    package var message: String

    package init(code: Code, message: String) {
        self.code = code
        self.message = message
    }

    /// The message.
    package var description: String { message }
}
