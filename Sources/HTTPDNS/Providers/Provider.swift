/// A source of answers over HTTP.
///
/// A provider answers one question at a time, as often as it is asked and from any task; it neither caches nor retries,
/// and never looks up a name through the resolver that it serves. `ProviderCompatibility` in HTTPDNSTestKit checks it.
public protocol Provider: Sendable {
    /// The name by which routes, answers and logs call it; unique among the providers of a resolver.
    var name: String { get }

    /// How private the provider's own service addresses are. Its answers may be as private, but no more.
    var serviceScope: AddressScope { get }

    /// Answers for all families of the query, each with its own outcome: a failed AAAA does not fail the A.
    ///
    /// It returns by the query's time limit.
    /// - Throws: ``ProviderError`` when no family has an outcome of its own; `CancellationError` when the task is cancelled.
    func resolve(_ query: ProviderQuery) async throws -> ProviderAnswer

    /// Ends connections and threads. Queries after it throw ``ProviderError`` with code `shutDown`. Idempotent.
    func shutdown() async
}

/// One question to a provider.
public struct ProviderQuery: Hashable, Sendable {
    /// The name asked for.
    public var host: HostName
    /// The families asked for, at least one.
    public var families: AddressFamilies
    /// How long the answer may take.
    public var timeLimit: Duration

    /// Creates a question.
    public init(host: HostName, families: AddressFamilies, timeLimit: Duration) {
        self.host = host
        self.families = families
        self.timeLimit = timeLimit
    }
}
