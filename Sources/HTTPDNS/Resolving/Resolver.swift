public import HTTPDNSPrimitives

/// One question to a resolver.
public struct ResolutionQuestion: Hashable, Sendable {
    /// The host to connect to.
    public var host: Host
    /// The URL's port.
    public var port: UInt16
    /// Endpoints that the request itself names; they win over everything else.
    public var pinnedTo: [Endpoint]?
    /// Whether mappings, providers and cache are passed over.
    public var bypass = false
    /// The families allowed; nil means the route's or the resolver's setting.
    public var families: AddressFamilies?
    /// How long it may take; nil means the resolver's setting, and never more than that.
    public var timeLimit: Duration?

    /// Creates a question about a host on a port.
    public init(_ host: Host, port: UInt16) {
        self.host = host
        self.port = port
    }
}

/// Host and port in, addresses out: from the request, mappings, cache, providers and the system resolver, in this order.
public final class Resolver: Sendable {
    /// The mappings in use.
    public let mappings: MappingStore

    /// Creates a resolver. Nothing is asked until the first question.
    /// - Throws: ``ResolverConfigurationError`` when a route names an unknown provider, two providers have one name, two
    ///   routes have one pattern, or a mapping is bad.
    public init(_ configuration: ResolverConfiguration) throws(ResolverConfigurationError) { fatalError("seam") }

    /// Answers a question.
    /// - Throws: ``ResolutionError``; `CancellationError` when the task is cancelled, without harm to others that wait for
    ///   the same name.
    public func resolve(_ question: ResolutionQuestion) async throws -> Resolution { fatalError("seam") }

    /// The answer when it needs no waiting: pinned, literal, mapped to addresses, or fresh in the cache; else nil.
    /// - Throws: ``ResolutionError`` for an address that the policy refuses, or a cached negative answer.
    package func immediateResolution(for question: ResolutionQuestion) throws(ResolutionError) -> Resolution? {
        fatalError("seam")
    }

    /// The route that decides about a name; nil means bypass.
    public func route(for host: HostName) -> Route? { fatalError("seam") }

    /// Forgets everything cached. Mappings stay.
    public func removeAllCached() { fatalError("seam") }

    /// Ends the providers. Questions after it throw ``ResolutionError`` with code `shutDown`. Idempotent.
    public func shutdown() async { fatalError("seam") }
}

/// Why a resolver cannot be made from its settings.
public struct ResolverConfigurationError: Error, Hashable, Sendable, CustomStringConvertible {
    /// What is wrong and what to do.
    public var message: String
    /// Where it was written.
    public var location: SourceLocation?

    /// One line with both.
    public var description: String { (location.map { "\($0): " } ?? "") + message }
}
