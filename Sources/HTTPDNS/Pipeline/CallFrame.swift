internal import HTTPDNSPrimitives
internal import Synchronization

/// A call of a client with interceptors, as calls nested in it see it.
final class CallFrame: Sendable {
    /// The innermost call that the present task runs in.
    @TaskLocal static var current: CallFrame?

    /// The maximum number of nested calls of one client, without the outermost. A token fetched for a token fetched for
    /// a request is 2; a deeper chain is almost certainly an unintended recursion.
    static let maximumDepth = 8

    /// The depth of the call inside other calls of its client.
    let depth: Int
    private let client: ObjectIdentifier
    private let parent: CallFrame?
    private let sent = Atomic(false)
    private let hops = Atomic(0)
    /// All answered hops, in the order of their responses.
    private let exchanges = Lock<[HTTPDNSClient.Exchange]>([])

    init(client: AnyObject) {
        let client = ObjectIdentifier(client)
        let parent = CallFrame.current
        var frame = parent
        while let candidate = frame, candidate.client != client { frame = candidate.parent }
        depth = frame.map { $0.depth + 1 } ?? 0
        self.client = client
        self.parent = parent
    }

    /// Whether any transfer of the call may have reached its server, whatever happened to the last one.
    var mayHaveSent: Bool { sent.load(ordering: .relaxed) }

    /// Returns a number for the next hop of the call, from 0.
    func nextHop() -> Int { hops.wrappingAdd(1, ordering: .relaxed).oldValue }

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
        let others = exchanges.withLock { $0 }.filter { exchange in !last.contains { $0.number == exchange.number } }
        last = others + last
    }

    private static let lastExchange = Atomic<UInt64>(0)

    func noteSent() { sent.store(true, ordering: .relaxed) }
}
