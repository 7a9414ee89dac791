// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

internal import HTTPDNSCore
internal import HTTPDNSCurl
internal import HTTPDNSPrimitives
internal import Logging
internal import Synchronization

/// A call of a client with interceptors or with observers, as calls nested in it see it.
final class CallFrame: Sendable {
    /// The innermost call that the present task runs in.
    @TaskLocal static var current: CallFrame?

    /// The maximum number of nested calls of one client, without the outermost. A token fetched for a token fetched for
    /// a request is 2; a deeper chain is almost certainly an unintended recursion.
    static let maximumDepth = 8

    /// The depth of the call inside other calls of its client.
    let depth: Int
    /// The logger, the resolver and the egress path of the client. It does not keep the pipeline: a task that outlives the call
    /// inherits the frame, and would keep the threads of a released client.
    let logger: Logger?
    let resolver: HTTPDNSResolver
    let egress: EgressSelector
    /// The interceptors of the call, fixed at its start.
    let chain: InterceptorChain
    /// The log of the call; nil when nothing observes it.
    let observed: ObservedCall?
    private let client: ObjectIdentifier
    private let parent: CallFrame?
    private let sent = Atomic(false)
    private let hops = Atomic(0)
    private let ended = Atomic(false)
    /// The time until which foreign code of the call may run: that of a hop's head, then that of the call; nil for no limit.
    private let headLimit: Lock<MonotonicTime?>
    /// The credential of the caller's request, and its origin; nil for a request without one.
    private let callerCredential: (value: HTTPDNSClient.Credential, origin: HTTPDNSClient.Origin?)?
    /// The URL of the caller's request; nil for a frame without one.
    private let callerURL: String?
    /// All answered hops, in the order of their responses.
    private let exchanges = Lock<[HTTPDNSClient.Exchange]>([])

    /// - Parameters:
    ///   - url: The URL of the caller's request; nil for a frame without one.
    ///   - credential: The credential of that request.
    ///   - time: The time limits of the call; nil for a frame whose foreign code has none.
    init(
        client pipeline: Pipeline,
        url: String? = nil,
        credential: HTTPDNSClient.Credential? = nil,
        time: CallTime? = nil,
        chain: InterceptorChain,
        observed: ObservedCall? = nil
    ) {
        let client = ObjectIdentifier(pipeline)
        // A task that an interceptor has started may outlive its call: what it does then is no part of that call.
        var parent = CallFrame.current
        while let frame = parent, frame.hasEnded { parent = frame.parent }
        var frame = parent
        while let candidate = frame, candidate.client != client { frame = candidate.parent }
        depth = frame.map { $0.depth + 1 } ?? 0
        self.client = client
        self.parent = parent
        (logger, resolver, egress) = (pipeline.logger, pipeline.rewriter.resolver, pipeline.egress)
        self.chain = chain
        self.observed = observed
        headLimit = Lock(time?.firstDeadline)
        callerURL = url
        callerCredential = credential.map { ($0, url.flatMap { HTTPDNSClient.Origin($0) }) }
    }

    /// Whether the credential is the caller's, and for another origin: an interceptor or a hook may have changed the
    /// request's URL and kept its options.
    func withholds(_ credential: HTTPDNSClient.Credential, from origin: HTTPDNSClient.Origin) -> Bool {
        guard let callerCredential, !credential.isOff else { return false }
        return callerCredential.value == credential && callerCredential.origin != origin
    }

    /// Whether a URL has another origin than the caller's request: a redirect, an interceptor or a hook has changed it.
    func isForeign(_ url: HTTPDNSRewriter.CanonicalURL) -> Bool {
        callerURL.map { HTTPDNSClient.Origin($0) != HTTPDNSClient.Origin(url.parsed) } ?? false
    }

    /// Whether any transfer of the call may have reached its server, whatever happened to the last one.
    var mayHaveSent: Bool { sent.load(ordering: .relaxed) }

    /// Whether the call has its response, or has failed.
    var hasEnded: Bool { ended.load(ordering: .acquiring) }

    func end() { ended.store(true, ordering: .releasing) }

    /// Begins the time of a hop, which runs until its head.
    func limitUntilHead(of call: CallTime) {
        let end = call.firstDeadline
        headLimit.withLock { $0 = end }
    }

    /// Ends the time of a hop: its head is there, or its body is being sent, for which the transfer has a limit.
    func limitUntilEnd(of call: CallTime) {
        let end = call.deadline
        headLimit.withLock { $0 = end }
    }

    /// Returns the time at which the time for foreign code may have passed; nil if it has.
    func overdueTime(in call: CallTime) -> MonotonicTime? {
        let now = SystemTimeSource().now()
        let end = headLimit.withLock { $0 }
        if let end, end + Pipeline.overdueGrace <= now { return nil }
        // The limit may be later or none then. A hop that begins meanwhile has at least the time of a head.
        let next = now + (call.headLimit ?? .seconds(60))
        return min(end ?? next, next) + Pipeline.overdueGrace
    }

    /// Returns a number for the next hop of the call, from 0.
    func takeHopNumber() -> Int {
        if hasStubs.load(ordering: .relaxed) { stubbed.withLock { $0 = nil } }
        return hops.wrappingAdd(1, ordering: .relaxed).oldValue
    }

    /// The URL of the present hop, if a stub has answered it.
    var stubbedURL: ParsedURL? { hasStubs.load(ordering: .relaxed) ? stubbed.withLock { $0 } : nil }

    /// Notes that a stub answers the present hop in place of the server of this URL.
    func noteStubbed(_ url: ParsedURL) {
        stubbed.withLock { $0 = url }
        hasStubs.store(true, ordering: .relaxed)
    }

    private let stubbed = Lock<ParsedURL?>(nil)
    /// Whether a stub has answered a hop, so that a call without stubs does not take the lock of ``stubbed``.
    private let hasStubs = Atomic(false)

    /// Records an exchange and gives it a number.
    func note(_ exchange: inout HTTPDNSClient.Exchange) {
        exchange.number = CallFrame.lastExchange.wrappingAdd(1, ordering: .relaxed).newValue
        let noted = exchange
        exchanges.withLock { $0.append(noted) }
    }

    /// Inserts, before `last`, the exchanges of other responses that interceptors did not return. A response that an
    /// interceptor made without sending keeps none.
    func addEarlier(to last: inout [HTTPDNSClient.Exchange]) {
        guard !last.isEmpty else { return }
        let noted = exchanges.withLock { $0 }
        // Nearly all calls have one exchange.
        if noted.count == 1, last.count == 1, noted[0].number == last[0].number { return }
        last = noted.filter { exchange in !last.contains { $0.number == exchange.number } } + last
    }

    private static let lastExchange = Atomic<UInt64>(0)

    /// The interceptors that the last error has passed, innermost first, with their places in the call.
    private let failed = Lock<[FailedInterceptor]>([])

    private struct FailedInterceptor {
        let place: Int
        let name: String
        let error: ObjectIdentifier
    }
    /// Whether ``failed`` contains something, so that a call without errors does not take its lock.
    private let hasFailed = Atomic(false)

    /// Notes that an error has passed an interceptor, or comes from it.
    func noteFailure(of entry: InterceptorEntry, at place: Int, _ error: any Error) {
        let passed = FailedInterceptor(place: place, name: entry.name, error: ObjectIdentifier(type(of: error)))
        failed.withLock { failed in
            // What is not inside this interceptor is of an earlier error. An error of another type is its own.
            failed.removeAll { $0.place <= place || $0.error != passed.error }
            failed.append(passed)
        }
        hasFailed.store(true, ordering: .relaxed)
    }

    /// Forgets the errors inside an interceptor that has returned a response.
    func noteResponse(at place: Int) {
        guard hasFailed.load(ordering: .relaxed) else { return }
        failed.withLock { failed in failed.removeAll { $0.place >= place } }
    }

    /// The names of the interceptors that the last error has passed, outermost first.
    var failedInterceptors: [String] { failed.withLock { $0.reversed().map(\.name) } }

    func noteSent() { sent.store(true, ordering: .relaxed) }
}
