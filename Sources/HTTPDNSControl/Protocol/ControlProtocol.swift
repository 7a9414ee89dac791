internal import HTTPDNSPrimitives

/// The constants of the control protocol. Docs/Operations.md describes it.
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
    package static let maximumRefresh = 1000
    /// The allowed interval between two snapshots of a watch, in seconds.
    package static let watchInterval = 0.2...60.0
}
