public import HTTPDNSPrimitives

/// A source of answers over HTTP.
///
/// A provider answers one question at a time, as often as it is asked and from any task; it neither caches nor retries,
/// and never looks up a name through the resolver that it serves. `ProviderCompatibility` in HTTPDNSTesting checks it.
public protocol HTTPDNSProvider: Sendable {
    /// The name by which routes, answers and logs call it; unique among the providers of a resolver.
    var name: String { get }

    /// The most private scope of addresses that its answers may have; all others are refused (``HTTPDNSAddressPolicy``).
    /// ``HTTPDNSAddressPolicy/Scope/special`` means no more than ``HTTPDNSAddressPolicy/Scope/loopback``. The default is
    /// ``HTTPDNSAddressPolicy/Scope/public``, wherever the service itself is: a stub on loopback that forwards to public DNS
    /// says nothing about the names it forwards.
    var answerScope: HTTPDNSAddressPolicy.Scope { get }

    /// Answers for all families of the query, each with its own outcome: a failed AAAA does not fail the A.
    ///
    /// The resolver cancels the task at the query's time limit. A provider that keeps the limit itself can say what it waited
    /// for.
    /// - Throws: ``HTTPDNSProviderError`` when no family has an outcome of its own; `CancellationError` when the task is
    ///   cancelled.
    func resolve(_ query: HTTPDNSProviderQuery) async throws -> HTTPDNSProviderAnswer

    /// The most names that one ``resolve(_:batch:)`` may have; 1 for a provider that knows no batches. With more, names that
    /// are asked for within 2 ms go into one batch.
    var batchLimit: Int { get }

    /// Answers about several names at once, at most ``batchLimit``, each as ``resolve(_:)`` would.
    ///
    /// A name that is missing in the result was not answered.
    /// - Parameters:
    ///   - query: What is asked about each name; its own host is the first of the batch.
    ///   - batch: The names.
    /// - Throws: ``HTTPDNSProviderError`` when no name has an outcome of its own; `CancellationError`.
    func resolve(_ query: HTTPDNSProviderQuery, batch: [HTTPDNSName]) async throws -> [HTTPDNSName:
        HTTPDNSProviderAnswer]

    /// Whether another provider asks the same service in the same way under the same name. When settings are reloaded, such a
    /// provider stays in use with its connections and its health, and the new one is let go.
    ///
    /// The default says so of one and the same object, and of nothing else.
    func isEquivalent(to other: any HTTPDNSProvider) -> Bool

    /// Ends connections and threads. Queries after it throw ``HTTPDNSProviderError`` with code `shutDown`. Idempotent.
    ///
    /// The default does nothing, for a provider that has neither.
    func shutdown() async
}

/// One question to a provider.
public struct HTTPDNSProviderQuery: Hashable, Sendable {
    /// The name asked for.
    public var host: HTTPDNSName
    /// The families asked for, at least one.
    public var families: HTTPDNSAddress.Families
    /// How long the answer may take.
    public var timeLimit: Duration
    /// The network on whose behalf is asked, for answers close to it (RFC 7871); nil says nothing about anyone. A provider
    /// that cannot pass it on answers without it.
    public var clientSubnet: HTTPDNSAddressBlock?
    /// Whether records of type HTTPS are wanted too (RFC 9460). A provider that cannot ask for them leaves
    /// ``HTTPDNSProviderAnswer/services`` nil.
    public var wantsServices = false

    /// Creates a question.
    public init(host: HTTPDNSName, families: HTTPDNSAddress.Families, timeLimit: Duration) {
        self.host = host
        self.families = families
        self.timeLimit = timeLimit
    }
}

extension HTTPDNSProvider {
    /// Public addresses alone.
    public var answerScope: HTTPDNSAddressPolicy.Scope { .public }

    /// Whether both are one object.
    public func isEquivalent(to other: any HTTPDNSProvider) -> Bool {
        guard type(of: self) is AnyClass, type(of: other) is AnyClass else { return false }
        return (self as AnyObject) === (other as AnyObject)
    }

    /// Nothing.
    public func shutdown() async {}

    /// One: no batches.
    public var batchLimit: Int { 1 }

    /// Asks about one name after the other, within one time limit.
    public func resolve(_ query: HTTPDNSProviderQuery, batch: [HTTPDNSName]) async throws -> [HTTPDNSName:
        HTTPDNSProviderAnswer]
    {
        var answers: [HTTPDNSName: HTTPDNSProviderAnswer] = [:]
        var failure: (any Error)?
        let clock = SystemTimeSource()
        let deadline = clock.now() + query.timeLimit
        for host in batch {
            var single = query
            single.host = host
            single.timeLimit = deadline - clock.now()
            guard single.timeLimit > .zero else { break }
            do {
                answers[host] = try await resolve(single)
            } catch is CancellationError {
                throw CancellationError()
            } catch {
                failure = error
            }
        }
        if answers.isEmpty, let failure { throw failure }
        return answers
    }
}
