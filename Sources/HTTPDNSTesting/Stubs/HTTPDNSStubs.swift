// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

public import HTTPDNS
public import HTTPDNSPrimitives
internal import Synchronization

/// A set of stubs, which answer requests of clients in a test in place of servers.
///
/// ```swift
/// let stubs = HTTPDNSStubs()
/// stubs.on(.head, "https://api.shop.example/v1/items/7").respond(.status(.ok))
/// stubs.on(.post, path: "/v1/orders", where: .json(["item": 7])).respond(.status(.created))
/// let client = try await HTTPDNSClient(configuration: .stubbed(stubs))
/// ```
///
/// Stubs are inside all interceptors, redirects, retries, credentials and cookies, so a stubbed call passes them all, each hop
/// by itself. Nothing is resolved and no socket is opened for it. The stub that was added last is asked first. A request that no
/// stub answers fails, unless ``Unmatched`` or a list of allowed hosts says otherwise.
///
/// Clients are isolated from each other when each has a set of its own. ``scope(_:)`` isolates tests that share a client.
/// A set is safe to use from any task or thread.
public final class HTTPDNSStubs: Sendable {
    /// A scope that the present task runs in.
    struct Scope: Sendable {
        let owner: ObjectIdentifier
        let layer: StubLayer
    }

    /// The scopes that the present task runs in, the innermost first, for all sets.
    @TaskLocal static var scopes: [Scope] = []

    let unmatched: Unmatched
    /// The hosts that unmatched requests may reach.
    let allowedHosts: [String]
    let allowed: [HTTPDNSClient.RequestPredicate]
    /// The maximum number of bytes of a request body in the history.
    let bodyLimit: HTTPDNSByteCount
    /// The stubs and the history outside all scopes.
    private let root = StubLayer()
    private let enabled = Atomic(true)
    /// The hosts that requests were let through to.
    let passed = PassedHosts()

    /// Creates a set without stubs.
    /// - Parameters:
    ///   - unmatched: The treatment of requests that no stub answers.
    ///   - hosts: The hosts whose requests are sent when no stub answers them: names, names below another one such as
    ///     `*.cdn.example`, or addresses. They are compared as `RequestPredicate.host` compares them.
    ///   - bodyLimit: The number of bytes of each request body that ``requests`` keeps. That many are read before a stub is
    ///     asked, also of a stream.
    public init(
        unmatched: Unmatched = .fail,
        allowing hosts: [String] = [],
        bodyLimit: HTTPDNSByteCount = .kibibytes(64)
    ) {
        self.unmatched = unmatched
        allowedHosts = hosts
        allowed = hosts.map { .host($0) }
        self.bodyLimit = bodyLimit
    }

    /// Whether the stubs answer. When false, all requests are sent as without stubs, also with ``Unmatched/fail``, and
    /// are not in the history: the set is off as a whole, so that a test can run against a server.
    public var isEnabled: Bool {
        get { enabled.load(ordering: .acquiring) }
        set { enabled.store(newValue, ordering: .releasing) }
    }
}

// Stubs are added to the scope of the present task, and read from it.
extension HTTPDNSStubs {
    /// The layers of the present task, the innermost scope first.
    var layers: [StubLayer] {
        Self.scopes.filter { $0.owner == ObjectIdentifier(self) }.map(\.layer) + [root]
    }
    /// The layer that changes concern.
    var layer: StubLayer { Self.scopes.first { $0.owner == ObjectIdentifier(self) }?.layer ?? root }

    /// Adds a stub for requests that fulfill a condition. It answers once ``Stub/respond(_:times:)`` has given it an answer.
    /// - Parameters:
    ///   - condition: The condition. It may be evaluated several times for a request. An error that it throws fails the call.
    ///   - name: The name in lists and errors; nil for the condition's text.
    public func on(_ condition: HTTPDNSClient.RequestPredicate, named name: String? = nil) -> Stub {
        add(condition, label: name ?? condition.description)
    }

    /// Adds a stub for requests with a method and a URL.
    /// - Parameters:
    ///   - method: The method.
    ///   - url: The URL, see `RequestPredicate.url`; without a query it matches every query. An unreadable
    ///     URL fails each call that reaches the stub.
    ///   - condition: A further condition, such as `.json(["amount": 100])`.
    ///   - name: The name in lists and errors; nil for method, URL and condition.
    public func on(
        _ method: HTTPRequest.Method,
        _ url: String,
        where condition: HTTPDNSClient.RequestPredicate? = nil,
        named name: String? = nil
    ) -> Stub {
        add(.method(method) && .url(url), method, url, condition, name)
    }

    /// Adds a stub for requests with a method and a path, at any host.
    /// - Parameters:
    ///   - method: The method.
    ///   - path: The path without its query.
    ///   - condition: A further condition, such as `.host("api.shop.example")`.
    ///   - name: The name in lists and errors; nil for method, path and condition.
    public func on(
        _ method: HTTPRequest.Method,
        path: String,
        where condition: HTTPDNSClient.RequestPredicate? = nil,
        named name: String? = nil
    ) -> Stub {
        add(.method(method) && .path(path), method, path, condition, name)
    }

    private func add(
        _ target: HTTPDNSClient.RequestPredicate,
        _ method: HTTPRequest.Method,
        _ text: String,
        _ condition: HTTPDNSClient.RequestPredicate?,
        _ name: String?
    ) -> Stub {
        let label = "\(method.rawValue) \(text)" + (condition.map { " where \($0)" } ?? "")
        return add(condition.map { target && $0 } ?? target, label: name ?? label)
    }

    private func add(_ predicate: HTTPDNSClient.RequestPredicate, label: String) -> Stub {
        let layer = layer
        return Stub(layer: layer, number: layer.add(predicate, label: label), description: label)
    }

    /// The stubs of the present scope, in the order in which they are asked: the last added first. Those of outer scopes, which
    /// are asked after them, are not included.
    public var all: [Stub] {
        let layer = layer
        return layer.entries.map { Stub(layer: layer, number: $0.number, description: $0.label) }
    }

    /// Removes all stubs of the present scope, see ``Stub/remove()``. The history stays.
    public func removeAll() { layer.removeAll() }

    /// Removes all stubs and the history of the present scope.
    public func reset() {
        let layer = layer
        layer.removeAll()
        layer.forgetRequests()
    }

    /// Runs `body` with stubs of its own, which other tasks do not see, so that tests can share a client.
    ///
    /// ```swift
    /// try await stubs.scope {
    ///     stubs.on(.head, "https://api.shop.example/v1/items/7").respond(.status(.notFound))
    ///     #expect(try await !shop.hasItem(7))
    ///     try stubs.verify()
    /// }
    /// ```
    ///
    /// Inside, all functions of this set concern the scope: ``on(_:named:)``, ``all``, ``requests``, ``verify()`` and the others.
    /// Requests are answered by the stubs of the scope, and then by those around it, whose answers are shared with other
    /// tasks. The scope follows the task, its child tasks, and tasks made by `Task { }`; not `Task.detached`, whose requests are
    /// answered outside the scope. Scopes can be nested, also of several sets. A task that outlives `body` keeps the scope.
    ///
    /// The function runs on the actor of its caller.
    /// - Returns: The result of `body`.
    /// - Throws: The error of `body`.
    nonisolated(nonsending) public func scope<Success>(
        _ body: nonisolated(nonsending) () async throws -> Success
    ) async rethrows -> Success {
        let scope = Scope(owner: ObjectIdentifier(self), layer: StubLayer())
        return try await SharedReads.$isAllowed.withValue(false) {
            try await Self.$scopes.withValue([scope] + Self.scopes, operation: body)
        }
    }
}
