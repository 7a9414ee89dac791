public import HTTPDNS
public import HTTPDNSPrimitives

/// The inspectable result of the stage: where a request goes and why.
///
/// The address form is for people and for comparing; on the wire travel the canonical URL and a pinned connection.
public struct RewrittenRequest: Sendable {
    /// The URL in the caller's spelling, without user information.
    public let originalURL: String
    /// The URL in the canonical form that is sent.
    public let canonicalURL: String
    /// The same URL with the first address in place of the name.
    public let addressURL: String
    /// The Host field (`:authority`) as sent.
    public let host: String
    /// The name for SNI and the certificate check; nil for clear text and for literals.
    public let serverName: String?
    /// Addresses for this host and port in the form that curl's `--resolve` takes.
    public let resolveEntry: String
    /// Where to connect, in the order in which they are tried.
    public let addresses: [Endpoint]
    /// Where the addresses came from.
    public let source: Resolution.Source
    /// How old they were.
    public let age: Duration
    /// How long they were good for at that time; nil means no expiry.
    public let timeToLive: Duration?
    /// The generation of the mappings at the time.
    public let generation: UInt64
    /// The mark that a second stage believes; nil when this stage rewrote nothing (bypass and literals).
    public let tag: Tag?
    /// The whole resolution behind it.
    public let resolution: Resolution
}

/// The out-of-band mark of a hop that was rewritten. It never goes on the wire and cannot be made outside the client.
public struct Tag: Sendable {
    /// Whether the mark still holds: not expired, and no mapping has changed since.
    public var isValid: Bool { fatalError("seam") }
}
