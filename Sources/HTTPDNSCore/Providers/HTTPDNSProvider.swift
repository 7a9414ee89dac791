// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

public import HTTPDNSPrimitives

/// A source of DNS answers over HTTP.
///
/// A provider answers one query per call, any number of times and from any task. It neither caches nor retries, and never looks
/// up a name through the resolver that it serves. `HTTPDNSProviderCompatibility` in HTTPDNSTesting checks it.
public protocol HTTPDNSProvider: Sendable {
    /// The name of the provider in routes, answers and logs; unique among the providers of a resolver.
    var name: String { get }

    /// The most private scope of addresses that its answers may have; all others are refused (``HTTPDNSAddressPolicy``).
    ///
    /// ``HTTPDNSAddressPolicy/Scope/special`` means no more than ``HTTPDNSAddressPolicy/Scope/loopback``. The default is
    /// ``HTTPDNSAddressPolicy/Scope/public``, wherever the service itself is: a stub on loopback may forward names of the
    /// public DNS.
    var answerScope: HTTPDNSAddressPolicy.Scope { get }

    /// Answers all families of the query, each with its own outcome: a failed AAAA does not fail the A.
    ///
    /// The resolver cancels the task at the query's time limit. A provider that enforces the limit itself can report the step
    /// it was waiting for.
    /// - Throws: ``HTTPDNSProviderError`` when no family has an outcome of its own; `CancellationError` when the task is
    ///   canceled.
    func resolve(_ query: HTTPDNSProviderQuery) async throws -> HTTPDNSProviderAnswer

    /// The maximum number of names in one ``resolve(_:batch:)``; 1 for a provider without batches.
    ///
    /// With more, names that are queried within 2 ms go into one batch.
    var batchLimit: Int { get }

    /// Answers a query for several names in one call, at most ``batchLimit``, each as ``resolve(_:)`` would.
    ///
    /// A name that is missing in the result was not answered.
    /// - Parameters:
    ///   - query: The query for each name; its own host is the first of the batch.
    ///   - batch: The names.
    /// - Throws: ``HTTPDNSProviderError`` when no name has an outcome of its own; `CancellationError`.
    func resolve(_ query: HTTPDNSProviderQuery, batch: [HTTPDNSName]) async throws -> [HTTPDNSName:
        HTTPDNSProviderAnswer]

    /// Returns whether another provider queries the same service in the same way under the same name.
    ///
    /// When settings are reloaded, an equivalent provider stays in use with its connections, its health and its cached answers,
    /// and the new one is released. The default returns true for the same object, and for equal values of an `Equatable` type.
    func isEquivalent(to other: any HTTPDNSProvider) -> Bool

    /// Ends connections and threads. Later queries throw ``HTTPDNSProviderError`` with code `shutDown`. Idempotent.
    ///
    /// The last resolver of the process that uses the object calls it; settings with the object are refused afterwards. The
    /// default does nothing, for a provider that has neither connections nor threads, and that object can be used again.
    func shutdown() async
}

/// A query to a provider.
public struct HTTPDNSProviderQuery: Hashable, Sendable {
    /// The name to look up.
    public var host: HTTPDNSName
    /// The families to look up, at least one.
    public var families: HTTPDNSAddress.Families
    /// The time limit for the answer.
    public var timeLimit: Duration
    /// The client network that is sent with the query, for answers close to it (RFC 7871); nil sends none.
    ///
    /// A provider that cannot forward it answers without it.
    public var clientSubnet: HTTPDNSAddressBlock?
    /// Whether records of type HTTPS are queried too (RFC 9460).
    ///
    /// A provider that cannot query them leaves ``HTTPDNSProviderAnswer/httpsRecords`` nil.
    public var wantsHTTPSRecords = false
    /// The zones in which the name is looked up, by a ``HTTPDNSDNSProvider``; nil for the name as it is.
    package var search: HTTPDNSSearchList?
    /// Whether the query is for what an earlier answer about the name lacks: its failure is about the name first.
    package var completesAnswer = false

    /// Creates a query.
    public init(host: HTTPDNSName, families: HTTPDNSAddress.Families, timeLimit: Duration) {
        self.host = host
        self.families = families
        self.timeLimit = timeLimit
    }
}

extension HTTPDNSProvider {
    /// The default: public addresses only.
    public var answerScope: HTTPDNSAddressPolicy.Scope { .public }

    /// Returns whether both are the same object, or equal values of an `Equatable` type.
    public func isEquivalent(to other: any HTTPDNSProvider) -> Bool {
        if type(of: self) is AnyClass, type(of: other) is AnyClass {
            return (self as AnyObject) === (other as AnyObject)
        }
        return (self as? any Equatable)?.isEqual(to: other) ?? false
    }

    /// Does nothing.
    public func shutdown() async { ProviderUsers.shared.note(isShutDown: false, self) }

    /// The default, 1: no batches.
    public var batchLimit: Int { 1 }

    /// Queries one name after the other, within one time limit.
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

extension Equatable {
    fileprivate func isEqual(to other: Any) -> Bool { other as? Self == self }
}

extension HTTPDNSProvider {
    /// The name of the protocol in one-line texts: `doh`, `dns`, `json`, `alibaba`, `tencent`, or `provider` for a custom provider.
    package var kind: String {
        switch self {
        case is HTTPDNSDoHProvider: "doh"
        case is HTTPDNSDNSProvider: "dns"
        case is HTTPDNSJSONProvider: "json"
        case let vendor as any AccountHolding: vendor.protocolName
        default: "provider"
        }
    }
}

/// A provider that identifies itself to its service by an account.
package protocol AccountHolding: HTTPDNSProvider {
    /// The name of its protocol, as in ``HTTPDNSProvider/kind``.
    var protocolName: String { get }

    /// Lets one query test whether a refused account is accepted again.
    /// - Returns: Whether the account is refused.
    func retryRefusedAccount() -> Bool
}
