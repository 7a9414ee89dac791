internal import HTTPDNSPrimitives

/// A definite answer about a name: addresses, or that there are none. Immutable, and shared by everyone who uses it.
final class KnownAnswer: Sendable {
    enum Content: Sendable {
        /// Endpoints on ``KnownAnswer/port``, in the order in which they are tried.
        case endpoints([Endpoint])
        /// The name does not exist, or has no address of the families asked for.
        case nothing(ResolutionError)
    }

    let content: Content
    /// The port of the question that brought the answer; others put theirs in its place.
    let port: UInt16
    let source: Resolution.Source
    let provider: String?
    let providerScope: AddressScope?
    let canonicalName: HostName?
    let route: Route?
    let failedAttempts: [ProviderAttempt]
    /// When the question was sent: from then on its age counts.
    let sentAt: MonotonicTime
    /// How long it may be used after that.
    let life: Duration

    init(
        _ content: Content,
        port: UInt16,
        source: Resolution.Source,
        provider: String? = nil,
        providerScope: AddressScope? = nil,
        canonicalName: HostName? = nil,
        route: Route?,
        failedAttempts: [ProviderAttempt],
        sentAt: MonotonicTime,
        life: Duration
    ) {
        self.content = content
        self.port = port
        self.source = source
        self.provider = provider
        self.providerScope = providerScope
        self.canonicalName = canonicalName
        self.route = route
        self.failedAttempts = failedAttempts
        self.sentAt = sentAt
        self.life = life
    }

    var expiresAt: MonotonicTime { sentAt + life }

    /// Whether the system resolver said that the name does not exist.
    var isUnknownToSystem: Bool {
        guard source == .system, case .nothing(let error) = content else { return false }
        return error.code == .nameNotFound
    }

    /// The same answer with another life.
    func living(_ life: Duration) -> KnownAnswer {
        KnownAnswer(
            content,
            port: port,
            source: source,
            provider: provider,
            providerScope: providerScope,
            canonicalName: canonicalName,
            route: route,
            failedAttempts: failedAttempts,
            sentAt: sentAt,
            life: life
        )
    }
}
