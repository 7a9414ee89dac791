internal import HTTPDNSPrimitives
internal import Synchronization

/// One call of a client that has interceptors, as calls nested in it see it.
final class CallFrame: Sendable {
    /// The innermost call that the present task runs in.
    @TaskLocal static var current: CallFrame?

    /// How many calls of one client may be inside each other, beyond the outermost. A token fetched for a token fetched
    /// for a request is 2; whoever needs more has most likely forgotten that its own calls come back to it.
    static let maximumDepth = 8

    /// How deep the call is inside others of its client.
    let depth: Int
    private let client: ObjectIdentifier
    private let parent: CallFrame?
    private let sent = Atomic(false)
    private let hops = Atomic(0)
    /// All that were answered, in the order of their responses.
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

    /// Whether any transfer of the call may have reached its server, whatever became of the last one.
    var mayHaveSent: Bool { sent.load(ordering: .relaxed) }

    /// A number for the next hop of the call, from 0.
    func nextHop() -> Int { hops.wrappingAdd(1, ordering: .relaxed).oldValue }

    /// Keeps an exchange, under a number.
    func note(_ exchange: inout HTTPDNSClient.Exchange) {
        exchange.number = CallFrame.lastExchange.wrappingAdd(1, ordering: .relaxed).newValue
        let noted = exchange
        exchanges.withLock { $0.append(noted) }
    }

    /// Puts those before `last` that led to other responses, which interceptors did not return. A response that an
    /// interceptor has made by itself stays without any.
    func addEarlier(to last: inout [HTTPDNSClient.Exchange]) {
        guard !last.isEmpty else { return }
        let others = exchanges.withLock { $0 }.filter { exchange in !last.contains { $0.number == exchange.number } }
        last = others + last
    }

    private static let lastExchange = Atomic<UInt64>(0)

    func noteSent() { sent.store(true, ordering: .relaxed) }
}
