internal import HTTPDNSPrimitives

/// The numbers of the control protocol. Docs/Operations.md describes it.
package enum ControlProtocol {
    /// The version that requests and replies carry.
    package static let version = 1
    /// The longest line of a request, its line feed not counted: room for a thousand names.
    package static let maximumLine = 64 * 1024
    /// The longest line of a reply: two thousand answers with all that they may have.
    package static let maximumReply = 8 * 1024 * 1024
    /// Connections at once. Operators and a collector or two; more is a mistake in a script.
    package static let maximumConnections = 8
    /// How many bytes a connection may be behind.
    static let maximumBacklog = maximumReply + 1024 * 1024
    /// How long a reader may take nothing of what waits for it.
    static let readerPatience = Duration.seconds(10)
    /// How long a connection may be open without a request.
    static let idleLimit = Duration.seconds(60)
    /// How many names one refresh asks about at most: providers bill, and have other work.
    package static let maximumRefresh = 1000
    /// How long the time between two snapshots of a watch may be, in seconds.
    package static let watchInterval = 0.2...60.0
}
